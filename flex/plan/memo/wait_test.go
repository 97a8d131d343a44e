package memo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAJobsCommentMayLimitItsWait(t *testing.T) {
	for comment, wait := range map[string]time.Duration{
		"slurmflex:wait=90m":                  90 * time.Minute,
		"run 3, slurmflex:wait=2h; thanks":    2 * time.Hour,
		"slurmflex:wait=1d":                   24 * time.Hour,
		"slurmflex:wait=99999d":               99999 * 24 * time.Hour,
		"x\nslurmflex:wait=30s":               30 * time.Second,
		"":                                    0,
		"slurmflex:wait=2":                    0,
		"slurmflex:wait=0h":                   0,
		"slurmflex:wait=-2h":                  0,
		"slurmflex:wait=2hours":               0,
		"slurmflex:wait=100000d":              0,
		"myslurmflex:wait=2h":                 0,
		"see slurmflex:wait=HOURS for how to": 0,
	} {
		assert.Equal(t, wait, OwnersWait(comment), comment)
	}
}
