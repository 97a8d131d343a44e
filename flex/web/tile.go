package web

import (
	"fmt"

	"slurmflex/flex/view"
)

// tile is a number in the summary.
type tile struct {
	Name, Value string
	Kind        string // one of the kinds below
}

// The kinds of tiles and verdicts. Problems stand out, and zeros recede.
const (
	plain = ""
	calm  = "calm"
	wrong = "wrong"
	money = "money" // it costs money without use
)

// tilesOf returns the totals that no verdict has. An en dash marks an unknown or missing value.
func tilesOf(v view.View) []tile {
	t := v.Totals()
	end := "–"
	if !t.NextEnd.IsZero() {
		end = "in " + view.Span(t.NextEnd.Sub(v.SeenAt))
	}
	tiles := []tile{
		number("jobs running", t.Running, plain),
		number("nodes waiting", t.WaitingNodes, plain),
		number("nodes up", t.Machines, plain),
		{"GPUs used", "–", plain},
		{"GPUs requested", "–", plain},
		{"next lease end", end, plain},
	}
	if g := t.GPUs; g != (view.GPUs{}) {
		copy(tiles[3:], []tile{number("GPUs used", g.Used, plain), number("GPUs requested", g.Requested, plain)})
	}
	for i, tile := range tiles {
		if tile.Value == "–" {
			tiles[i].Kind = calm
		}
	}
	return tiles
}

// number returns a tile of that kind, or of a receding kind for zero.
func number(name string, n int, kind string) tile {
	if n == 0 {
		kind = calm
	}
	return tile{name, fmt.Sprint(n), kind}
}
