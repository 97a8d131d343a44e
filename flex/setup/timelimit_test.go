package setup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimeLimitIsReadAsBySbatch(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "30:15": 30*time.Minute + 15*time.Second, "4:00:00": 4 * time.Hour, "2-12": 60 * time.Hour,
		"2-12:30": 60*time.Hour + 30*time.Minute, "7-00:00:00": 168 * time.Hour,
	} {
		got, err := parseTime(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "4h", "-1", "1:2:3:4", "1-", "UNLIMITED", "9999999"} {
		_, err := parseTime(text)
		assert.ErrorContains(t, err, "in the format of sbatch --time", text)
	}
}
