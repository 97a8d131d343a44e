package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStopwatchTimesRunsAndWaitsForTheirOrphans(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	var out bytes.Buffer
	const leavesBehind = `echo begin >>"$0"; (while kill -0 $$ 2>/dev/null; do :; done; sleep 0.3; echo end >>"$0") &`
	begun := time.Now()
	require.NoError(t, run([]string{"2", "/bin/sh", "-c", leavesBehind, log}, &out))
	inRuns := time.Since(begun) - 2*300*time.Millisecond // at most: orphans are waited for after the run
	assert.Positive(t, inRuns)

	b, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "begin end begin end", strings.Join(strings.Fields(string(b)), " "), "one after the other")
	var laps []lap
	require.NoError(t, json.Unmarshal(out.Bytes(), &laps))
	require.Len(t, laps, 2)
	for _, l := range laps {
		assert.Positive(t, l.Took)
		assert.Less(t, l.Took, inRuns, "without what it left behind")
		assert.Positive(t, l.Memory)
	}
}
