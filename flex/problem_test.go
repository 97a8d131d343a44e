package flex

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

func TestAProblemIsLoggedWhenItComesAndOnceAnHourWhileItLasts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		trouble := func() {
			require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Status: http.StatusForbidden}))
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
	})
}
