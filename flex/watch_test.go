package flex

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/wake"
	"slurmflex/test/fakegce"
)

// notes is a watcher that records its calls.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) Saw(s *scene.Scene, p plan.Plan) {
	n.write("saw %d nodes within %s, %d actions", len(s.Seen.Nodes), s.Seen.Now.Sub(s.Seen.Begun), len(p.Actions))
}

func (n *notes) Did(a action.Action, _ time.Time, _ time.Duration, err error) {
	n.write("did %s: %v", a.About().Kind, err)
}

func (n *notes) Stood(err error) { n.write("stood: %v", err) }

func (n *notes) write(format string, args ...any) {
	defer locked(&n.mu)()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func TestWatchersGetTheSameCalls(t *testing.T) {
	var one, other notes
	all := Watchers{&one, &other}
	all.Saw(&scene.Scene{}, plan.Plan{})
	all.Did(action.DeleteGroup{}, time.Time{}, 0, errors.New("no"))
	all.Stood(leader.ErrStandby)
	assert.Equal(t, []string{"saw 0 nodes within 0s, 0 actions", "did delete_group: no", "stood: slurmctld is active"}, one.lines)
	assert.Equal(t, one.lines, other.lines)
}

func TestLogAndWatchersShowPasses(t *testing.T) {
	eachInWorld(t, map[string]func(*testing.T, *world){
		"the daemon shows its watcher how it stands": func(t *testing.T, w *world) {
			var told notes
			w.Watch = &told
			wakeUps := make(chan wake.Call)
			stop := w.daemon(wakeUps)
			synctest.Wait()
			assert.Equal(t, []string{"saw 14 nodes within 0s, 0 actions", "stood: <nil>"}, told.lines)
			w.slurm.refuse(errors.New("Unable to contact slurm controller"))
			wakeUps <- wake.Call{}
			synctest.Wait()
			assert.Equal(t, "stood: read nodes: Unable to contact slurm controller", told.lines[len(told.lines)-1])
			stop()
		},
		"an action is logged with what it is about": func(t *testing.T, w *world) {
			w.slurm.submit(1, "train", "alpha-a3-[0-1]")
			w.mustPass()
			entries := w.log.FilterMessage("machines requested").All()
			require.Len(t, entries, 1)
			fields := entries[0].ContextMap()
			assert.Positive(t, fields["took"])
			delete(fields, "took")
			assert.Equal(t, map[string]any{
				"action": "request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-1/a1 for 01:10:00", "job": uint32(1), "nodes": "alpha-a3-[0-1]", "group": "alpha-a3-job-1", "why": "job 1 waits for alpha-a3-[0-1]",
			}, fields)
		},
		"a problem is logged when it comes and once an hour while it lasts": func(t *testing.T, w *world) {
			trouble := func() {
				w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Status: http.StatusForbidden})
			}
			logged := func() int { return w.log.FilterMessageSnippet("region europe-west4 could not be read").Len() }
			defer w.daemon(nil)()

			trouble()
			time.Sleep(59 * time.Minute)
			assert.Equal(t, 1, logged(), "when it comes")
			time.Sleep(2 * time.Minute)
			assert.Equal(t, 2, logged(), "an hour later")

			w.cloud.ClearFaults()
			time.Sleep(5 * time.Minute)
			trouble()
			time.Sleep(5 * time.Minute)
			assert.Equal(t, 3, logged(), "when it comes again")
		},
	}, func(t *testing.T, w *world, does func(*testing.T, *world)) { does(t, w) })
}

// C13
func TestSeverityReflectsAnActionsImportance(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hopeless(w)
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.passes(2, 0)
		failed := w.log.FilterMessage("action failed").All()
		require.Len(t, failed, 1)
		assert.Equal(t, zapcore.ErrorLevel, failed[0].Level)
		held := w.log.FilterMessage("job held").All()
		require.Len(t, held, 1)
		assert.Equal(t, zapcore.WarnLevel, held[0].Level)
		assert.Equal(t, "INVALID_ARGUMENT: no", held[0].ContextMap()["why"])
	})
}
