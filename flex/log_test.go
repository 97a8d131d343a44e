package flex

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap/zapcore"

	"slurmflex/test/fakegce"
)

func TestHourWithHundredWaitingJobsLogsUnder200Lines(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.soldOut()
		w.slurm.cfg.NodeSets[0].DynamicMax = 100
		w.slurm.nodes = newController(w.slurm.cfg).nodes
		for i := range 100 {
			w.slurm.submit(uint32(i+1), "train", fmt.Sprintf("alpha-a3-%d", i))
		}
		stop := w.daemon(nil)
		time.Sleep(time.Hour)
		stop()
		assert.Equal(t, 100, w.log.FilterMessage("machines requested").Len())
		assert.Less(t, w.log.Len(), 200)
	})
}

func TestRepeatedFailureIsLoggedOnceAnHour(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		failing := func(message string) {
			w.cloud.ClearFaults()
			w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.delete", Status: http.StatusForbidden, Message: message})
		}
		logged := func() int { return w.log.FilterMessage("action failed").FilterLevelExact(zapcore.ErrorLevel).Len() }
		w.soldOut()
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.settle()
		failing("a lien is on it")
		w.slurm.cancel(1)
		defer w.daemon(nil)()

		time.Sleep(59 * time.Minute)
		assert.Equal(t, 1, logged(), "when it comes")
		time.Sleep(2 * time.Minute)
		assert.Equal(t, 2, logged(), "an hour later")
		failing("no such role")
		time.Sleep(2 * time.Minute)
		assert.Equal(t, 3, logged(), "another error")
	})
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
