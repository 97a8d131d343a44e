package history

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
)

func TestHangingDiskDelaysNoPass(t *testing.T) {
	w := newWorld(t)
	w.job(1, slurm.JobRunning, w.ago(time.Hour), "alpha-a3-0")
	synctest.Test(t, func(t *testing.T) {
		hang, asked := make(chan struct{}), 0
		r := New(w.Config, w.log, func([]uint32) (map[uint32]string, error) {
			asked++
			<-hang
			return nil, nil
		}, w.leased)
		for range 5 {
			r.Saw(w.Scene(), w.plan)
			w.Snap.Now = w.Snap.Now.Add(time.Minute)
			w.Snap.Jobs = append(w.Snap.Jobs, w.Snap.Jobs[0])
			w.Snap.Jobs[len(w.Snap.Jobs)-1].ID++
			synctest.Wait()
		}
		begun := time.Now()
		r.Wait(time.Second)
		assert.Equal(t, time.Second, time.Since(begun), "Wait returns after its limit")
		close(hang)
		r.Wait(time.Hour)
		assert.Equal(t, time.Second, time.Since(begun))
		assert.Equal(t, 2, asked, "the last of the looks that arrived meanwhile is recorded")
	})
}
