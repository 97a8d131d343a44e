package cost

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
)

// The day has 25 hours: clocks are put back on it.
func TestEachDayHasTheSecondsOfItsAccounts(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	d := NewDays(time.Date(2026, 11, 2, 15, 0, 0, 0, zone), 3)
	midnight := history.At(time.Date(2026, 11, 1, 0, 0, 0, 0, zone))
	e := lease(0)
	e.From, e.To = midnight-7200, midnight+26*hour
	e.Uses = []history.Use{{Who: bob, From: midnight, To: e.To}}
	e.Idle, e.Used = 7200, 26*hour
	d.Take(e)
	assert.Equal(t, history.At(time.Date(2026, 10, 31, 0, 0, 0, 0, zone)), d.From())
	days := d.All()
	require.Len(t, days, 3)
	for i, want := range []struct {
		account string
		seconds int64
	}{{"ml", 7200}, {"physics", 25 * hour}, {"physics", hour}} {
		require.Len(t, days[i].Accounts, 1)
		assert.Equal(t, want.account, days[i].Accounts[0].Key)
		assert.Equal(t, want.seconds, days[i].Accounts[0].All())
	}
	assert.Equal(t, "Nov 1", days[1].At.Format("Jan 2"))
}
