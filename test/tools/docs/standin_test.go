package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const role = "title: t\nstage: GA\nincludedPermissions:\n  - compute.zones.get\n"

func TestStandInChecksItsArguments(t *testing.T) {
	script, err := filepath.Abs("stand-in")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"role.yaml": role, "empty.yaml": "title: t\n", "Makefile": "demo: build ## show it\n\techo $(SEEDS)\n",
		"flex/a_test.go": "package flex\n\nfunc TestARound(t *testing.T) {}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	template := []string{
		"compute", "instance-templates", "create", "a3", "--project=p", "--machine-type=m", "--max-run-duration=600s", "--image=i",
		"--instance-template-region=r", "--provisioning-model=FLEX_START", "--instance-termination-action=DELETE", "--maintenance-policy=TERMINATE",
	}
	for _, c := range []struct {
		program string
		args    []string
		want    string // empty: no error
	}{
		{"apt", []string{"install", "./slurmflex_1.0-1_amd64.deb"}, ""},
		{"apt", []string{"install", "./other_1.0_amd64.deb"}, "./other_1.0_amd64.deb is neither a package of ours nor one of Slurm's"},
		{"apt", []string{"sing"}, "give one of update, install, remove, purge"},
		{"make", []string{"demo", "SEEDS=1"}, ""},
		{"make", []string{"dmeo"}, "the Makefile has no target dmeo"},
		{"make", []string{"demo", "SEED=1"}, "the Makefile has no variable SEED"},
		{"go", []string{"build", "./..."}, ""},
		{"go", []string{"test", "-timeout", "2m", "./flex", "-run", "TestAR/of_any_name"}, ""},
		{"go", []string{"test", "./flex", "-run", "TestB"}, "./flex has no test TestB"},
		{"go", []string{"test", "./plan"}, "there is no package ./plan"},
		{"terraform", []string{"output", "-raw", "x"}, "give -chdir=GROUP output -raw NAME"},
		{"gcloud", []string{"iam", "roles", "create", "r", "--project=p", "--file=role.yaml"}, ""},
		{"gcloud", []string{"iam", "roles", "create", "r", "--project=p", "--file=empty.yaml"}, "empty.yaml is no role: it needs title, stage and includedPermissions of compute"},
		{"gcloud", []string{"iam", "roles", "create", "r", "--file=role.yaml"}, "--project= is missing"},
		{"gcloud", append(template, "--reservation-affinity=none"), ""},
		{"gcloud", template, "--reservation-affinity=none is missing"},
		{"gcloud", []string{"compute", "disks", "delete", "d"}, "not a command that is known here, or its argument is missing; write options as --name=value"},
		{"systemctl", []string{"restart", "slurmd"}, ""},
		{"systemctl", []string{"restart", "slurmflx"}, "there is no unit slurmflx.service"},
		{"systemctl", []string{"mask", "slurmd"}, "give one of enable, disable, start, stop, restart, reload, status, is-active and a unit"},
		{"journalctl", []string{"-u", "slurmflx"}, "there is no unit slurmflx.service"},
		{"sudo", []string{"-u", "root"}, "give a command"},
	} {
		if _, err := os.Lstat(c.program); err != nil {
			require.NoError(t, os.Symlink(script, c.program))
		}
		said, err := exec.Command("./"+c.program, c.args...).CombinedOutput()
		if c.want == "" {
			assert.NoError(t, err, "%s %v: %s", c.program, c.args, said)
		} else {
			assert.EqualError(t, err, "exit status 1", "%s %v", c.program, c.args)
			assert.Equal(t, "stand-in for "+strings.Join(append([]string{c.program}, c.args...), " ")+": "+c.want+"\n", string(said))
		}
	}
}

func TestNodeProgramWritesItsArguments(t *testing.T) {
	script, err := filepath.Abs("stand-in")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "torchrun")
	require.NoError(t, os.Symlink(script, program))
	said, err := exec.Command(program, "--nnodes=2", "train.py").Output()
	require.NoError(t, err)
	assert.Equal(t, "torchrun --nnodes=2 train.py\n", string(said))
}
