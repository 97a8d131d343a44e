//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// taskEpilog ends the output of a batch script with a summary of the job. Slurm discards the standard
// output of a TaskEpilog, kills it after five seconds, and reports its failures in the job's output.
const taskEpilog = `#!/bin/sh
job=$SLURM_JOB_ID
[ -z "$SLURM_ARRAY_TASK_ID" ] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
[ -n "$SLURM_STEP_ID" ] || timeout 4 slurmflex why --summary "$job" >&2
exit 0
`

func TestStoryOfAJobEndsItsOutput(t *testing.T) {
	l := withDaemon(t)
	path, out := filepath.Join(l.Dir, "bin/task-epilog"), l.Log("out")
	flex := filepath.Join(l.Dir, "bin/slurmflex") + " --config " + l.Config()
	require.NoError(t, os.WriteFile(path, []byte(replaced(t, taskEpilog, "slurmflex", flex)), 0o755))
	reconfigure(t, l, readFile(l.Conf())+"\nTaskEpilog="+path+"\n")
	id := submitScript(t, l, "srun true; sleep 20; echo done", "-p", "train", "-N2", "--time=15", "-o", out)
	awaitCompleted(t, l, id)
	assert.Regexp(t, `(?s)done\njob `+id+`: waited .*, ran \w+ on 2 × a3-megagpu-8g, 0\.\d GPU hours\n$`, readFile(out))
	assert.Equal(t, 1, strings.Count(readFile(out), "waited"), "not after steps")
	awaitWhy(t, l, id, `ENDED at`)
	story, err := askAsNobody(t, l, "why", "--story", id)
	require.NoError(t, err, story)
	assert.Regexp(t, `running: on alpha-a3-\[0-1\] .*ended In total: waited`, story)
}
