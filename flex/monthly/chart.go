package monthly

import (
	"fmt"

	"slurmflex/flex/cost"
)

// purposes are what a bar of the chart is made of, from below.
var purposes = [...]string{"used", "booting", "idle", "wasted"}

// The chart's measures, in units of its drawing.
const (
	barWidth  = 20
	barHeight = 160
	left      = 56 // room for the scale
	below     = 32 // room for the days
)

// chart is the machine hours of a month by day, as bars.
type chart struct {
	Width, Height int
	Bars          []bar
	Grid          []grid
}

// bar is a day.
type bar struct {
	X, Day int
	Title  string
	Parts  []part
}

// part is what one purpose took of a day.
type part struct {
	Purpose   string
	Y, Height float64
}

// grid is a line of the scale.
type grid struct {
	Y     float64
	Label string
}

// chartOf draws the bills of the month's days.
func chartOf(m Month) chart {
	days := m.First.AddDate(0, 1, -1).Day()
	c := chart{Width: left + days*barWidth, Height: barHeight + below}
	byDay := map[string]cost.Line{}
	most := int64(0)
	for _, l := range m.Days.Rows {
		byDay[l.Key] = l
		most = max(most, l.Machine.All)
	}
	top := stepUp(float64(most) / 3600)
	for _, part := range []float64{0, .5, 1} {
		c.Grid = append(c.Grid, grid{Y: barHeight * (1 - part), Label: fmt.Sprintf("%g", top*part)})
	}
	for i := range days {
		at := m.First.AddDate(0, 0, i)
		machine := byDay[at.Format("2006-01-02")].Machine
		b := bar{X: left + i*barWidth, Day: i + 1, Title: fmt.Sprintf("%s: %s machine hours", at.Format("Jan 2"), hours(machine.All))}
		y := float64(barHeight)
		for k, seconds := range []int64{machine.Used, machine.Booting, machine.Idle, machine.Wasted} {
			if seconds == 0 {
				continue
			}
			height := float64(seconds) / 3600 / top * barHeight
			y -= height
			b.Parts = append(b.Parts, part{Purpose: purposes[k], Y: y, Height: height})
			b.Title += fmt.Sprintf(", %s %s", hours(seconds), purposes[k])
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// stepUp is the next of 1, 2, 5, 10, 20, 50 … that is no less; 1 at least.
func stepUp(n float64) float64 {
	for scale := 1.0; ; scale *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if n <= step*scale {
				return step * scale
			}
		}
	}
}
