//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestDiagDescribesARunningCluster(t *testing.T) {
	l := withDaemon(t)
	id := submitScript(t, l, "sleep 300", "-p", "train", "-N2", "--gpus-per-node=8", "--time=15")
	awaitRunning(t, l, id)
	require.NoError(t, os.WriteFile(l.Log("slurmflex.log"), []byte("a line\n"), 0o600))
	says, read := diag(t, l, filepath.Join(l.Dir, "bin"), id)
	assert.Contains(t, says, read("INDEX.txt"))
	assert.Contains(t, says, "\nNothing was uploaded.\nThe archive names users, jobs, hosts and the project: read it before you share it.\n")
	for name, text := range map[string]string{
		"config.yaml": "slurm_cluster_name: alpha", "config-check.txt": "nodeset", "version.txt": "slurmflex ", "status.json": `"kind": "status"`, "plan.txt": "\n",
		"why-" + id + ".txt": "job " + id + " (root)   ", "hooks.log": "a line\n", "slurm-config.txt": "SLURM_VERSION", "slurm-nodes.txt": "NodeName=alpha-a3-0 ",
		"slurm-partitions.txt": "PartitionName=train ", "slurm-reservations.txt": "ReservationName=slurmflex", "slurm-version.txt": "slurm", "system.txt": "Debian",
	} {
		assert.Contains(t, read(name), text, name)
	}

	// Without slurmflex and its configuration, the other files are there.
	apart := t.TempDir()
	says, read = diag(t, l, apart)
	assert.Regexp(t, `(?m)^status.json +slurmflex .* \(failed with status 127; see ERRORS.txt\)$`, says)
	assert.Contains(t, read("ERRORS.txt"), "slurmflex")
	assert.Contains(t, read("slurm-nodes.txt"), "NodeName=alpha-a3-0 ")
}

// diag runs scripts/diag from a folder. It returns the output and a function that reads a file of the
// archive.
func diag(t *testing.T, l *lab.Lab, folder string, jobs ...string) (says string, read func(name string) string) {
	t.Helper()
	// Another process copies the script, because a script that is open for writing cannot be started.
	require.NoError(t, exec.Command("cp", filepath.Join(l.Scripts, "diag"), folder).Run())
	cmd := l.Client(context.Background(), filepath.Join(folder, "diag"), jobs...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	archive := filepath.Join(cmd.Dir, regexp.MustCompile(`(?m)^slurmflex-diag-\S+\.tar\.gz$`).FindString(string(out)))
	info, err := os.Stat(archive)
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode())
	return string(out), func(name string) string {
		text, err := exec.Command("tar", "-xzOf", archive, "slurmflex-diag/"+name).Output()
		require.NoError(t, err, name)
		return string(text)
	}
}
