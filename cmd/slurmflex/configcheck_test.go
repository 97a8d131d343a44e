package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// updateGolden in the environment rewrites the golden files: UPDATE=1 go test.
const updateGolden = "UPDATE"

// requireGolden compares a text with a golden file.
func requireGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv(updateGolden) != "" {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.Equal(t, must.Text(path), text)
}

// within replaces the world's folder and Compute's address in a text.
func (w *world) within(text string) string {
	text = strings.ReplaceAll(text, w.dir+"/", "")
	return regexp.MustCompile(`http://127\.0\.0\.1:\d+`).ReplaceAllString(text, "ENDPOINT")
}

func TestValidConfigurationPrintsOneLine(t *testing.T) {
	w := newWorld(t)
	r := w.runs("config", "check")
	r.printed(w.path("config.yaml") + ": OK: cluster alpha: slurmflex provisions 1 of 1 nodeset\n")
	r.isQuiet()
	assert.Empty(t, w.cloud.Calls())
	assert.Empty(t, w.calls())
	w.configure("{use_job_duration: true}", "{use_job_duration: true, job_duration_margin: 0}")
	assert.Equal(t, `config.yaml:13: nodeset.a3.dws_flex.job_duration_margin: advice: the lease starts before the job does, so a lease equal to the time limit ends too early; set this to 600 (longer than a boot)
config.yaml: OK: cluster alpha: slurmflex provisions 1 of 1 nodeset
`, w.within(w.prints("config", "check")))
	w.configure("dws_flex: {use_job_duration: true, job_duration_margin: 0}", "capacity: spot")
	assert.Contains(t, w.prints("config", "check"), "slurmflex provisions 1 of 1 nodeset\n")
}

func TestLimitOnCostNeedsPrices(t *testing.T) {
	w := newWorld(t)
	w.configure("slurmflex:\n", "slurmflex:\n  limits: {bio: {user: ada, cost: 5}}\n")
	r := w.rejects("config", "check")
	assert.Regexp(t, `^config.yaml:\d+: slurmflex.limits.bio.cost: holds no job back: read prices: open prices.yaml: no such file or directory; write the prices, or limit gpu_hours\n$`, w.within(r.stderr.String()))
	require.NoError(t, os.WriteFile(w.path("prices.yaml"), []byte("currency: USD\nmachines: {a3-highgpu-8g: {flex: 1}}\n"), 0o644))
	w.runs("config", "check")
}

func TestSlurmGCPConfigIsValidAndIgnoredKeysAreListed(t *testing.T) {
	const path = "../../config/testdata/slurm-gcp.yaml"
	r := prepare(t, nil, os.Args[0], "config", "check", "--config", path).exits(exitDone)
	assert.Regexp(t, `(?m)^`+path+`:\d+: \S+: ignored \(slurmflex does not use this key\)$`, r.stdout.String())
	r.shows("\n" + path + ": OK: cluster hpc: slurmflex provisions 3 of 6 nodesets\n")
}

func TestFromSlurmGCPPrintsAdditions(t *testing.T) {
	r := prepare(t, nil, os.Args[0], "config", "from-slurm-gcp", "../../config/testdata/slurm-gcp.yaml").exits(exitDone)
	r.isQuiet()
	r.shows("slurmflex will provision a3mega, g2static, h4dlegacy.\n# slurm-gcp's scripts keep cpu, dyn, v4.")
	r.shows("resume_program: /slurm/scripts/resume_wrapper.sh\n")
}
