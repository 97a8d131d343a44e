package chaos

import (
	"fmt"
	"slices"
	"time"
)

// event is something that happens to the world. Events are values and print as one line each.
type event interface {
	fmt.Stringer
	// strike makes the event happen; no is its number in the day's script.
	strike(w *world, no int)
}

// happening is an event made of a sentence and a function.
type happening struct {
	text   string
	happen func(w *world, no int)
}

func (h happening) String() string          { return h.text }
func (h happening) strike(w *world, no int) { h.happen(w, no) }

// appointment is an event with its time.
type appointment struct {
	no int           // in the seed's script; unchanged when other events are removed
	at time.Duration // since the start of the day
	event
}

func (a appointment) String() string { return fmt.Sprintf("#%d %s %s", a.no, clock(a.at), a.event) }

// day is a seed with the remaining part of its script.
type day struct {
	seed   uint64
	script []appointment
}

// without returns the day without some of its events.
func (d day) without(out []appointment) day {
	left := slices.DeleteFunc(slices.Clone(d.script), func(a appointment) bool {
		return slices.ContainsFunc(out, func(b appointment) bool { return a.no == b.no })
	})
	return day{d.seed, left}
}

// only returns the day with only these events.
func (d day) only(numbers []int) day {
	left := slices.DeleteFunc(slices.Clone(d.script), func(a appointment) bool { return !slices.Contains(numbers, a.no) })
	return day{d.seed, left}
}

// numbers returns the numbers of the day's events.
func (d day) numbers() []int {
	numbers := make([]int, len(d.script))
	for i, a := range d.script {
		numbers[i] = a.no
	}
	return numbers
}

// shortest removes events from a day for as long as the day still breaks. It removes smaller
// and smaller parts, tries at most the given number of days, and returns the shortest day
// found.
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
