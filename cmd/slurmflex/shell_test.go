package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// starts matches the functions that start or become another program.
	starts = regexp.MustCompile(`\b(exec\.Command|os\.StartProcess|syscall\.(Exec|ForkExec|StartProcess)|unix\.Exec\()`)
	// shell matches strings with a word that would pass a text to a shell.
	shell = regexp.MustCompile("[\"` /](sh|bash|dash|ash|zsh|env|xargs|-c)[\"` ]")
)

func TestProgramsAreNotStartedThroughAShell(t *testing.T) {
	var starting []string
	for _, top := range []string{"cmd", "config", "flex", "mig", "slurm"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			if starts.Match(code) {
				starting = append(starting, strings.TrimPrefix(path, "../../"))
				assert.NotRegexp(t, shell, string(code), path)
			}
			return err
		}))
	}
	assert.Equal(t, []string{
		"cmd/slurmflex-hook/main.go",        // slurmflex, which it becomes
		"flex/hook/hook.go",                 // a detached pass, and the delegate
		"flex/hook/signals.go",              // this program again
		"mig/gke/slurmflex-fakegke/main.go", // the slurmds of its pods
		"slurm/scontrol/run.go",             // Slurm's commands
	}, starting)
}
