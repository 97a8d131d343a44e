package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// starters lists the functions that start or become another program, by package.
var starters = map[string][]string{
	"exec":    {"Command", "CommandContext"},
	"os":      {"StartProcess"},
	"syscall": {"Exec", "ForkExec", "StartProcess"},
	"unix":    {"Exec"},
}

// shells lists words that would pass a string to a shell.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "env", "xargs", "-c"}

// programs lists where each part of the product starts programs.
var programs = []string{
	"cmd/slurmflex-hook/main.go",        // slurmflex, which it becomes
	"flex/hook/hook.go",                 // a detached pass, and the delegate
	"flex/hook/signals.go",              // this program again
	"mig/gke/slurmflex-fakegke/main.go", // the slurmds of its pods
	"slurm/scontrol/run.go",             // Slurm's commands
}

func TestProgramsAreNotStartedThroughAShell(t *testing.T) {
	var starting []string
	for _, top := range []string{"cmd", "config", "flex", "mig", "slurm"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			if !starts(file) {
				return nil
			}
			starting = append(starting, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
			for _, word := range words(file) {
				assert.False(t, slices.Contains(shells, filepath.Base(word)), "%s starts programs and contains %q", path, word)
			}
			return nil
		})
		require.NoError(t, err)
	}
	slices.Sort(starting)
	assert.Equal(t, programs, starting, "the files that start programs are known")
}

// starts reports whether the file calls or passes on a function that starts a program.
func starts(file *ast.File) (yes bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := s.X.(*ast.Ident); ok && slices.Contains(starters[pkg.Name], s.Sel.Name) {
				yes = true
			}
		}
		return true
	})
	return yes
}

// words returns the strings in the file, and their words.
func words(file *ast.File) (all []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				all = append(all, strings.Fields(text)...)
			}
		}
		return true
	})
	return all
}
