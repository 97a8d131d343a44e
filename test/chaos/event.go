package chaos

import (
	"fmt"
	"slices"
	"time"
)

// event is something that befalls the world. Events are values, and print as
// one line each.
type event interface {
	fmt.Stringer
	// strike lets it happen; no is its number in the day's script.
	strike(w *world, no int)
}

// happening is an event in a sentence, and what it does.
type happening struct {
	text   string
	happen func(w *world, no int)
}

func (h happening) String() string          { return h.text }
func (h happening) strike(w *world, no int) { h.happen(w, no) }

// appointment is an event and its time.
type appointment struct {
	no int           // in the script of the day's seed: it stays when others are taken out
	at time.Duration // since the day began
	event
}

func (a appointment) String() string { return fmt.Sprintf("#%d %s %s", a.no, clock(a.at), a.event) }

// day is a seed and what is left of its script.
type day struct {
	seed   uint64
	script []appointment
}

// without is the day without some of its events.
func (d day) without(out []appointment) day {
	left := slices.DeleteFunc(slices.Clone(d.script), func(a appointment) bool {
		return slices.ContainsFunc(out, func(b appointment) bool { return a.no == b.no })
	})
	return day{d.seed, left}
}

// only is the day with the events of these numbers alone.
func (d day) only(numbers []int) day {
	left := slices.DeleteFunc(slices.Clone(d.script), func(a appointment) bool { return !slices.Contains(numbers, a.no) })
	return day{d.seed, left}
}

// numbers are the numbers of the day's events.
func (d day) numbers() []int {
	numbers := make([]int, len(d.script))
	for i, a := range d.script {
		numbers[i] = a.no
	}
	return numbers
}

// shortest takes events out of a day as long as it still breaks, in pieces that
// get smaller, and returns the shortest day found. It tries at most so many
// days.
func shortest(d day, breaks func(day) bool, tries int) day {
	for piece := (len(d.script) + 1) / 2; piece > 0; {
		shorter := false
		for from := 0; from < len(d.script); {
			if tries == 0 {
				return d
			}
			tries--
			to := min(from+piece, len(d.script))
			if less := d.without(d.script[from:to]); breaks(less) {
				d, shorter = less, true
			} else {
				from = to
			}
		}
		switch {
		case piece > 1:
			piece /= 2
		case !shorter:
			return d
		}
	}
	return d
}
