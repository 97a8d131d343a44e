//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestDiagDescribesARunningCluster(t *testing.T) {
	onOldest(t)
	l := cluster(t, lab.Options{Daemon: true})
	id := submitScript(t, l, "sleep 300", "-p", "train", "-N2", "--gpus-per-node=8", "--time=15")
	awaitJob(t, l, 2*time.Minute, id, "JobState", "RUNNING")
	archive := l.Log("diag.tar.gz")
	out, err := l.Flex(context.Background(), "diag", "--job", id, "-o", archive)
	require.NoError(t, err, out)
	t.Log(out)
	read := func(name string) string {
		text, err := exec.Command("tar", "-xzOf", archive, "slurmflex-diag/"+name).Output()
		require.NoError(t, err, name)
		return string(text)
	}
	assert.Regexp(t, `^slurmflex diag: cluster alpha, \S+, run by \w+\n`, read("INDEX.txt"))
	assert.Contains(t, read("config.yaml"), "slurm_cluster_name: alpha")
	assert.NotEmpty(t, read("config-check.txt"))
	assert.Contains(t, read("status.json"), `"kind": "status"`)
	assert.Contains(t, read("plan.json"), `"kind": "plan"`)
	assert.Contains(t, read("job.txt"), "running")
	assert.Contains(t, read("slurm-jobs.txt"), "JobId="+id+" ")
	assert.Contains(t, read("slurm-partitions.txt"), "PartitionName=train ")
	assert.Contains(t, read("system.txt"), "Debian")
	assert.Contains(t, read("files.txt"), "config.yaml")
	assert.Contains(t, read("metrics.txt"), "\nslurmflex_")
	assert.Contains(t, read("slurm-config.txt"), "SLURM_VERSION")
	assert.Contains(t, read("slurm-nodes.txt"), "NodeName=alpha-a3-0 ")
	assert.Contains(t, read("slurm-reservations.txt"), "ReservationName=slurmflex")
	assert.Regexp(t, `(?m)^trial.jsonl +not included `, out)
}
