package estimate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/history"
)

// now is the time of the tests, more than a year after the first wait.
const now = history.Time(400 * day)

// wait returns a granted wait for nodeset a3 that started that many days ago.
func wait(took int64, count int, lease int64, daysAgo int) *history.Entry {
	from := now - history.Time(daysAgo*day)
	return &history.Entry{NodeSet: "a3", Machine: "a3-highgpu-8g", Count: count, Seconds: lease, From: from, To: from + history.Time(took), End: history.Granted}
}

func of(entries ...*history.Entry) *Samples {
	b := NewBook(now, time.UTC)
	for _, e := range entries {
		b.Take(e)
	}
	return b.Of("a3", "a3-highgpu-8g")
}

// times returns copies of a wait, each a second longer than the previous one.
func times(n int, e *history.Entry) (entries []*history.Entry) {
	for i := range n {
		one := *e
		one.To += history.Time(i)
		entries = append(entries, &one)
	}
	return entries
}

func TestReachWidensUntilWaitsAreEnough(t *testing.T) {
	request := Request{Count: 4, Lease: 4 * hour}
	elsewhere := wait(100, 4, 4*hour, 5)
	elsewhere.NodeSet = "a3-eu"
	for name, c := range map[string]struct {
		entry *history.Entry
		like  string
	}{
		"similar waits":               {wait(100, 5, 3*hour, 5), "nodeset a3, 3 to 6 nodes, leases of 120 min to 8 h, the last 28 days"},
		"waits of last month":         {wait(100, 5, 3*hour, 50), "nodeset a3, 3 to 6 nodes, leases of 120 min to 8 h, the last 90 days"},
		"older ones":                  {wait(100, 5, 3*hour, 200), "nodeset a3, 3 to 6 nodes, leases of 120 min to 8 h, the last 365 days"},
		"less similar waits":          {wait(100, 12, 20*hour, 5), "nodeset a3, 2 to 12 nodes, leases of 40 min to 24 h, the last 365 days"},
		"waits with any lease":        {wait(100, 4, 100*hour, 5), "nodeset a3, 2 to 12 nodes, any lease, the last 365 days"},
		"waits for its machine type":  {elsewhere, "machine type a3-highgpu-8g, 2 to 12 nodes, leases of 40 min to 24 h, the last 365 days"},
		"waits for many more nodes":   {wait(100, 13, 4*hour, 5), ""},
		"waits of long ago":           {wait(100, 4, 4*hour, 366), ""},
		"waits of another kind":       {&history.Entry{NodeSet: "g2", Machine: "g2-standard-4", Count: 4, Seconds: 4 * hour, From: now - day, To: now, End: history.Granted}, ""},
		"waits without a known lease": {wait(100, 4, 0, 5), ""},
	} {
		e, ok := of(times(30, c.entry)...).For(request, 0, now)
		assert.Equal(t, c.like != "", ok, name)
		if ok {
			assert.Equal(t, c.like, e.Like, name)
			assert.Equal(t, 30, e.Samples, name)
			assert.Equal(t, c.entry.From, e.Newest, name)
		}
	}
}

func TestMachineTypeIsThatOfTheNewestWait(t *testing.T) {
	b := NewBook(now, time.UTC)
	older, newer := wait(100, 4, hour, 30), wait(100, 4, hour, 5)
	older.Machine = "a2-highgpu-8g"
	b.Take(newer)
	b.Take(older)
	assert.Equal(t, "a3-highgpu-8g", b.Of("a3", "").Machine)
	assert.Equal(t, "g2-standard-4", b.Of("a3", "g2-standard-4").Machine)
	assert.Empty(t, b.Of("g2", "").Machine)
}

func TestFewWaitsGiveNoEstimate(t *testing.T) {
	request := Request{Count: 4, Lease: 4 * hour}
	given := wait(100, 4, 4*hour, 5)
	given.End = history.Withdrawn
	_, ok := of(append(times(9, wait(100, 4, 4*hour, 5)), times(100, given)...)...).For(request, 0, now)
	assert.False(t, ok)
	e, ok := of(append(times(10, wait(100, 4, 4*hour, 5)), given)...).For(request, 0, now)
	assert.True(t, ok)
	assert.Equal(t, 11, e.Samples)
	assert.Equal(t, 10, e.Granted)
}

func TestOldestWaitsAreDroppedFirst(t *testing.T) {
	b := NewBook(now, time.UTC)
	for i := range 3 * maxSamples {
		b.Take(wait(60, 4, 4*hour, 80-i*70/(3*maxSamples)))
	}
	assert.LessOrEqual(t, len(b.waits[kind{"a3", "a3-highgpu-8g"}]), 2*maxSamples)
	e, ok := b.Of("a3", "").For(Request{Count: 4, Lease: 4 * hour}, 0, now)
	require.True(t, ok)
	assert.LessOrEqual(t, e.Samples, maxSamples)
	assert.Greater(t, e.Oldest, now-60*day)
}

func TestTableHasHalfSameAndDoubleNodes(t *testing.T) {
	s := of(times(30, wait(100, 4, 4*hour, 5))...)
	shape := func(r Request, most int) (shape string) {
		q := ask(&config.NodeSet{DynamicMax: most, Flex: &config.Flex{UseJobDuration: true, MaxRunDuration: day * time.Second}}, "train", r.Count, time.Hour)
		for _, row := range s.WhatIf(q.Counts, q.Leases[:2], now) {
			for _, cell := range row {
				shape += fmt.Sprintf("%d×%dh:%t ", cell.Request.Count, cell.Request.Lease/hour, cell.Estimate != nil)
			}
		}
		return shape
	}
	assert.Equal(t, "2×1h:true 4×1h:true 8×1h:true 2×6h:true 4×6h:true 8×6h:true ", shape(Request{Count: 4, Lease: hour}, 64))
	assert.Equal(t, "8×1h:true 16×1h:false 8×6h:true 16×6h:false ", shape(Request{Count: 16, Lease: hour}, 20))
	assert.Equal(t, "1×1h:false 2×1h:true 1×6h:false 2×6h:true ", shape(Request{Count: 1, Lease: hour}, 64))
}

func TestChanceIsConditionalOnElapsedWait(t *testing.T) {
	var entries []*history.Entry
	for i := range int64(100) {
		entries = append(entries, wait(i*hour/10, 4, 4*hour, 5)) // every six minutes
	}
	e, ok := of(entries...).For(Request{Count: 4, Lease: 4 * hour}, 0, now)
	require.True(t, ok)
	fresh, waited := e.Chances(0), e.Chances(5*hour)
	assert.InDelta(t, .1, fresh[0].Chance, .011)
	assert.InDelta(t, .2, waited[0].Chance, .011)
	assert.Equal(t, []int{1, 2, 4, 8}, []int{waited[0].Hours, waited[1].Hours, waited[2].Hours, waited[3].Hours})
	assert.Len(t, waited, 4, "nothing is known beyond")
	assert.Empty(t, e.Chances(9*hour+1), "too few known waits are so long")
}

// BenchmarkEstimate measures an estimate and its table from a hundred thousand waits.
func BenchmarkEstimate(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	end := history.Time(firstDay + length*day)
	book := NewBook(end, time.UTC)
	for range 35 {
		for _, e := range simulate(random, dayAndNight) {
			book.Take(&e)
		}
	}
	for b.Loop() {
		book.Of("a3", "").WhatIf([]int{2, 4, 8}, []int64{hour, 6 * hour, 24 * hour, 168 * hour}, end)
	}
}
