package packages

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/config"
	"slurmflex/test/must"
)

const module = "../../scripts/toolkit/slurmflex"

// terraform runs Terraform in a folder.
func terraform(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-chdir=" + dir}, args...)...)
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s%s", err, out, &stderr)
	}
	return string(out), err
}

type outputs struct {
	Template string
	Script   string
	Runner   map[string]string
}

// applied applies the module without role.tf and versions.tf, which need a provider. The cluster is
// that of slurm-gcp.yaml. It leaves out settings that are nil.
func applied(t *testing.T, settings map[string]any) (o outputs, err error) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"main.tf", "variables.tf", "outputs.tf", "install.sh"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(must.Text(filepath.Join(module, name))), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "slurm.conf.tpl"), []byte("ClusterName={name}\ninclude cloud.conf"), 0o600))
	all := map[string]any{
		"project_id": "p", "package": "gs://b/slurmflex_1.0.0-1_amd64.deb", "slurm_conf_tpl": "slurm.conf.tpl",
		"nodeset": []any{
			map[string]any{"nodeset_name": "a3mega", "dws_flex": map[string]any{"enabled": true}, "machine_type": "a3-megagpu-8g"},
			map[string]any{"nodeset_name": "cpu", "dws_flex": map[string]any{"enabled": false}},
		},
		"partitions": []any{map[string]any{"partition_name": "train", "partition_nodeset": []string{"a3mega"}}},
	}
	for key, value := range settings {
		all[key] = value
	}
	vars := must.Get(json.Marshal(all))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "terraform.tfvars.json"), vars, 0o600))
	if _, err := terraform(t, dir, "apply", "-auto-approve", "-no-color"); err != nil {
		return o, err
	}
	out, err := terraform(t, dir, "output", "-json")
	require.NoError(t, err)
	var values map[string]struct{ Value json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(out), &values))
	require.NoError(t, json.Unmarshal(values["slurm_conf_template"].Value, &o.Template))
	require.NoError(t, json.Unmarshal(values["controller_startup_script"].Value, &o.Script))
	require.NoError(t, json.Unmarshal(values["controller_runner"].Value, &o.Runner))
	return o, nil
}

// installed runs the module's script, and the first and third command of its unit, on a controller
// with programs that only write their arguments to a file.
func installed(t *testing.T, script string) (cfg *config.Config, calls string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"bin", "etc/slurmflex", "etc/systemd/system", "slurm/scripts"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o750))
	}
	for _, name := range []string{"apt-get", "dnf", "gcloud", "curl", "systemctl"} {
		text := fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >>%s/calls\n", name, root)
		require.NoError(t, os.WriteFile(filepath.Join(root, "bin", name), []byte(text), 0o700)) //nolint:gosec // a program
	}
	theirs := must.Text("../../config/testdata/slurm-gcp.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(root, "slurm/scripts/config.yaml"), []byte(theirs), 0o600))
	here := func(text string) string {
		return regexp.MustCompile(`([ =>])/(etc|slurm)/`).ReplaceAllString(text, "${1}"+root+"/$2/")
	}
	bash := func(text string) {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", here(text))
		cmd.Env = append(os.Environ(), "PATH="+root+"/bin:"+os.Getenv("PATH"))
		cmd.Dir = filepath.Join(root, "etc/slurmflex")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	bash(script)
	unit := must.Text(filepath.Join(root, "etc/systemd/system/slurmflex-config.service"))
	commands := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindAllStringSubmatch(unit, -1)
	require.Len(t, commands, 4)
	bash(commands[0][1])
	require.Contains(t, commands[1][1], "config.yaml.new config check")
	bash(commands[2][1])
	cfg, err := config.Load(filepath.Join(root, "etc/slurmflex/config.yaml"))
	require.NoError(t, err)
	return cfg, must.Text(filepath.Join(root, "calls"))
}

func TestToolkitModuleConfiguresTheCluster(t *testing.T) {
	o, err := applied(t, map[string]any{
		"slurmflex":        map[string]any{"interval": "1m"},
		"nodeset_settings": map[string]any{"a3mega": map[string]any{"dws_flex": map[string]any{"boot_timeout": 3600}}},
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"type": "shell", "destination": "slurmflex.sh", "content": o.Script}, o.Runner)

	cfg, calls := installed(t, o.Script)
	assert.Contains(t, calls, "gcloud storage cp gs://b/slurmflex_1.0.0-1_amd64.deb ")
	assert.Regexp(t, `apt-get install -y .*/slurmflex_1.0.0-1_amd64.deb\n`, calls)
	assert.Regexp(t, `(?s)enable --now slurmflex-config.path\n.*start slurmflex-config.service\n.*enable --now slurmflex.service\n$`, calls)
	assert.Equal(t, config.Configuring, cfg.Options.Waiting, "slurmsync deletes the machines of PENDING jobs")
	assert.Equal(t, config.Delegate{
		ResumeProgram: "/slurm/scripts/resume_wrapper.sh", SuspendProgram: "/slurm/scripts/suspend_wrapper.sh",
	}, cfg.Options.Delegate)
	assert.Equal(t, time.Minute, cfg.Options.Interval)
	for _, set := range cfg.NodeSets {
		if set.Name == "a3mega" {
			assert.Equal(t, time.Hour, set.Flex.BootTimeout)
			assert.NotEmpty(t, set.Template, "slurm-gcp's")
		}
	}

	lines := strings.Split(o.Template, "\n")
	assert.Equal(t, []string{"ClusterName={name}", "include cloud.conf"}, lines[:2])
	require.Len(t, lines, 6)
	nfpm := must.Text("../../scripts/package/nfpm.yaml")
	for _, line := range lines[2:5] {
		key, path, _ := strings.Cut(line, "=")
		assert.True(t, strings.HasSuffix(key, "Program"), line)
		assert.Contains(t, nfpm, "dst: "+path+"\n")
	}
}

func TestToolkitModuleWithoutHooksOnlyInstalls(t *testing.T) {
	o, err := applied(t, map[string]any{"hooks": false, "package": "https://h/slurmflex-1.0.0-1.x86_64.rpm", "slurm_conf_tpl": nil, "slurm_conf_template": "theirs\n"})
	require.NoError(t, err)
	assert.Equal(t, "theirs\n", o.Template)
	_, calls := installed(t, o.Script)
	assert.Contains(t, calls, "curl ")
	assert.Contains(t, calls, "dnf install -y ")
	assert.NotContains(t, calls, "slurmflex.service")
}

func TestToolkitModuleRefusesMistakes(t *testing.T) {
	for want, settings := range map[string]map[string]any{
		"Set either slurm_conf_tpl or slurm_conf_template":     {"slurm_conf_tpl": nil},
		"No partition has a nodeset with dws_flex or capacity": {"partitions": []any{}},
		"nodeset_settings names nodesets that no partition":    {"nodeset_settings": map[string]any{"a4": map[string]any{}}},
		"package must be a gs:// or https:// address":          {"package": "slurmflex.deb"},
	} {
		_, err := applied(t, settings)
		require.Error(t, err, want)
		assert.Contains(t, strings.Join(strings.Fields(err.Error()), " "), want)
	}
}

// blocks returns the names and bodies of a file's variables or outputs.
func blocks(t *testing.T, file string) [][]string {
	t.Helper()
	found := regexp.MustCompile(`(?s)(?:variable|output) "(\w+)" \{(.*?)\n\}`).FindAllStringSubmatch(must.Text(filepath.Join(module, file)), -1)
	require.NotEmpty(t, found)
	return found
}

func TestToolkitREADMEListsVariablesAndOutputs(t *testing.T) {
	description := regexp.MustCompile(`description += "(.*)"`)
	byDefault := regexp.MustCompile(`(?m)^  default +=.(.*)$`)
	var variables, outputs strings.Builder
	for _, b := range blocks(t, "variables.tf") {
		is := "required"
		if m := byDefault.FindStringSubmatch(b[2]); m != nil {
			is = "`" + m[1] + "`"
		}
		fmt.Fprintf(&variables, "| `%s` | %s | %s |\n", b[1], description.FindStringSubmatch(b[2])[1], is)
	}
	for _, b := range blocks(t, "outputs.tf") {
		fmt.Fprintf(&outputs, "| `%s` | %s |\n", b[1], description.FindStringSubmatch(b[2])[1])
	}
	readme := must.Text(filepath.Join(module, "README.md"))
	assert.Contains(t, readme, "\n| variable | meaning | default |\n|---|---|---|\n"+variables.String()+"\n")
	assert.Contains(t, readme, "\n| output | use |\n|---|---|\n"+outputs.String()+"\n")
}

func TestToolkitExampleSetsTheModulesVariables(t *testing.T) {
	var blueprint struct {
		Groups []struct {
			Modules []struct {
				ID, Source string
				Use        []string
				Settings   map[string]any
			}
		} `yaml:"deployment_groups"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(must.Text("../../scripts/toolkit/example.yaml")), &blueprint))
	declared := map[string]bool{}
	for _, b := range blocks(t, "variables.tf") {
		declared[b[1]] = true
	}
	modules := blueprint.Groups[0].Modules
	ours, controller := modules[len(modules)-2], modules[len(modules)-1]
	assert.Equal(t, "./"+filepath.Base(module), ours.Source)
	for key := range ours.Settings {
		assert.True(t, declared[key], key)
	}
	assert.Subset(t, controller.Use, append(ours.Use, ours.ID))
}
