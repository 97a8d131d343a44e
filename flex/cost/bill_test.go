package cost

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
)

const hour = 3600 // in seconds

const start = history.Time(1793491200) // 2026-11-01 00:00 UTC

// ada and bob own jobs.
var (
	ada = history.Who{Job: 812, User: "ada", Account: "ml", Partition: "train"}
	bob = history.Who{Job: 815, Name: "813_2", User: "bob", Account: "physics", Partition: "train"}
)

// lease returns a lease of a machine that was obtained for ada and lasted that many seconds.
func lease(took int64, uses ...history.Use) *history.Entry {
	return &history.Entry{
		NodeSet: "a3", Machine: "a3-highgpu-8g", Count: 1, GPUs: 8, From: start, To: start + history.Time(took), Who: ada, FlexStart: true, Uses: uses,
	}
}

func use(who history.Who, from, to history.Time) history.Use {
	return history.Use{Who: who, From: start + from, To: start + to}
}

// rowsOf returns the machine seconds by key.
func rowsOf(b *bill) map[string]float64 {
	rows := map[string]float64{}
	for key, row := range b.rows {
		rows[key] = row.machine
	}
	return rows
}

// billed returns the bill of these leases.
func billed(by By, leases ...*history.Entry) *bill {
	b := newBill(by, 0, 0, time.UTC)
	for _, e := range leases {
		b.take(e)
	}
	return b
}

func TestUnusedTimeIsChargedToTheFirstOrLastJob(t *testing.T) {
	e := lease(1000, use(ada, 100, 400), use(bob, 500, 900))
	for by, want := range map[By]map[string]float64{
		User:      {"ada": 300 + 100 + 100, "bob": 400 + 100},
		Account:   {"ml": 300 + 100 + 100, "physics": 400 + 100},
		Job:       {"812": 300 + 100 + 100, "813_2": 400 + 100},
		Partition: {"train": 700 + 100 + 200},
		NodeSet:   {"a3": 700 + 100 + 200},
		Day:       {"2026-11-01": 700 + 100 + 200},
	} {
		b := billed(by, e)
		assert.Equal(t, want, rowsOf(b), by)
		assert.EqualValues(t, 8000, b.total.gpu)
	}
}

func TestUsersOfAMachineShareItsTime(t *testing.T) {
	eve := history.Who{Job: 820, User: "eve"}
	static := lease(1000, use(bob, 100, 400))
	static.Who = history.Who{}
	const third = 50. / 3 // of the time that all three share
	for name, test := range map[string]struct {
		lease *history.Entry
		want  map[string]float64
	}{
		"U14: the first user pays no idle time after the jobs of others": {
			lease(1000, use(ada, 100, 300), use(bob, 200, 500), use(eve, 250, 400), use(eve, 600, 700)),
			map[string]float64{"ada": 100 + 100 + 25 + third, "bob": 25 + third + 50 + 100 + 100, "eve": third + 50 + 100 + 300},
		},
		"an unused static node is charged to no job": {static, map[string]float64{"": 100 + 600, "bob": 300}},
		"4 alone and half of 7":                      {lease(11, use(ada, 0, 11), use(bob, 4, 11)), map[string]float64{"ada": 7.5, "bob": 3.5}},
	} {
		assert.InDeltaMapValues(t, test.want, rowsOf(billed(User, test.lease)), 1e-9, name)
	}
}

func TestOnlyTheBilledPeriodIsCounted(t *testing.T) {
	e := lease(1000, use(ada, 100, 900))
	b := newBill(User, start+50, start+950, time.UTC)
	b.take(e)
	assert.Equal(t, map[string]float64{"ada": 800 + 50 + 50}, rowsOf(b))
	for _, window := range [][2]history.Time{{start - 10, start}, {start + 1000, 0}} {
		b := newBill(User, window[0], window[1], time.UTC)
		b.take(e)
		assert.Empty(t, b.rows)
	}
}

// month returns a simulated month of machines that are unused, used and shared.
func month(random *rand.Rand) (leases []*history.Entry) {
	for range 2000 {
		e := lease(int64(random.IntN(7 * 24 * hour)))
		shift := history.Time(random.IntN(30 * 24 * hour))
		e.From, e.To = e.From+shift, e.To+shift
		if random.IntN(5) == 0 {
			e.Who = history.Who{}
		}
		for range random.IntN(6) {
			from := e.From + history.Time(random.Int64N(e.Took()+1))
			to := from + history.Time(random.Int64N(min(int64(e.To-from), 2000)+1))
			who := []history.Who{ada, bob, {Job: 900, User: "eve", Account: "ml"}}[random.IntN(3)]
			e.Uses = append(e.Uses, history.Use{Who: who, From: from, To: to})
		}
		leases = append(leases, e)
	}
	return leases
}

// In a simulated month, the rows add up to the leases' seconds for every way to divide the bill. The
// days add up to the whole month, key by key.
func TestRowsAddUpToTheLeases(t *testing.T) {
	leases := month(rand.New(rand.NewPCG(1, 2)))
	want := 0.
	for _, e := range leases {
		want += float64(e.Took())
	}
	const tenth = 0.1 // of a second, in a sum over 2,000 leases
	for _, by := range ways() {
		b := billed(by, leases...)
		require.InDelta(t, want, b.total.machine, tenth, by)
		require.InDelta(t, 8*want, b.total.gpu, tenth, by)

		daily := map[string]float64{}
		for at := start; at < start+38*24*hour; at += 24 * hour {
			day := newBill(by, at, at+24*hour, time.UTC)
			for _, e := range leases {
				day.take(e)
			}
			for key, row := range rowsOf(day) {
				daily[key] += row
			}
		}
		for key, row := range rowsOf(b) {
			require.InDelta(t, row, daily[key], tenth, by)
		}
		require.Len(t, daily, len(rowsOf(b)), by)
	}
}

func TestRaceLossesAreInTheBill(t *testing.T) {
	lost, given := lease(1000), lease(2000, use(bob, 700, 2000))
	lost.RaceLost = 1000
	given.RaceLost = 600
	for bounds, want := range map[[2]history.Time]int64{{0, 0}: 1600, {start + 500, 0}: 600, {0, start + 100}: 200, {start + 600, start + 700}: 100, {start + 1000, 0}: 0} {
		b := newBill(User, bounds[0], bounds[1], time.UTC)
		b.take(lost)
		b.take(given)
		assert.Equal(t, want, b.report("alpha", nil).RaceLost, "%v", bounds)
	}
}

// The clocks go from 0:00 to 1:00 in Santiago on 6 September, and from 1:00 to 0:00 in Havana on 1
// November.
func TestDaysOfZonesThatChangeTheirClocksAtMidnight(t *testing.T) {
	for _, test := range []struct {
		place string
		noon  time.Time
		want  map[string]float64
	}{
		{"America/Santiago", time.Date(2026, 9, 5, 16, 0, 0, 0, time.UTC), map[string]float64{"2026-09-05": 12 * 3600, "2026-09-06": 12 * 3600}},
		{"America/Havana", time.Date(2026, 10, 31, 16, 0, 0, 0, time.UTC), map[string]float64{"2026-10-31": 12 * 3600, "2026-11-01": 12 * 3600}},
	} {
		zone, err := time.LoadLocation(test.place)
		require.NoError(t, err)
		require.Equal(t, 12, test.noon.In(zone).Hour())
		e := lease(0)
		e.From = history.At(test.noon)
		e.To = e.From + 24*3600
		e.Uses = []history.Use{{Who: ada, From: e.From, To: e.To}}
		b := newBill(Day, 0, 0, zone)
		b.take(e)
		assert.Equal(t, test.want, rowsOf(b), test.place)
	}
}
