package estimate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/history"
)

// bestOf ranks the shapes of a job with that many nodes and that time limit.
func bestOf(s *Samples, nodes Range, limit time.Duration, now history.Time) []Shape {
	set := &config.NodeSet{Name: "a3", DynamicMax: 64, Flex: &config.Flex{UseJobDuration: true, MaxRunDuration: day * time.Second}}
	q := ask(set, "train", nodes.Most, leaseOf(set, limit))
	q.compare(set, nodes.counts(), limits(set, limit, 0))
	return best([]Question{q}, []Answer{s.Answer(q, now)})
}

// The first line is the shortest of several estimates, so chance alone could make it too short.
func TestSoonestShapeIsCalibrated(t *testing.T) {
	for name, law := range map[string]law{"stable": stable, "four times slower": slower, "day and night": dayAndNight} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first coverage
			chances := map[int]*struct{ claimed, real float64 }{}
			for run := range 10 {
				random := rand.New(rand.NewPCG(uint64(run), 5))
				entries := simulate(random, law)
				for _, d := range askedDays {
					for at := 3; at < 24; at += 12 {
						now := history.Time(firstDay + (changeDay+d-1)*day + at*hour)
						ranked := bestOf(known(entries, now), Range{2, 8}, day*time.Second, now)
						if first.asked++; len(ranked) == 0 {
							continue
						}
						s := ranked[0]
						within := func(seconds int64) float64 {
							return .5 * math.Erfc(-math.Log(float64(seconds)/(usual(Request{s.Nodes, s.Time})*law(now)))/math.Sqrt2)
						}
						first.median, first.underMedian = first.median+1, first.underMedian+within(*s.Half)
						if s.Ninety != nil {
							first.ninety, first.underNinety = first.ninety+1, first.underNinety+within(*s.Ninety)
						}
						for _, c := range s.Chances {
							if chances[c.Hours] == nil {
								chances[c.Hours] = &struct{ claimed, real float64 }{}
							}
							chances[c.Hours].claimed += c.Chance
							chances[c.Hours].real += within(int64(c.Hours) * hour)
						}
					}
				}
			}
			first.calibrated(t, "the soonest shape")
			for hours, c := range chances {
				n := float64(first.median)
				says := fmt.Sprintf("within %d h: claimed %.3f, true %.3f", hours, c.claimed/n, c.real/n)
				t.Log(says)
				assert.InDelta(t, c.real/n, c.claimed/n, .05, says)
			}
		})
	}
}

// U12: chance alone made a week look sooner than a day.
func TestShorterTimeLimitIsNotAdvisedWithoutEvidence(t *testing.T) {
	advised, asked := 0, 0
	for run := range 60 {
		random := rand.New(rand.NewPCG(uint64(run), 6))
		b := NewBook(now, time.UTC)
		for i := range 300 {
			lease := []int64{hour, 6 * hour, day}[random.IntN(3)]
			b.Take(wait(int64(3600*math.Exp(random.NormFloat64())), 4, lease, 1+i%80))
		}
		ranked := bestOf(b.Of("a3", ""), Range{4, 4}, day*time.Second, now)
		require.NotEmpty(t, ranked)
		asked++
		if strings.Contains(Report{Best: ranked}.Short(), "--time") {
			advised++
		}
		for i, s := range ranked {
			for _, later := range ranked[i+1:] {
				assert.GreaterOrEqual(t, later.Time, s.Time, "a longer lease never starts sooner")
				for c := range whatIfHours {
					assert.LessOrEqual(t, later.Chances[c].Chance, s.Chances[c].Chance)
				}
			}
		}
	}
	t.Logf("advised %d of %d", advised, asked)
	assert.Less(t, advised*20, asked)
}

func TestBestLeavesOutLessForNoSoonerStart(t *testing.T) {
	var entries []*history.Entry
	for _, shape := range []struct{ took, lease int64 }{{600, hour}, {600, 6 * hour}, {7200, day}} {
		entries = append(entries, times(40, wait(shape.took, 4, shape.lease, 5))...)
	}
	var lines []string
	ranked := bestOf(of(entries...), Range{4, 4}, day*time.Second, now)
	for _, s := range ranked {
		lines = append(lines, fmt.Sprintf("%s %d %t", s.flags(), *s.Half, s.Requested))
	}
	assert.Equal(t, []string{
		"--partition=train --nodes=4 --time=06:00:00 620 false",
		"--partition=train --nodes=4 --time=1-00:00:00 7220 true",
	}, lines)
	assert.Equal(t, "median / 90th percentile of the wait in partition train: 2h00m / 2h00m; --partition=train --nodes=4 --time=06:00:00: 10m / 10m\n",
		Report{Best: ranked}.Short())
	assert.Empty(t, bestOf(of(), Range{4, 4}, day*time.Second, now), "no history")
	assert.Empty(t, Report{Best: []Shape{}}.Short())
}

func TestWaitingJobsOwnRequestCountsFromNow(t *testing.T) {
	var entries []*history.Entry
	for i := range int64(100) {
		entries = append(entries, wait(i*hour/10, 4, hour, 5)) // every six minutes
	}
	q := Question{Partition: "train", Request: Request{4, hour}, Waited: 8 * hour, Times: []int64{hour}, Leases: []int64{hour}, Counts: []int{2, 4}}
	samples := of(entries...)
	ranked := best([]Question{q}, []Answer{samples.Answer(q, now)})
	require.NotEmpty(t, ranked)
	assert.EqualValues(t, 8*hour, ranked[0].Waited)
	assert.Less(t, *ranked[0].Half, int64(2*hour))
	q.Waited = 20 * hour
	r := Report{Estimates: []Answer{samples.Answer(q, now)}}
	r.Best = append([]Shape{}, best([]Question{q}, r.Estimates)...)
	assert.Equal(t, "nodeset a3: too few requests are known that waited as long as the job's own, 20h00m\n"+
		"no history: too few requests like these are known\n", r.String())
	assert.True(t, slices.IsSortedFunc(ranked, func(a, b Shape) int { return int(*a.Half - *b.Half) }))
}

func TestRangeIsReadAsSbatchReadsIt(t *testing.T) {
	for text, counts := range map[string][]int{"2": {2}, "2-4": {2, 4}, "1-6": {1, 2, 4, 6}, "3-3": {3}} {
		var r Range
		require.NoError(t, r.Set(text), text)
		assert.Equal(t, counts, r.counts(), text)
	}
	for _, text := range []string{"", "x", "4-2", "2-", "1:2"} {
		assert.EqualError(t, new(Range).Set(text), "must be a number such as 2, or a range such as 2-4", text)
	}
}
