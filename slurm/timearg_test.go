package slurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestParseTimeMatchesSbatch(t *testing.T) {
	eachRead(t, ParseTime, map[string]time.Duration{
		"90": 90 * time.Minute, "30:15": 30*time.Minute + 15*time.Second, "4:00:00": 4 * time.Hour, "2-12": 60 * time.Hour,
		"2-12:30": 60*time.Hour + 30*time.Minute, "7-00:00:00": 168 * time.Hour,
	})
	for _, text := range []string{"", "0", "4h", "-1", "1:2:3:4", "1-", "UNLIMITED", "9999999"} {
		_, err := ParseTime(text)
		assert.ErrorContains(t, err, "in the format of sbatch --time", text)
	}
}
