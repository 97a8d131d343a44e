//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// taskEpilog ends the output of a batch script with a summary of the job. Slurm discards the standard
// output of a TaskEpilog, kills it after five seconds, and reports its failures in the job's output.
const taskEpilog = `#!/bin/sh
job=$SLURM_JOB_ID
[ -z "$SLURM_ARRAY_TASK_ID" ] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
[ -n "$SLURM_STEP_ID" ] || timeout 4 slurmflex why --summary "$job" >&2
exit 0
`

// setTaskEpilog has Slurm run taskEpilog.
func setTaskEpilog(t *testing.T, l *lab.Lab) {
	t.Helper()
	flex := filepath.Join(l.Dir, "bin/slurmflex") + " --config " + l.Config()
	path := filepath.Join(l.Dir, "bin/task-epilog")
	require.NoError(t, os.WriteFile(path, []byte(replaced(t, "slurmflex", flex)(taskEpilog)), 0o755))
	require.NoError(t, os.WriteFile(l.Conf(), []byte(readFile(l.Conf())+"\nTaskEpilog="+path+"\n"), 0o644))
	reconfigure(t, l)
}

func TestStoryOfAJobEndsItsOutput(t *testing.T) {
	l := withDaemon(t)
	setTaskEpilog(t, l)
	shut(t, l)
	out := l.Log("out")
	id := submitScript(t, l, "srun true; sleep 20; echo done", "-p", "train", "-N2", "--time=15", "-o", out)
	fail(t, l, "alpha-a3-job-"+id, "a1", "QUEUING_INFEASIBLE_NO_CAPACITY", "none")
	awaitRequestState(t, l, "alpha-a3-job-"+id, "a2", "ACCEPTED")
	capacity(t, l, "", 8)
	awaitJob(t, l, 2*time.Minute, id, "JobState", "RUNNING")
	awaitWhy(t, l, id, `RUNNING for`)
	run(t, l, "scontrol", "requeue", id)
	awaitWhy(t, l, id, `WAITS until .*\(BeginTime\)`)
	update(t, l, "jobid="+id, "starttime=now")
	awaitCompleted(t, l, id)
	assert.Regexp(t, `(?s)done\njob `+id+`: waited \dm, ran \w+ on 2 × a3-megagpu-8g, 0\.\d GPU hours\n$`, readFile(out))
	assert.Equal(t, 1, strings.Count(readFile(out), "waited"), "not after steps")
	awaitWhy(t, l, id, `ENDED at`)

	story, err := askAsNobody(t, l, "why", "--story", id)
	require.NoError(t, err, story)
	const at = `[0-9:]{8} (\+\w+ )?`
	assert.Regexp(t, `Story: `+at+`seen in Slurm's queue `+at+`machines requested: 2 nodes for 00:15:00 in us-central1 \(alpha-a3-job-\d+/a1\) `+
		at+`attempt failed: attempt 1: [^:]+ `+at+`machines requested: 2 nodes for 00:15:00 in us-central1 \(alpha-a3-job-\d+/a2\) `+
		at+`machines created: 2 of 2 nodes .*`+at+`running: on alpha-a3-\[0-1\] `+at+`back in Slurm's queue: BeginTime .*`+
		at+`running: on alpha-a3-\[\d-\d\] `+at+`ended In total: waited \dm, ran \w+ on 2 × a3-megagpu-8g, 0\.\d machine hours, 0\.\d GPU hours\.`, story)
	awaitNothingLeft(t, l)

	await(t, 2*time.Minute, "the history to have the job's machines", func() bool {
		text := readFile(filepath.Join(l.Dir, "history/history-alpha.jsonl"))
		return strings.Count(text, `"kind":"lease"`) == 4
	})
	require.NoError(t, l.StopDaemon())
	story, err = l.Flex(context.Background(), "why", id)
	require.NoError(t, err)
	assert.Regexp(t, `(?s)running: on .*back in Slurm's queue.*running: on .*In total: waited \dm, ran \w+ on 2 × a3-megagpu-8g, `, story)
}
