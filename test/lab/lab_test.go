package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/must"
)

func TestStopEndsASlurmctldThatRestartedItself(t *testing.T) {
	l := &Lab{Dir: t.TempDir()}
	cat, err := exec.LookPath("cat")
	require.NoError(t, err)
	bytes := must.Get(os.ReadFile(cat))
	program := filepath.Join(t.TempDir(), "slurmctld-wlm")
	require.NoError(t, os.WriteFile(program, bytes, 0o700))

	ours, others := exec.Command(program), exec.Command(program)
	ours.Env = []string{"SLURM_CONF=" + l.Dir + "/etc/slurm.conf"}
	others.Env = []string{"SLURM_CONF=/elsewhere/etc/slurm.conf"}
	for _, cmd := range []*exec.Cmd{ours, others} {
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = stdin.Close() // this ends it
			_ = cmd.Wait()
		})
	}
	assert.Equal(t, []int{ours.Process.Pid}, l.processes())
}

// A11: the value disabled exists since 24.05, and an older slurmd does not start with it.
func TestCgroupsAreDisabledIfSlurmSupportsIt(t *testing.T) {
	for version, want := range map[slurm.Version]string{
		{Major: 22, Minor: 5}: "", {Major: 23, Minor: 2}: "", {Major: 23, Minor: 11, Patch: 11}: "",
		{Major: 24, Minor: 5}: "CgroupPlugin=disabled\n", {Major: 24, Minor: 11}: "CgroupPlugin=disabled\n", {Major: 26, Minor: 5}: "CgroupPlugin=disabled\n",
	} {
		assert.Equal(t, want, cgroupConf(version), version)
	}
}
