package packages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/config"
	"slurmflex/test/must"
)

func TestPackagesContainEveryFileToInstall(t *testing.T) {
	var nfpm struct{ Contents []struct{ Src string } }
	require.NoError(t, yaml.Unmarshal([]byte(must.Text("../../scripts/package/nfpm.yaml")), &nfpm))
	var sources []string
	for _, c := range nfpm.Contents {
		sources = append(sources, c.Src)
	}
	for _, folder := range []string{"cron", "logrotate", "systemd"} {
		files := must.Get(os.ReadDir(filepath.Join("../../scripts", folder)))
		require.NotEmpty(t, files)
		for _, file := range files {
			assert.Contains(t, sources, "scripts/"+folder+"/"+file.Name())
		}
	}
	for _, src := range []string{"scripts/resume", "scripts/diag", "scripts/health-check", "scripts/prometheus/slurmflex.rules.yaml", "scripts/grafana/slurmflex.json", "scripts/toolkit/slurmflex/*", "scripts/toolkit/example.yaml", "LICENSE", "${STAGE}/bom.cdx.json", "${STAGE}/third-party-notices.gz"} {
		assert.Contains(t, sources, src)
	}
}

func TestExampleConfigurationIsValid(t *testing.T) {
	cfg, err := config.Load("../../scripts/package/config.yaml")
	require.NoError(t, err)
	assert.Equal(t, []string{"us-central1"}, cfg.FlexRegions())
}
