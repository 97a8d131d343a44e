package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// recipe matches a program of health.d in docs/configure.md.
var recipe = regexp.MustCompile("(?s)```text health.d/(\\S+)\n(.*?)```")

// checkWith runs the shipped HealthCheckProgram with the documented programs and stand-ins for what
// they call. It returns the arguments of scontrol.
func checkWith(t *testing.T, standIns map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	executable := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	page := must.Text("../../docs/configure.md")
	recipes := recipe.FindAllStringSubmatch(page, -1)
	require.Len(t, recipes, 3)
	for _, r := range recipes {
		executable("health.d/"+r[1], strings.ReplaceAll(r[2], "\n   ", "\n")[len("   "):])
	}
	for name, script := range map[string]string{
		"scontrol": `printf '%s\n' "$@" >` + dir + "/told", "mountpoint": "true", "nvidia-smi": "seq 8", "pgrep": "false", "dcgmi": "echo Pass",
	} {
		if other := standIns[name]; other != "" {
			script = other
		}
		executable("bin/"+name, "#!/bin/sh\n"+script+"\n")
	}
	text := must.Text("../../scripts/health-check")
	limit := "+ 50))"
	if strings.Contains(standIns["nvidia-smi"], "sleep") {
		limit = "+ 2))" // otherwise a busy machine takes longer
	}
	executable("health-check", strings.NewReplacer("/etc/slurm/health.d", dir+"/health.d", "PATH=", "PATH="+dir+"/bin:", "+ 50))", limit).Replace(text))
	cmd := exec.Command(filepath.Join(dir, "health-check"))
	cmd.Env = []string{"SLURMD_NODENAME=alpha-a3-0"}
	out, err := cmd.CombinedOutput()
	told, _ := os.ReadFile(filepath.Join(dir, "told"))
	assert.Equal(t, len(told) > 0, err != nil, "its status is that of the machine: %s", out)
	return strings.Join(strings.Split(strings.TrimSpace(string(told)), "\n"), " ")
}

func TestHealthCheckDrainsAnUnhealthyNodeWithTheReason(t *testing.T) {
	drained := func(why string) string {
		return "update nodename=alpha-a3-0 state=drain reason=health: " + why + " comment=health: " + why
	}
	assert.Empty(t, checkWith(t, nil), "a healthy one is left alone")
	assert.Equal(t, drained("10-scratch: /scratch is not mounted"), checkWith(t, map[string]string{"mountpoint": "false"}))
	assert.Equal(t, drained("20-gpus: 7 of 8 GPUs"), checkWith(t, map[string]string{"nvidia-smi": "seq 7"}))
	assert.Equal(t, drained("20-gpus: 0 of 8 GPUs"), checkWith(t, map[string]string{"nvidia-smi": "exit 9"}))
	assert.Equal(t, drained("30-dcgm: PCIe: Fail"), checkWith(t, map[string]string{"dcgmi": `echo "PCIe: Fail"`}))
	assert.Equal(t, drained("30-dcgm: failed"), checkWith(t, map[string]string{"dcgmi": "exit 1"}), "dcgmi cannot run")
	assert.Empty(t, checkWith(t, map[string]string{"dcgmi": "exit 1", "pgrep": "true"}), "not under a job")
	assert.Equal(t, drained("20-gpus did not end in time"), checkWith(t, map[string]string{"nvidia-smi": "exec sleep 60"}))
}
