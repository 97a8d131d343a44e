package estimate

import (
	"cmp"
	"math"
	"slices"
)

// isotonic smooths the table so that a longer time limit never starts sooner. Each cell is
// estimated from its own waits, so chance alone may put cells in the wrong order.
func (a *Answer) isotonic() {
	columns := map[int][]*Other{}
	for i := range a.WhatIf {
		o := &a.WhatIf[i]
		columns[o.Nodes] = append(columns[o.Nodes], o)
	}
	for _, column := range columns {
		slices.SortStableFunc(column, func(a, b *Other) int { return cmp.Compare(a.Time, b.Time) })
		rise(column, func(o *Other) **int64 { return &o.Half })
		rise(column, func(o *Other) **int64 { return &o.Ninety })
		for _, o := range column {
			if o.Half != nil && o.Ninety != nil {
				*o.Ninety = max(*o.Half, *o.Ninety)
			}
		}
	}
}

// rise replaces the known numbers in a column with the closest numbers that never fall. It pools
// adjacent violators and weights each number by its samples. Source: Ayer and others, An Empirical
// Distribution Function for Sampling with Incomplete Information, 1955.
func rise(column []*Other, of func(*Other) **int64) {
	type block struct {
		mean, weight float64
		cells        []*Other
	}
	var blocks []block
	for _, o := range column {
		if *of(o) == nil {
			continue
		}
		b := block{float64(**of(o)), float64(o.Samples), []*Other{o}}
		for n := len(blocks) - 1; n >= 0 && blocks[n].mean > b.mean; n-- {
			last := blocks[n]
			weight := last.weight + b.weight
			b = block{(last.mean*last.weight + b.mean*b.weight) / weight, weight, append(last.cells, b.cells...)}
			blocks = blocks[:n]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		for _, o := range b.cells {
			seconds := int64(math.Round(b.mean))
			*of(o) = &seconds
		}
	}
}
