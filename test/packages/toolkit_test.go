package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/config"
)

const toolkit = "../../scripts/cluster-toolkit"

func TestTailAdaptsSlurmGCPsConfiguration(t *testing.T) {
	theirs := read(t, "../../config/testdata/slurm-gcp.yaml")
	require.NotContains(t, theirs, "\nslurmflex:")
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(theirs+read(t, filepath.Join(toolkit, "config.tail"))), 0o600))
	cfg, err := config.Load(path)
	require.NoError(t, err)
	assert.Equal(t, config.Delegate{
		ResumeProgram: "/slurm/scripts/resume_wrapper.sh", SuspendProgram: "/slurm/scripts/suspend_wrapper.sh",
	}, cfg.Options.Delegate)
	assert.NotEmpty(t, cfg.FlexRegions())
}

func TestSlurmConfTailNamesInstalledFiles(t *testing.T) {
	nfpm := read(t, "../../scripts/package/nfpm.yaml")
	lines := 0
	for line := range strings.Lines(read(t, filepath.Join(toolkit, "slurm.conf.tail"))) {
		key, path, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "#") {
			continue
		}
		lines++
		assert.True(t, strings.HasSuffix(key, "Program"), line)
		assert.Contains(t, nfpm, "dst: "+path+"\n")
	}
	assert.Equal(t, 3, lines)
}

func TestBlueprintFragmentHasTheDocumentedModules(t *testing.T) {
	var modules []struct {
		ID, Source string
		Use        []string
		Settings   map[string]any
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(toolkit, "slurmflex.yaml"))), &modules))
	text := read(t, "../../docs/migrate.md")
	for _, m := range modules {
		for setting := range m.Settings {
			switch setting {
			case "name", "machine_type", "node_count_dynamic_max", "partition_name": // set by any cluster
			default:
				assert.Contains(t, text, "| `"+setting+"` |", m.ID)
			}
		}
	}
	require.Len(t, modules, 3)
	assert.Contains(t, modules[2].Settings["controller_startup_script"], "systemctl enable --now slurmflex")
}
