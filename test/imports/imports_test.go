// Package imports checks the import graph of the design. Each package may reach only those
// packages of this module that its row names. Pure packages may use no network, process or
// clock.
package imports

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayReach has a row for every package of this module except tests, commands and programs in
// scripts.
var mayReach = map[string][]string{
	"slurmflex/slurm":            nil,
	"slurmflex/mig":              nil,
	"slurmflex/config/regular":   nil,
	"slurmflex/config":           {"slurmflex/config/regular"},
	"slurmflex/slurm/scontrol":   {"slurmflex/slurm"},
	"slurmflex/mig/gce":          {"slurmflex/mig", "slurmflex/config/regular"},
	"slurmflex/flex/plan/memo":   nil,
	"slurmflex/flex/plan/scene":  {"slurmflex/flex/plan/memo", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/plan/action": reach("flex/plan/memo"),
	"slurmflex/flex/plan/demand": reach("flex/plan/memo", "flex/plan/scene", "flex/plan/action"),
	"slurmflex/flex/plan/rules":  reach("flex/plan/memo", "flex/plan/scene", "flex/plan/action", "flex/plan/demand"),
	"slurmflex/flex/plan/report": reach("flex/plan/memo", "flex/plan/scene", "flex/plan/action", "flex/plan/demand", "flex/plan/rules"),
	"slurmflex/flex/plan/sweeps": reach("flex/plan/memo", "flex/plan/scene", "flex/plan/action", "flex/plan/demand", "flex/plan/rules", "flex/plan/report"),
	"slurmflex/flex/plan":        reach("flex/plan/memo", "flex/plan/scene", "flex/plan/action", "flex/plan/demand", "flex/plan/rules", "flex/plan/report", "flex/plan/sweeps"),
	"slurmflex/flex/takedown":    {"slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/leader":      {"slurmflex/slurm"},
	"slurmflex/flex/wake":        {"slurmflex/flex/leader", "slurmflex/slurm", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/memory":      {"slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/observe":     {"slurmflex/flex/memory", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/apply":       {"slurmflex/flex/takedown", "slurmflex/flex/memory", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex":             {"slurmflex/flex/observe", "slurmflex/flex/apply", "slurmflex/flex/memory", "slurmflex/flex/leader", "slurmflex/flex/wake", "slurmflex/flex/takedown", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/view":        {"slurmflex/flex/takedown", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/history":     {"slurmflex/flex/view", "slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/door":        {"slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/hook":        {"slurmflex/flex/logs", "slurmflex/flex/view", "slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/estimate":    {"slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/history", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/cost":        {"slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/history", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/budget":      {"slurmflex/flex/cost", "slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/history", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/metrics":     {"slurmflex/flex/cost", "slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/history", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/docs":             nil,
	"slurmflex/flex/web":         {"slurmflex/docs", "slurmflex/flex/ask", "slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/history", "slurmflex/flex/cost", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/slurmconf":   {"slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/check":       {"slurmflex/flex/takedown", "slurmflex/flex/slurmconf", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/scene", "slurmflex/flex/plan/memo", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/slurmgcp":    {"slurmflex/flex/takedown", "slurmflex/flex/check", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/scene", "slurmflex/flex/plan/memo", "slurmflex/flex/slurmconf", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/ask":         {"slurmflex/flex/takedown", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/terminal":    nil,
	"slurmflex/flex/command":     {"slurmflex/flex/terminal", "slurmflex/slurm/scontrol", "slurmflex/flex/view", "slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/systemd":     {"slurmflex/flex", "slurmflex/flex/takedown", "slurmflex/flex/view", "slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/plan/scene", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/flex/logs":        nil,
	"slurmflex/flex/setup":       {"slurmflex/flex/terminal", "slurmflex/flex/slurmconf", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config", "slurmflex/config/regular"},
	"slurmflex/test/fakegce":     nil,
}

// reach returns packages of this module, with the packages of values that all of the planner uses.
func reach(pkgs ...string) (paths []string) {
	for _, pkg := range append(pkgs, "slurm", "mig", "config", "config/regular") {
		paths = append(paths, "slurmflex/"+pkg)
	}
	return paths
}

func TestPackagesImportOnlyWhatTheDesignAllows(t *testing.T) {
	for pkg, allowed := range mayReach {
		for _, whole := range []string{"slurmflex/flex", "slurmflex/flex/plan"} { // and with them what they consist of
			if slices.Contains(allowed, whole) {
				allowed = slices.Concat(allowed, mayReach[whole])
			}
		}
		for _, dep := range deps(t, pkg) {
			if strings.HasPrefix(dep, "slurmflex/") && dep != pkg && !slices.Contains(allowed, dep) {
				t.Errorf("%s reaches %s", pkg, dep)
			}
		}
	}
}

func TestEveryPackageHasARow(t *testing.T) {
	for _, pkg := range lines(t, "list", "slurmflex/...") {
		_, known := mayReach[pkg]
		if !known && !strings.HasPrefix(pkg, "slurmflex/cmd/") && !strings.HasPrefix(pkg, "slurmflex/scripts/") && !strings.HasPrefix(pkg, "slurmflex/test/") {
			t.Errorf("%s is missing in the import graph", pkg)
		}
	}
}

// The packages linked into the hook determine its memory and its run time.
func TestHookLinksNeitherClientNorPlanner(t *testing.T) {
	light := []string{"slurmflex/", "go.uber.org/zap", "go.uber.org/multierr", "golang.org/x/sync/", "golang.org/x/sys/", "go.yaml.in/yaml/v3"}
	for _, dep := range lines(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "slurmflex/cmd/slurmflex-hook") {
		if !slices.ContainsFunc(light, func(prefix string) bool { return strings.HasPrefix(dep, prefix) }) {
			t.Errorf("slurmflex-hook links %s", dep)
		}
	}
	for _, dep := range deps(t, "slurmflex/cmd/slurmflex-hook") {
		if dep == "slurmflex/mig/gce" || dep == "slurmflex/slurm/scontrol" || dep == "slurmflex/flex/plan" {
			t.Errorf("slurmflex-hook links %s", dep)
		}
	}
}

func TestPlannerIsPure(t *testing.T) {
	impure := []string{"net", "net/http", "os/exec", "math/rand", "math/rand/v2"}
	for _, pkg := range []string{"slurmflex/flex/plan", "slurmflex/flex/plan/memo", "slurmflex/flex/takedown", "slurmflex/flex/view", "slurmflex/slurm", "slurmflex/mig"} {
		for _, dep := range deps(t, pkg) {
			if slices.Contains(impure, dep) {
				t.Errorf("%s reaches %s", pkg, dep)
			}
		}
	}
	clock := regexp.MustCompile(`time\.(Now|Since|Until|After|Sleep|NewTimer|NewTicker)\b`)
	for _, file := range lines(t, "list", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`,
		"slurmflex/flex/plan/...", "slurmflex/flex/takedown", "slurmflex/flex/view", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config") {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for n, line := range strings.Split(string(source), "\n") {
			assert.NotRegexp(t, clock, line, "%s:%d reads the clock", file, n+1)
		}
	}
}

func deps(t *testing.T, pkg string) []string { return lines(t, "list", "-deps", pkg) }

// lines returns the non-empty lines that a go command prints.
func lines(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &complaints)
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// Only package memo may parse slurmflex's AdminComments and reasons. All other packages use
// values, and must not derive anything from a sentence.
func TestOnlyMemoReadsOurSentences(t *testing.T) {
	sentence := regexp.MustCompile(`(strings\.(Has|Contains|Cut|Trim|Index)|regexp\.)\w*\(.*(memo\.|\.Told|AdminComment|Obstacle|\bproblem\b|\.Message\b)`)
	trimmed := regexp.MustCompile(`strings\.TrimSuffix\([^,]+, "\."\)`) // removes a final full stop
	for _, file := range lines(t, "list", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`, "slurmflex/flex/...", "slurmflex/cmd/...") {
		if strings.Contains(file, "/flex/plan/memo/") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for n, line := range strings.Split(string(source), "\n") {
			assert.NotRegexp(t, sentence, trimmed.ReplaceAllString(line, ""), "%s:%d reads a sentence", file, n+1)
		}
	}
}
