// Package imports checks the import graph of the design. Each package may reach only those
// packages of this module that its row names. Pure packages may use no network, process or
// clock.
package imports

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// mayReach has a row for every package of this module except tests, commands and programs in
// scripts. A package may reach the packages of its row, and what these may reach.
var mayReach = map[string][]string{
	"slurm":            nil,
	"mig":              nil,
	"config/regular":   nil,
	"config":           {"config/regular"},
	"slurm/scontrol":   {"slurm"},
	"mig/gce":          {"mig", "config/regular"},
	"flex/plan/memo":   nil,
	"flex/plan/scene":  {"config", "mig", "flex/plan/memo", "slurm"},
	"flex/plan/action": {"config", "mig", "flex/plan/memo", "slurm"},
	"flex/plan/demand": {"flex/plan/scene", "flex/plan/action"},
	"flex/plan/rules":  {"flex/plan/demand"},
	"flex/plan/report": {"flex/plan/rules"},
	"flex/plan/sweeps": {"flex/plan/report"},
	"flex/plan":        {"flex/plan/sweeps"},
	"flex/takedown":    {"flex/plan"},
	"flex/leader":      {"slurm"},
	"flex/wake":        {"flex/leader", "config"},
	"flex/memory":      {"flex/plan"},
	"flex/observe":     {"flex/memory"},
	"flex/apply":       {"flex/memory"},
	"flex":             {"flex/apply", "flex/observe", "flex/takedown", "flex/wake"},
	"flex/view":        {"flex/takedown"},
	"flex/history":     {"flex", "flex/view"},
	"flex/hook":        {"flex"},
	"flex/estimate":    {"flex/history"},
	"flex/cost":        {"flex/history"},
	"flex/metrics":     {"flex/cost"},
	"docs":             nil,
	"flex/web":         {"flex/cost", "docs"},
	"flex/ask":         {"flex/view"},
	"flex/terminal":    nil,
	"flex/logs":        nil,
	"flex/setup":       {"flex/view", "flex/terminal"},
	"test/fakegce":     nil,
}

const module = "slurmflex/"

// reachable reports whether a package may reach another one.
func reachable(from, to string) bool {
	return slices.ContainsFunc(mayReach[from], func(pkg string) bool { return pkg == to || reachable(pkg, to) })
}

func TestPackagesImportOnlyWhatTheDesignAllows(t *testing.T) {
	for pkg := range mayReach {
		for _, path := range deps(t, module+pkg) {
			if dep, ours := strings.CutPrefix(path, module); ours && dep != pkg && !reachable(pkg, dep) {
				t.Errorf("%s reaches %s", pkg, dep)
			}
		}
	}
}

func TestEveryPackageHasARow(t *testing.T) {
	outside := regexp.MustCompile(`^(cmd|scripts|test)/`)
	for _, path := range lines(t, "list", module+"...") {
		pkg := strings.TrimPrefix(path, module)
		if _, known := mayReach[pkg]; !known && !outside.MatchString(pkg) {
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
	eachLine(t, func(place, line string) { assert.NotRegexp(t, clock, line, "%s reads the clock", place) },
		"slurmflex/flex/plan/...", "slurmflex/flex/takedown", "slurmflex/flex/view", "slurmflex/slurm", "slurmflex/mig", "slurmflex/config")
}

// eachLine visits the lines of packages without their tests.
func eachLine(t *testing.T, visit func(place, line string), packages ...string) {
	t.Helper()
	format := `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`
	for _, file := range lines(t, append([]string{"list", "-f", format}, packages...)...) {
		for n, line := range strings.Split(must.Text(file), "\n") {
			visit(fmt.Sprintf("%s:%d", file, n+1), line)
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
	eachLine(t, func(place, line string) {
		if !strings.Contains(place, "/flex/plan/memo/") {
			assert.NotRegexp(t, sentence, trimmed.ReplaceAllString(line, ""), "%s reads a sentence", place)
		}
	}, "slurmflex/flex/...", "slurmflex/cmd/...")
}
