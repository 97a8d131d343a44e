package apply

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
)

// TestEveryActionIsClassified reports what is still missing for a new action in flex/plan/action.
func TestEveryActionIsClassified(t *testing.T) {
	kinds := actionsOfThePlanner(t)
	assert.ElementsMatch(t, slices.Collect(maps.Values(kinds)), action.Kinds(), "flex/plan/action/action.go lists the kinds of actions in kinds")
	for _, kind := range action.Kinds() {
		_, known := inSlurm(kind)
		assert.True(t, known, "inSlurm in flex/apply/kind.go lacks %s", kind)
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(kinds)), casesOfDo(t), "Do in flex/apply/hands.go has a case for each type of action")
}

// actionsOfThePlanner returns the types in flex/plan/action's source that have a method About, with the
// kind that About returns.
func actionsOfThePlanner(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../plan/action/*.go")
	require.NoError(t, err)
	kinds := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, decl := range parse(t, name).Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "About" {
				continue
			}
			receiver, ok := f.Recv.List[0].Type.(*ast.Ident)
			require.True(t, ok, "%s: a method About has a pointer receiver", name)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && kinds[receiver.Name] == "" {
					kinds[receiver.Name], err = strconv.Unquote(text.Value)
					require.NoError(t, err)
				}
				return true
			})
		}
	}
	require.NotEmpty(t, kinds)
	return kinds
}

// casesOfDo returns the types of flex/plan/action that Do executes.
func casesOfDo(t *testing.T) (types []string) {
	t.Helper()
	for _, decl := range parse(t, "hands.go").Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "Do" {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			clause, ok := n.(*ast.CaseClause)
			if !ok {
				return true
			}
			for _, e := range clause.List {
				if of, ok := e.(*ast.SelectorExpr); ok {
					types = append(types, of.Sel.Name)
				}
			}
			return false
		})
	}
	return types
}

func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}
