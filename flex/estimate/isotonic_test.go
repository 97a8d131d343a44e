package estimate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLongerLeaseNeverStartsSooner(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	a := Answer{WhatIf: []Other{
		{Time: hour, Nodes: 2, Half: number(100), Ninety: number(900), Samples: 30},
		{Time: 6 * hour, Nodes: 2},
		{Time: day, Nodes: 2, Half: number(10560), Ninety: number(12000), Samples: 30},
		{Time: 7 * day, Nodes: 2, Half: number(7260), Ninety: number(15000), Samples: 10},
		{Time: 7 * day, Nodes: 4, Half: number(50), Samples: 30},
	}}
	a.isotonic()
	assert.EqualValues(t, 100, *a.WhatIf[0].Half)
	assert.Nil(t, a.WhatIf[1].Half)
	assert.EqualValues(t, 9735, *a.WhatIf[2].Half)
	assert.EqualValues(t, 9735, *a.WhatIf[3].Half)
	assert.EqualValues(t, 15000, *a.WhatIf[3].Ninety)
	assert.EqualValues(t, 50, *a.WhatIf[4].Half, "more nodes are another column")
}

func TestIsotonicTableKeepsWhatRises(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var a Answer
		rises := true
		for i := range rapid.IntRange(1, 6).Draw(r, "rows") {
			half := rapid.Int64Range(1, 50).Draw(r, "half")
			ninety := half + rapid.Int64Range(0, 50).Draw(r, "more")
			if i > 0 {
				last := a.WhatIf[i-1]
				rises = rises && half >= *last.Half && ninety >= *last.Ninety
			}
			a.WhatIf = append(a.WhatIf, Other{Time: int64(i), Half: &half, Ninety: &ninety, Samples: rapid.IntRange(1, 9).Draw(r, "samples")})
		}
		before := make([][2]int64, len(a.WhatIf))
		for i, o := range a.WhatIf {
			before[i] = [2]int64{*o.Half, *o.Ninety}
		}
		a.isotonic()
		for i, o := range a.WhatIf {
			require.LessOrEqual(r, *o.Half, *o.Ninety)
			if rises {
				now := [2]int64{*o.Half, *o.Ninety}
				require.Equal(r, before[i], now)
			}
			if i > 0 {
				require.LessOrEqual(r, *a.WhatIf[i-1].Half, *o.Half)
				require.LessOrEqual(r, *a.WhatIf[i-1].Ninety, *o.Ninety)
			}
		}
	})
}
