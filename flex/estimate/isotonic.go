package estimate

import "math"

// isotonic smooths the table so that a longer time limit never starts sooner. Each cell is
// estimated from its own waits, so chance alone may put cells in the wrong order. The rows must be
// in the order of their time limits.
func (a *Answer) isotonic() {
	columns := map[int][]*Other{}
	for i := range a.WhatIf {
		o := &a.WhatIf[i]
		columns[o.Nodes] = append(columns[o.Nodes], o)
	}
	for _, column := range columns {
		rise(column, func(o *Other) *int64 { return o.Half }, func(o *Other, n float64) { o.Half = rounded(n) })
		rise(column, func(o *Other) *int64 { return o.Ninety }, func(o *Other, n float64) { o.Ninety = rounded(n) })
		for i := range whatIfHours {
			longer := func(o *Other) *float64 {
				if len(o.Chances) <= i {
					return nil
				}
				n := 1 - o.Chances[i].Chance
				return &n
			}
			rise(column, longer, func(o *Other, n float64) { o.Chances[i].Chance = 1 - n })
		}
		for _, o := range column {
			if o.Half != nil && o.Ninety != nil {
				*o.Ninety = max(*o.Half, *o.Ninety)
			}
		}
	}
}

func rounded(n float64) *int64 {
	seconds := int64(math.Round(n))
	return &seconds
}

// rise replaces the known numbers in a column with the closest numbers that never fall. It pools
// adjacent violators and weights each number by its samples. Source: Ayer and others, An Empirical
// Distribution Function for Sampling with Incomplete Information, 1955.
func rise[N int64 | float64](column []*Other, of func(*Other) *N, set func(*Other, float64)) {
	type block struct {
		mean, weight float64
		cells        []*Other
	}
	var blocks []block
	for _, o := range column {
		known := of(o)
		if known == nil {
			continue
		}
		b := block{float64(*known), float64(o.Samples), []*Other{o}}
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
			set(o, b.mean)
		}
	}
}
