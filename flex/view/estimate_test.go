package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEstimateNamesWhatIsUnknown(t *testing.T) {
	e := Estimate{Median: Seconds(18 * time.Minute), Requests: 12, AnySize: true, Oldest: noon}
	assert.Equal(t, "median 18m, 90th percentile unknown, from 12 requests of any size since 2026-11-21", e.String())
	assert.Equal(t, "18m / ?", e.short())
	assert.Equal(t, "median unknown, 90th percentile unknown, from 1 request like this one since 2026-11-21", Estimate{Requests: 1, Oldest: noon}.String())
}
