package history

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestHangingDiskDelaysNoPass(t *testing.T) {
	w := newWorld(t)
	w.job(1, slurm.JobRunning, w.ago(time.Hour), "alpha-a3-0")
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, os.Remove(openPath(w.dir, "alpha")))
		require.NoError(t, os.Mkdir(openPath(w.dir, "alpha"), 0o755))
		core, _ := observer.New(zap.WarnLevel)
		hang := make(chan struct{})
		r := &Recorder{Dir: w.dir, Cluster: "alpha", Notify: w.notify, Log: zap.New(core, zap.Hooks(func(zapcore.Entry) error {
			<-hang
			return nil
		}))}
		for range 5 {
			r.saw(w.Scene(), w.plan)
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
		assert.Equal(t, 2, r.memory.looks, "the last of the looks that arrived meanwhile is recorded")
	})
}

func TestAccountOfAnotherUsersJobIsNotTaken(t *testing.T) {
	w := booting(t)
	w.Snap.Jobs = nil
	w.later(1)
	w.accounts[812] = "physics"
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
