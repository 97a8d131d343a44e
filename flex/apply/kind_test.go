package apply

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
	"slurmflex/test/must"
)

// TestEveryActionIsClassified reports what is still missing for a new action in flex/plan/action.
func TestEveryActionIsClassified(t *testing.T) {
	var types, kinds, cases []string
	executed := []string{ // by Compute, and those of a takedown
		"CreateGroup", "CreateRequest", "CancelRequest", "DeleteRequest", "DeleteInstances", "DeleteGroup", "BulkInsert", "DeleteVMs",
		"CreatePolicy", "DeletePolicy", "ClosePartition", "EndJob", "TellJob",
	}
	for _, about := range found(t, "../plan/action/*.go", `(?s)\nfunc \(a (\w+)\) about\(\).*?(?:subject\(|Kind: )"(\w+)"`) {
		types, kinds = append(types, about[1]), append(kinds, about[2])
	}
	for _, do := range found(t, "hands.go", `\tcase action\.(\w+):`) {
		cases = append(cases, do[1])
	}
	assert.ElementsMatch(t, kinds, append(action.Kinds(), "close_partition", "end_job", "tell_job"), "flex/plan/action/action.go lists the kinds of actions in kinds")
	assert.ElementsMatch(t, types, cases, "Do in flex/apply/hands.go has a case for each type of action")
	for _, by := range found(t, "kind.go", `action\.(\w+)[,:]`) {
		executed = append(executed, by[1])
	}
	assert.ElementsMatch(t, types, executed, "InSlurm in flex/apply/kind.go has the actions that Slurm executes, this test the others")
}

// found returns what an expression matches in files of code.
func found(t *testing.T, pattern, expression string) (matches [][]string) {
	t.Helper()
	files := must.Get(filepath.Glob(pattern))
	for _, name := range files {
		code := must.Text(name)
		if !strings.HasSuffix(name, "_test.go") {
			matches = append(matches, regexp.MustCompile(expression).FindAllStringSubmatch(code, -1)...)
		}
	}
	require.NotEmpty(t, matches)
	return matches
}
