package flex

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// notes is a watcher that writes down what it is told.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) Saw(snap plan.Snapshot, p plan.Plan) {
	n.write("saw %d nodes within %s, %d actions", len(snap.Nodes), snap.Now.Sub(snap.Begun), len(p.Actions))
}

func (n *notes) Did(a plan.Action, _ time.Time, _ time.Duration, err error) {
	n.write("did %s: %v", a.About().Kind, err)
}

func (n *notes) Stood(err error) { n.write("stood: %v", err) }

func (n *notes) write(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func TestAllWatchersAreToldTheSame(t *testing.T) {
	var one, other notes
	all := Watchers{&one, &other}
	all.Saw(plan.Snapshot{}, plan.Plan{})
	all.Did(plan.DeleteGroup{}, time.Time{}, 0, errors.New("no"))
	all.Stood(ErrStandby)
	assert.Equal(t, []string{"saw 0 nodes within 0s, 0 actions", "did delete_group: no", "stood: slurmctld is active"}, one.lines)
	assert.Equal(t, one.lines, other.lines)
}

func TestTheDaemonShowsItsWatcherHowItStands(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var told notes
		w.Watch = &told
		wakeUps := make(chan WakeUp)
		stop := w.daemon(wakeUps)
		synctest.Wait()
		assert.Equal(t, []string{"saw 14 nodes within 0s, 0 actions", "stood: <nil>"}, told.lines)
		w.slurm.refuse(errors.New("Unable to contact slurm controller"))
		wakeUps <- WakeUp{}
		synctest.Wait()
		assert.Equal(t, "stood: read nodes: Unable to contact slurm controller", told.lines[len(told.lines)-1])
		stop()
	})
}

func TestAnActionIsLoggedWithWhatItIsAbout(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.mustPass(t.Context())
		entries := w.log.FilterMessage("machines requested").All()
		require.Len(t, entries, 1)
		fields := entries[0].ContextMap()
		assert.Positive(t, fields["took"])
		delete(fields, "took")
		assert.Equal(t, map[string]any{
			"action": "request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-1/a1 for 01:00:00", "job": uint32(1), "nodes": "alpha-a3-[0-1]", "group": "alpha-a3-job-1", "why": "job 1 waits for alpha-a3-[0-1]",
		}, fields)
	})
}

// C13
func TestTheSeverityOfAnActionIsWhatItMattersToAnAdmin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hopeless(t, w)
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.mustPass(t.Context())
		w.mustPass(t.Context())
		failed := w.log.FilterMessage("action failed").All()
		require.Len(t, failed, 1)
		assert.Equal(t, zapcore.ErrorLevel, failed[0].Level)
		held := w.log.FilterMessage("job held").All()
		require.Len(t, held, 1)
		assert.Equal(t, zapcore.WarnLevel, held[0].Level)
		assert.Equal(t, "INVALID_ARGUMENT: no", held[0].ContextMap()["why"])
	})
	assert.Equal(t, zapcore.DebugLevel, severity(plan.CommentJob{}))
	assert.Equal(t, zapcore.InfoLevel, severity(plan.ReturnNodes{Then: plan.Requeue}))
}

func TestAWarningIsSaidToBeOneAndNoReturnNodes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var told notes
		w.Watch = &told
		hopeless(t, w)
		w.slurm.records = map[uint32]slurm.JobRecord{1: {Batch: false, Requeue: true}}
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.mustPass(t.Context())
		out := w.mustPass(t.Context())
		assert.Zero(t, out.Failed, "nothing went wrong")
		assert.Contains(t, told.lines, "did warn_job: <nil>")
		assert.Empty(t, w.log.FilterMessage("job held").All())
		entries := w.log.FilterMessage("owner warned").All()
		require.Len(t, entries, 1)
		assert.Equal(t, zapcore.WarnLevel, entries[0].Level)
		assert.Equal(t, "INVALID_ARGUMENT: no", entries[0].ContextMap()["why"])
	})
}
