package estimate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/history"
)

// law returns how many times longer than usual a request waits that is made at that time.
type law func(history.Time) float64

const (
	length    = 60 // days in a simulated history
	changeDay = 40
	firstDay  = 400 * day
)

// askedDays are the days when the test examines estimates. Day 1 is the day of the change.
var askedDays = []int{4, 5, 6, 7, 8, 11, 15, 20}

func stable(history.Time) float64 { return 1 }

// slower returns a law that is four times slower from one moment on.
func slower(t history.Time) float64 {
	if t >= firstDay+changeDay*day {
		return 4
	}
	return 1
}

// dayAndNight makes machines available sooner when few people work.
func dayAndNight(t history.Time) float64 {
	return map[Hours]float64{Working: 4, Night: 1, Weekend: .5}[hoursOf(t.Time())]
}

// usual returns the median wait of a request under a law of 1, in seconds. The waits are log-normal
// around it, with a sigma of 1.
func usual(r Request) float64 {
	return 1200 * math.Pow(float64(r.Count), .5) * math.Pow(float64(r.Lease)/hour, .2)
}

// simulate returns a history of requests under a law. Their owners cancel them after a day on
// average.
func simulate(random *rand.Rand, law law) (entries []history.Entry) {
	for at := float64(firstDay); at < firstDay+length*day; at += day / 48 * random.ExpFloat64() {
		r := shapes[random.IntN(len(shapes))]
		from := history.Time(at)
		took := usual(r) * law(from) * math.Exp(random.NormFloat64())
		patience := day * random.ExpFloat64()
		e := history.Entry{
			NodeSet: "a3", Machine: "a3-highgpu-8g", Count: r.Count, Seconds: r.Lease,
			From: from, To: from + history.Time(took), End: history.Granted,
		}
		if patience < took {
			e.To, e.End = from+history.Time(patience), history.Withdrawn
		}
		entries = append(entries, e)
	}
	return entries
}

// shapes are the requests of the simulation.
var shapes = []Request{
	{1, hour},
	{2, hour},
	{4, hour},
	{8, hour},
	{1, 4 * hour},
	{2, 4 * hour},
	{4, 4 * hour},
	{8, 4 * hour},
	{1, day},
	{2, day},
	{4, day},
	{8, day},
}

// known returns the waits that the history contains at that time.
func known(entries []history.Entry, now history.Time) *Samples {
	b := NewBook(now, time.UTC)
	for _, e := range entries {
		if e.From >= now {
			break
		}
		if e.To > now {
			e.To, e.End = now, ""
		}
		b.Take(&e)
	}
	return b.Of("a3", "")
}

// coverage counts how often waits end within their estimates.
type coverage struct {
	asked, median, ninety    int
	underMedian, underNinety float64
	changes                  int // reported changes
}

func (c *coverage) add(r Request, now history.Time, s *Samples, law law) {
	c.asked++
	e, ok := s.For(r, 0, now)
	if !ok {
		return
	}
	if e.Change != nil {
		c.changes++
	}
	within := func(seconds int64) float64 {
		return .5 * math.Erfc(-math.Log(float64(seconds)/(usual(r)*law(now)))/math.Sqrt2)
	}
	if m, ok := e.Curve.Quantile(.5); ok {
		c.median++
		c.underMedian += within(m)
	}
	if m, ok := e.Curve.Quantile(.9); ok {
		c.ninety++
		c.underNinety += within(m)
	}
}

func (c *coverage) calibrated(t *testing.T, of string) {
	t.Helper()
	half, ninety := c.underMedian/float64(c.median), c.underNinety/float64(c.ninety)
	says := fmt.Sprintf("%s: %.3f within the median, %.3f within the 90th percentile of %d (%d, %d)", of, half, ninety, c.asked, c.median, c.ninety)
	t.Log(says)
	assert.True(t, half >= .45 && half <= .55, says)
	assert.True(t, ninety >= .85 && ninety <= .93, says)
	assert.Greater(t, c.median*20, c.asked*19, says)
	assert.Greater(t, c.ninety*20, c.asked*17, says)
}

// An estimate is calibrated if it covers the stated part of the next waits. The test requires that
// overall, at each time of the week, and from the fourth day after a change.
func TestEstimatesAreCalibrated(t *testing.T) {
	for name, law := range map[string]law{"stable": stable, "four times slower": slower, "day and night": dayAndNight} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			days, hours := map[int]*coverage{}, map[Hours]*coverage{}
			for run := range 10 {
				random := rand.New(rand.NewPCG(uint64(run), 4))
				entries := simulate(random, law)
				for _, d := range askedDays {
					for at := 3; at < 24; at += 6 {
						now := history.Time(firstDay + (changeDay+d-1)*day + at*hour)
						samples := known(entries, now)
						if days[d] == nil {
							days[d] = &coverage{}
						}
						of := samples.hoursOf(now)
						if hours[of] == nil {
							hours[of] = &coverage{}
						}
						for _, r := range []Request{shapes[random.IntN(12)], shapes[random.IntN(12)], shapes[random.IntN(12)]} {
							days[d].add(r, now, samples, law)
							hours[of].add(r, now, samples, law)
						}
					}
				}
			}
			for _, d := range askedDays {
				days[d].calibrated(t, fmt.Sprintf("day %d after the change", d))
			}
			changes, asked := 0, 0
			for of, c := range hours {
				c.calibrated(t, of.String())
				changes, asked = changes+c.changes, asked+c.asked
			}
			if name == "four times slower" {
				assert.Greater(t, changes*20, asked*19, "the change is reported")
			} else {
				assert.Less(t, changes*20, asked, "no change is reported")
			}
		})
	}
}
