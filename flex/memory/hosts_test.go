package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/scene"
)

func TestBadHostsAreRememberedForADay(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	first, last := scene.BadHost{Node: "n0", At: noon.Add(-23 * time.Hour)}, scene.BadHost{Node: "n1", At: noon}
	h := Hosts{Recorded: func(since time.Time) map[string]scene.BadHost {
		assert.Equal(t, noon.Add(-24*time.Hour), since)
		return map[string]scene.BadHost{"first": first, "last": last}
	}}
	assert.Equal(t, map[string]scene.BadHost{"first": first, "last": last}, h.matter(noon))
	assert.Equal(t, map[string]scene.BadHost{"last": last}, h.matter(noon.Add(time.Hour)))
}
