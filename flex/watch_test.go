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
	"go.uber.org/zap/zapcore"

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
	n.write("saw %d nodes, %d actions", len(s.Seen.Nodes), len(p.Actions))
}

func (n *notes) Did(a action.Action, _ time.Time, _ time.Duration, err error) {
	n.write("did %s: %v", a.About().Kind, err)
}

func (n *notes) Stood(err error) { n.write("stood: %v", err) }

func (n *notes) write(format string, args ...any) {
	defer locked(&n.mu)()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func TestLogAndWatchersShowPasses(t *testing.T) {
	eachInWorld(t, map[string]func(*testing.T, *world){
		"the daemon shows its watcher how it stands": func(t *testing.T, w *world) {
			var told notes
			w.Watch = Watchers{&notes{}, &told}
			wakeUps := make(chan wake.Call)
			stop := w.daemon(wakeUps)
			synctest.Wait()
			assert.Equal(t, []string{"saw 14 nodes, 0 actions", "stood: <nil>"}, told.lines)
			w.slurm.submit(1, "train", "alpha-a3-0")
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Contains(t, told.lines, "did create_request: <nil>")
			w.slurm.refuse(errors.New("Unable to contact slurm controller"))
			wakeUps <- wake.Call{}
			synctest.Wait()
			assert.Equal(t, "stood: read nodes: Unable to contact slurm controller", told.lines[len(told.lines)-1])
			stop()
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

// K13
func TestExpectedRaceIsNoError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.waiting(1, "train", "alpha-a3-0")
		w.fault(fakegce.Fault{
			Method: "*ResizeRequests.cancel", Times: 1, Status: http.StatusPreconditionFailed, Message: "Cancelling resize request that has reached a final state is not possible.",
		})
		w.cancelled(1)
		assert.Equal(t, zapcore.InfoLevel, w.log.FilterMessage("action came too late").All()[0].Level)
		assert.Zero(t, w.log.FilterLevelExact(zapcore.ErrorLevel).Len())
	})
}
