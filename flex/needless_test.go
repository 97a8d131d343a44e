package flex

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/fakegce"
)

// Compute takes 20 s to make a job's group. Meanwhile, passes see what has become of the job.
func TestRequestIsSentOnlyIfTheLastPassStillNeedsIt(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(w *world)
		sent      int
	}{
		"the job still waits":   {func(*world) {}, 1},
		"the job was cancelled": {func(w *world) { w.slurm.cancel(1) }, 0},
		"Slurm does not answer": {func(w *world) { w.slurm.Down(errors.New("no answer")) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.oneJob()
				w.within(5 * time.Second)
				test.meanwhile(w)
				_, _ = w.pass(w.Context(), 5*time.Second)
				time.Sleep(20 * time.Second)
				assert.Equal(w, test.sent, w.cloud.Counts()["regionInstanceGroupManagerResizeRequests.insert"])
			}, func(o *fakegce.Options) { o.OperationTime = 20 * time.Second })
		})
	}
}
