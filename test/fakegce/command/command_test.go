package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brief is the transcript of a trial that ended before it created anything.
const brief = `{"transcript":1,"slurmflex":"v0.1.0","begun":"2026-11-22T10:00:00Z","region":"us-central1","machine_type":"g2-standard-4"}
{"at":0.1,"verb":"GET","path":"/compute/v1/projects/PROJECT/global/instanceTemplates/small","status":200,"answer":{"kind":"compute#instanceTemplate","id":"1","creationTimestamp":"2026-11-01T00:00:00.000-07:00","selfLink":"https://x/small","name":"small","properties":{"machineType":"g2-standard-4","disks":[{"kind":"compute#attachedDisk","index":0,"boot":true,"initializeParams":{"sourceImage":"REMOVED"}}],"networkInterfaces":[{"kind":"compute#networkInterface","network":"REMOVED"}]}}}
{"at":0.2,"verb":"GET","path":"/compute/v1/projects/PROJECT/zones/us-central1-a/machineTypes/nope","status":STATUS,"answer":{"error":{"code":STATUS,"message":"?","errors":[{"reason":"notFound","domain":"global","message":"?"}]}}}
`

func TestCommandComparesItsAnswersWithATranscript(t *testing.T) {
	for status, c := range map[string]struct{ prints, fails string }{
		"404": {"compare: exchanges: 2, differences: 0\n", ""},
		"403": {
			"GET zones/*/machineTypes/*: status: the transcript has 403, the fake 404 The resource 'projects/PROJECT/zones/us-central1-a/machineTypes/nope' was not found\n" +
				"compare: exchanges: 2, differences: 1\n",
			": the fake differs",
		},
	} {
		path := filepath.Join(t.TempDir(), "trial.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(brief, "STATUS", status)), 0o600))
		var out strings.Builder
		cmd := New()
		cmd.SetArgs([]string{"--compare", path})
		cmd.SetOut(&out)
		err := cmd.ExecuteContext(t.Context())
		assert.Equal(t, c.prints, out.String())
		if c.fails == "" {
			assert.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.fails)
		assert.Equal(t, 1, ExitCode(err))
	}
}
