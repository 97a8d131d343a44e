package web

import (
	"fmt"
	"time"
)

// Horizontal positions in a chart are percentages of its width, so that it fits any screen.
// Vertical positions are pixels.

// span is the period that a chart shows.
type span struct{ from, to time.Time }

// at returns the position of a time, in percent. A time outside the span is at the edge.
func (s span) at(t time.Time) float64 {
	return 100 * min(max(float64(t.Sub(s.from))/float64(max(s.to.Sub(s.from), time.Second)), 0), 1)
}

// piece returns the piece of a bar between two times. Its width is 0 outside the span.
func (s span) piece(from, to time.Time, kind string) piece {
	x := s.at(from)
	return piece{X: percent(x), Width: percent(s.at(to) - x), Kind: kind, empty: s.at(to)-x < 0.005}
}

// piece is a piece of a bar. The page has a pattern for each kind.
type piece struct {
	X, Width, Kind string
	Planned        bool
	empty          bool
}

type tick struct {
	X, Anchor, Text string
}

// key explains a pattern.
type key struct{ Kind, Text string }

func percent(f float64) string { return fmt.Sprintf("%.2f%%", f) }
