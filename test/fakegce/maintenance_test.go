package fakegce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAnnouncedMaintenanceStopsTheInstanceWhenItsWindowStarts(t *testing.T) {
	w := granted(t, Options{}, "n0")
	w.Advance(time.Minute)
	w.commanded("POST", "vms/n0/maintenance", `{"in":"10m","lasts":"2h"}`)
	start := w.State().Now.Add(10 * time.Minute)
	v := w.instance("us-central1-a", "n0")
	soon := v.GetResourceStatus().GetUpcomingMaintenance()
	assert.Equal(t, stamp(start), soon.GetWindowStartTime())
	assert.Equal(t, stamp(start), soon.GetLatestWindowStartTime())
	assert.Equal(t, stamp(start.Add(2*time.Hour)), soon.GetWindowEndTime())
	assert.Equal(t, "PENDING SCHEDULED", soon.GetMaintenanceStatus()+" "+soon.GetType())
	assert.True(t, w.vm("n0").Maintained.Equal(start))
	assert.NotEmpty(t, v.GetResourceStatus().GetScheduling().GetTerminationTimestamp(), "its lease shows still")
	w.Advance(10*time.Minute - time.Second)
	assert.Equal(t, "RUNNING", w.vm("n0").Status)
	w.Advance(time.Second)
	assert.Equal(t, "TERMINATED", w.vm("n0").Status)
}
