package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/slurmconf"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// U14
func TestFallbackWantsJobSubmit(t *testing.T) {
	written := func(text string) string {
		cfg, err := config.Parse("c.yaml", []byte(text))
		require.NoError(t, err)
		known, _ := mig.KnownMachine("a3-highgpu-8g")
		machine := slurmconf.Machine{MachineType: known, Source: "here"}
		text, err = slurmconf.JobSubmit(slurmconf.Input{Config: cfg, Machines: map[string]slurmconf.Machine{"a3": machine, "one": machine}}, nil)
		require.NoError(t, err)
		return text
	}
	falls := strings.Replace(right, "job_duration_margin: 600", "job_duration_margin: 600, fallback_after: 600", 1)
	for name, c := range map[string]struct {
		plugins string
		lua     string // empty: there is no file
		of      string // the configuration
		want    string // part of the advice; empty: there is none
	}{
		"no plugin":                  {plugins: "(null)", of: falls, lua: written(falls), want: "because Slurm runs no job_submit.lua; run slurmflex config lua job_submit --output "},
		"another plugin":             {plugins: "all_partitions", of: falls, want: "set JobSubmitPlugins=lua"},
		"no file":                    {plugins: "lua", of: falls, want: "job_submit.lua does not exist; run slurmflex config lua"},
		"another file":               {plugins: "lua", of: falls, lua: "-- ours\n", want: "job_submit.lua does not call slurmflex's"},
		"one that calls slurmflex's": {plugins: "require_timelimit,lua", of: falls, lua: "dofile(\"/etc/slurm/slurmflex.lua\")\n"},
		"one of before":              {plugins: "lua", of: falls, lua: written(right), want: "was written without fallback_after; run slurmflex config lua"},
		"the right one":              {plugins: "lua", of: falls, lua: written(falls)},
		"no fallback_after":          {plugins: "(null)", of: right},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.lua != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "job_submit.lua"), []byte(c.lua), 0o644))
			}
			cfg, err := config.Parse("c.yaml", []byte(c.of))
			require.NoError(t, err)
			s := controller{config: slurm.Config{"SLURM_CONF": filepath.Join(dir, "slurm.conf"), "JobSubmitPlugins": c.plugins}}
			advice := keys(Compare(cfg, Observe(t.Context(), cfg, s, &cloud{}, time.Now)), Advice)["nodeset.a3.dws_flex.fallback_after"]
			if c.want == "" {
				assert.Empty(t, advice)
			} else {
				assert.Contains(t, advice, c.want)
			}
		})
	}
}
