package history

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
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
		}, w.notify)
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

// A single squeue call is for the accounts. slurmctld may be busy or restart just then.
func TestAccountIsAskedAgainAfterAFailure(t *testing.T) {
	w := newWorld(t)
	asked, fails := 0, true
	w.recorder = New(w.Config, w.log, func([]uint32) (map[uint32]string, error) {
		asked++
		if fails {
			return nil, errors.New("squeue: Socket timed out on send/recv operation")
		}
		return map[uint32]string{812: "ml"}, nil
	}, w.notify)
	w.asked(mig.Accepted, noon, node)
	w.Nodes(node, rising)
	w.Machine("alpha-a3-2", group)
	w.job(812, slurm.JobRunning, noon, node, "alpha-a3-2")
	w.later(1)
	fails = false
	w.job(813, slurm.JobRunning, noon, "alpha-a3-2") // without an account
	w.later(1)
	w.later(60)
	assert.Equal(t, 2, asked, "also a job without an account is asked about once")
	w.requests(812)
	w.Snap.Jobs = nil
	w.gone()
	assert.Equal(t, "ml", w.only(Wait).Account)
	e := w.only(Lease)
	assert.Equal(t, "ml", e.Account)
	assert.Equal(t, "ml", e.Uses[0].Account)
	assert.Empty(t, e.Uses[1].Account)
}

func TestAccountOfAnotherUsersJobIsNotTaken(t *testing.T) {
	w := booting(t)
	w.Snap.Jobs = nil
	w.later(1)
	w.accounts = map[uint32]string{812: "physics"}
	w.running(812, w.Snap.Now).User = "bob"
	w.later(1)
	assert.Empty(t, w.ended().Account)
}

func TestLinesThatAFullDiskRefusesAreWrittenLater(t *testing.T) {
	w := newWorld(t)
	path := linesPath(w.dir, "alpha")
	require.NoError(t, os.Mkdir(path, 0o755))
	w.asked(mig.Accepted, noon, node)
	w.Nodes(node, rising)
	w.job(812, slurm.JobConfiguring, noon, node)
	w.later(1)
	w.asked(mig.Succeeded, noon, node)
	w.Machine(node, group)
	w.running(812, w.Snap.Now)
	w.later(1)
	w.Snap.Jobs = nil
	w.gone()
	require.NoError(t, os.Remove(path))
	w.later(1)
	w.later(1)
	assert.Len(t, w.read(Wait), 1)
	assert.Len(t, w.read(Lease), 1)
	assert.Len(t, w.newsOf(LeaseEnded), 1, "once")
	assert.Empty(t, w.recorder.unwritten)
}
