package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/usage"
)

func TestFailedCheckFailsATrialThatRecordsItsCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trial.jsonl")
	inWorld(t, func(t *testing.T, w *world) {
		require.NoError(t, w.cloud.AddFault(forbidden("zones.get").fault))
		var out strings.Builder
		require.ErrorIs(t, w.Report(t.Context(), &out, file, "slurmflex v0"), ErrFailed)
		assert.Contains(t, out.String(), " 1 failed; left behind: nothing\n")
	})
	record, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(record), `"slurmflex":"slurmflex v0"`)
	assert.Contains(t, string(record), `"status":403`)
}

func TestTrialWithoutARecordCreatesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trial.jsonl")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	inWorld(t, func(t *testing.T, w *world) {
		w.cloud.ResetCalls()
		err := w.Report(t.Context(), &strings.Builder{}, file, "")
		require.ErrorContains(t, err, "--record: ")
		assert.True(t, usage.Is(err))
		assert.Empty(t, w.cloud.Calls())
	})
}
