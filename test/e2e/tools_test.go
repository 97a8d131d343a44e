//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// workflows are tools that submit jobs and wait for them, as Debian 12 has them: the command of
// docs/other-tools.md, and its input. Each runs one task, which writes the name of its node to the
// file node.
var workflows = map[string]struct {
	file, text string
	command    []string
	env        []string
}{
	"Snakemake 7": {
		file:    "Snakefile",
		text:    "rule train:\n    output: \"node\"\n    shell: \"printenv SLURMD_NODENAME > {output}\"\n",
		command: []string{"/usr/bin/snakemake", "--slurm", "--jobs", "20", "--default-resources", "slurm_partition=train", "slurm_account=ml", "runtime=120"},
	},
	"Toil 5": {
		file: "workflow.py",
		text: `import os
from toil.common import Toil
from toil.job import Job

def where(job):
    return os.environ["SLURMD_NODENAME"]

if __name__ == "__main__": # the job imports this file
    with Toil(Job.Runner.getDefaultArgumentParser().parse_args()) as toil:
        print(toil.start(Job.wrapJobFn(where, cores=1, memory="1G", disk="1M")), file=open("node", "w"))
`,
		command: []string{"/usr/bin/python3", "workflow.py", "--batchSystem", "slurm", "--statePollingWait", "2", "file:jobs"},
		env:     []string{"TOIL_SLURM_ARGS=-p train --time=120"},
	},
}

func TestWorkflowToolsWaitForTheirJobs(t *testing.T) {
	v, err := lab.SlurmVersion(context.Background())
	require.NoError(t, err)
	if v.AtLeast(23, 2) {
		skipped.Add(1)
		version.Store(v, true)
		t.Skip("only the Debian with Slurm 22.05 has these versions of the tools")
	}
	for name, tool := range workflows {
		t.Run(name, func(t *testing.T) {
			for _, program := range []string{"/usr/bin/snakemake", "/usr/bin/toil"} {
				if _, err := os.Stat(program); os.IsNotExist(err) && os.Getenv("E2E_ALL") == "" {
					skipped.Add(1)
					version.Store(v, true)
					t.Skip(program + " is missing; make nightly installs it, by scripts/setup-front-ends")
				}
				require.FileExists(t, program)
			}
			l := cluster(t, lab.Options{Daemon: true, Accounting: true})
			run(t, l, "sacctmgr", "--immediate", "add", "account", "ml")
			run(t, l, "sacctmgr", "--immediate", "add", "user", "root", "account=ml")
			shut(t, l)
			dir := filepath.Join(l.Dir, "workflow")
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, tool.file), []byte(tool.text), 0o644))
			cmd := l.Client(context.Background(), tool.command[0], tool.command[1:]...)
			cmd.Dir, cmd.Env = dir, append(append(cmd.Env, tool.env...), "USER=root", "HOME="+dir)
			output, err := os.Create(l.Log("workflow.log"))
			require.NoError(t, err)
			defer output.Close()
			cmd.Stdout, cmd.Stderr = output, output
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			awaitJob(t, l, 2*time.Minute, "1", "JobState", "PENDING")
			await(t, time.Minute, "its request", func() bool { return len(liveRequests(state(t, l))) == 1 })
			hold(t, func() { awaitJob(t, l, time.Minute, "1", "JobState", "PENDING") })
			capacity(t, l, "", 1)
			awaitCompleted(t, l, "1")
			select {
			case err = <-ended:
			case <-time.After(3 * time.Minute):
				_ = cmd.Process.Kill()
				err = <-ended
			}
			require.NoError(t, err, readFile(output.Name()))
			assert.Equal(t, "alpha-a3-0\n", readFile(filepath.Join(dir, "node")))
			assert.NotContains(t, run(t, l, "squeue", "-h", "--states=all", "-o", "%i"), "2", "the tool submitted its job once")
			awaitNothingLeft(t, l)
		})
	}
}
