package flex

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap/zapcore"

	"slurmflex/test/fakegce"
)

func TestProblemIsLoggedWhenItComesAndOnceAnHour(t *testing.T) {
	inWorld(t, func(w *world) {
		trouble := func() {
			w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Status: http.StatusForbidden})
		}
		logged := func() int { return w.log.FilterMessageSnippet("region europe-west4 could not be read").Len() }
		defer w.daemon(nil)()

		trouble()
		time.Sleep(59 * time.Minute)
		assert.Equal(w, 1, logged(), "when it comes")
		time.Sleep(2 * time.Minute)
		assert.Equal(w, 2, logged(), "an hour later")

		w.cloud.ClearFaults()
		time.Sleep(5 * time.Minute)
		trouble()
		time.Sleep(5 * time.Minute)
		assert.Equal(w, 3, logged(), "when it comes again")
	})
}

// K13
func TestExpectedRaceIsNoError(t *testing.T) {
	inWorld(t, func(w *world) {
		w.waiting(1, "train", "alpha-a3-0")
		w.fault(fakegce.Fault{
			Method: "*ResizeRequests.cancel", Times: 1, Status: http.StatusPreconditionFailed, Message: "Cancelling resize request that has reached a final state is not possible.",
		})
		w.cancelled(1)
		assert.Equal(w, zapcore.InfoLevel, w.log.FilterMessage("action came too late").All()[0].Level)
		assert.Zero(w, w.log.FilterLevelExact(zapcore.ErrorLevel).Len())
	})
}
