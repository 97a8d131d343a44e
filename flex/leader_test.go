package flex

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/leader"
	"slurmflex/slurm"
)

// pair answers a Permission for a cluster with a backup controller.
type pair struct {
	mu      sync.Mutex
	primary bool // the primary is up
	backup  bool
}

func (p *pair) Config(context.Context) (slurm.Config, error) {
	return slurm.Config{"SlurmUser": "us(" + strconv.Itoa(os.Geteuid()) + ")"}, nil
}

func (p *pair) Controllers(context.Context) ([]slurm.Controller, error) {
	defer locked(&p.mu)()
	return []slurm.Controller{{Role: "primary", Host: "ctl1", Up: p.primary}, {Role: "backup", Host: "ctl2", Up: p.backup}}, nil
}

// set sets which of the two controllers are up.
func (p *pair) set(primary, backup bool) {
	defer locked(&p.mu)()
	p.primary, p.backup = primary, backup
}

func TestDaemonOfABackupActsOnlyWhileItMust(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctlds := &pair{primary: true, backup: true}
		w.lock.Permission = &leader.Permission{Slurm: ctlds, Host: "ctl2"}
		stop := w.daemon(nil)
		for _, passes := range []float64{0, 20, 0} {
			ctlds.set(passes == 0, true)
			time.Sleep(2 * 33 * time.Second)
			before := len(w.slurm.passes())
			time.Sleep(10 * time.Minute)
			assert.InDelta(t, passes, len(w.slurm.passes())-before, passes/5)
		}
		stop()
		var lines []string
		for _, e := range w.log.All() {
			lines = append(lines, e.Message)
		}
		assert.Equal(t, []string{"standing by", "reconciling again", "standing by"}, lines)
	})
}
