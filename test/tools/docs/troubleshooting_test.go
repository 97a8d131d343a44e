package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const runbook = "../../../docs/troubleshooting.md"

func TestRunbookNamesOnlyLoggedMessages(t *testing.T) {
	assertPrinted(t, messages(t, 0, isLogged), entries(t, "log messages"))
}

func TestRunbookNamesOnlyProblemsOfPlans(t *testing.T) {
	assertPrinted(t, messages(t, 2, isProblem), entries(t, "problems"))
}

func TestRunbookNamesOnlyActionsThatExist(t *testing.T) {
	assertPrinted(t, actions(t), entries(t, "actions"))
}

func TestEntryCoversTextsThatStartLikeIt(t *testing.T) {
	assert.True(t, covers("node … is DOWN, …", "node … is DOWN, and its machine runs"))
	assert.True(t, covers("… waits: …", "… waits: …"))
	assert.False(t, covers("node … is DOWN", "node … is DOWN, and its machine runs"))
	assert.False(t, covers("node … is DOWN, …", "job … is DOWN, and its machine runs"))
}

// assertPrinted checks that each entry covers a text.
func assertPrinted(t *testing.T, texts, entries []string) {
	t.Helper()
	for _, entry := range entries {
		assert.True(t, slices.ContainsFunc(texts, func(text string) bool { return covers(entry, text) }), "nothing prints %q", entry)
	}
}

// covers reports whether an entry is the text, or the start of the text before a final "…".
func covers(entry, text string) bool {
	start, open := strings.CutSuffix(entry, "…")
	return entry == text || open && strings.Trim(start, "… ") != "" && strings.HasPrefix(text, start)
}

// actions returns the names of the planner's actions.
func actions(t *testing.T) []string {
	t.Helper()
	acts, said := make(map[string]bool), make(map[string]string)
	for _, file := range sources(t, "../../../flex/plan") {
		for _, d := range file.Decls {
			method, ok := d.(*ast.FuncDecl)
			if !ok || method.Recv == nil {
				continue
			}
			of, ok := method.Recv.List[0].Type.(*ast.Ident)
			switch {
			case !ok:
			case method.Name.Name == "About":
				acts[of.Name] = true
			case method.Name.Name == "String":
				said[of.Name] = firstWords(method.Body)
			}
		}
	}
	var all []string
	for name := range acts {
		all = append(all, said[name])
	}
	require.NotEmpty(t, all)
	slices.Sort(all)
	return slices.Compact(all)
}

// firstWords returns the first text in a function.
func firstWords(of ast.Node) (words string) {
	ast.Inspect(of, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if ok && words == "" && strings.Trim(wording(e), "… ") != "" {
			words = wording(e)
		}
		return words == ""
	})
	return words
}

var (
	firstCell = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|")
	quoted    = regexp.MustCompile("`([^`]+)`")
)

// entries returns the texts in the first cells of the table below a mark in the runbook.
func entries(t *testing.T, mark string) []string {
	t.Helper()
	text, err := os.ReadFile(runbook)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "<!-- "+mark+" -->\n")
	require.True(t, found, "the runbook lacks mark %q", mark)
	table, _, _ := strings.Cut(rest, "\n\n")
	var all []string
	for _, row := range firstCell.FindAllStringSubmatch(table, -1) {
		for _, text := range quoted.FindAllStringSubmatch(row[1], -1) {
			all = append(all, text[1])
		}
	}
	require.NotEmpty(t, all)
	return all
}

// isLogged reports whether a call logs an error or a warning.
func isLogged(receiver, method string) bool {
	return (method == "Error" || method == "Warn") && (receiver == "log" || receiver == "Log")
}

// isProblem reports whether a call adds a problem to a plan.
func isProblem(_, method string) bool {
	return method == "NewProblem" || method == "leaveAlone"
}

// messages returns the texts of all matching calls in the source, sorted and without
// duplicates. The text is the argument at index at. "…" replaces the variable parts. Texts
// without words of their own are omitted.
func messages(t *testing.T, at int, is func(receiver, method string) bool) []string {
	t.Helper()
	var all []string
	for _, file := range sources(t, "../../..") {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > at && is(called(call)) {
				if m := wording(call.Args[at]); strings.Trim(m, "…: ") != "" {
					all = append(all, m)
				}
			}
			return true
		})
	}
	require.NotEmpty(t, all)
	slices.Sort(all)
	return slices.Compact(all)
}

// sources returns the files below a folder that are part of the programs.
func sources(t *testing.T, folder string) []*ast.File {
	t.Helper()
	var all []*ast.File
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"test", "build", ".git"}, d.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		all = append(all, file)
		return err
	})
	require.NoError(t, err)
	return all
}

// called returns the last name of a call's receiver, and its method.
func called(call *ast.CallExpr) (receiver, method string) {
	if function, ok := call.Fun.(*ast.Ident); ok {
		return "", function.Name
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	switch of := function.X.(type) {
	case *ast.Ident:
		receiver = of.Name
	case *ast.SelectorExpr:
		receiver = of.Sel.Name
	}
	return receiver, function.Sel.Name
}

var verb = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z]`)

// wording returns the text of an expression, with "…" for variable parts.
func wording(of ast.Expr) string {
	switch e := of.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return verb.ReplaceAllString(text, "…")
		}
	case *ast.BinaryExpr:
		return wording(e.X) + wording(e.Y)
	case *ast.CallExpr:
		if _, method := called(e); method == "Sprintf" && len(e.Args) > 0 {
			return wording(e.Args[0])
		}
	}
	return "…"
}
