package view

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChangeIsReportedInWords(t *testing.T) {
	for says, c := range map[string]Change{
		"the last week was 4 times slower than before":       {7, 4},
		"the last day was 2.5 times faster than before":      {1, .4},
		"the last 12 days were 1.6 times slower than before": {12, 1.55},
		"the last 3 days were 25 times slower than before":   {3, 25.2},
	} {
		assert.Equal(t, says, c.String())
	}
}
