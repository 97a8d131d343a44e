package packages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/config"
)

// contents returns the sources of the files that the packages install, with their targets.
func contents(t *testing.T) map[string]string {
	t.Helper()
	var nfpm struct{ Contents []struct{ Src, Dst string } }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "../../scripts/package/nfpm.yaml")), &nfpm))
	dst := map[string]string{}
	for _, c := range nfpm.Contents {
		dst[c.Src] = c.Dst
	}
	return dst
}

func TestPackagesContainEveryFileToInstall(t *testing.T) {
	dst := contents(t)
	for _, folder := range []string{"cron", "logrotate", "systemd"} {
		files, err := os.ReadDir(filepath.Join("../../scripts", folder))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			assert.Contains(t, dst, "scripts/"+folder+"/"+file.Name())
		}
	}
	for _, src := range []string{"scripts/resume", "scripts/diag", "scripts/health-check", "scripts/prometheus/slurmflex.rules.yaml", "scripts/grafana/slurmflex.json", "LICENSE"} {
		assert.Contains(t, dst, src)
		assert.FileExists(t, filepath.Join("../..", src))
	}
}

func TestPackagesContainTheToolkitModule(t *testing.T) {
	dst := contents(t)
	assert.Equal(t, "/usr/share/slurmflex/toolkit/slurmflex/", dst["scripts/toolkit/slurmflex/*"])
	assert.Equal(t, "/usr/share/slurmflex/toolkit/example.yaml", dst["scripts/toolkit/example.yaml"])
}

func TestPackagesIncludeBillOfMaterialsAndNotices(t *testing.T) {
	dst := contents(t)
	assert.Equal(t, "/usr/share/doc/slurmflex/bom.cdx.json", dst["${STAGE}/bom.cdx.json"])
	assert.Equal(t, "/usr/share/doc/slurmflex/third-party-notices.gz", dst["${STAGE}/third-party-notices.gz"])
}

func TestExampleConfigurationIsValid(t *testing.T) {
	cfg, err := config.Load("../../scripts/package/config.yaml")
	require.NoError(t, err)
	assert.Equal(t, []string{"us-central1"}, cfg.FlexRegions())
}
