package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTerminalShowsTheProgress(t *testing.T) {
	for _, command := range []string{"sync", "gc", "plan", "config check --live", "status", "why 812", "block a3", "unblock a3"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.answer(t, "squeue", "while [ ! -e DIR/go ]; do sleep 0.05; done; cat DIR/jobs")
			w.answer(t, "scontrol", "while [ ! -e DIR/go ]; do sleep 0.05; done\n"+knowing)
			term := newTerminal(t, 24, 80)
			r := w.flex(t, strings.Fields(command)...)
			r.Stderr = term.tty
			require.NoError(t, r.Start())
			since := regexp.MustCompile(`, [1-9][0-9ms]* …`) // a busy machine may skip the first second
			require.Eventually(t, func() bool { return since.MatchString(term.shown()) }, slack, poll)
			assert.Contains(t, term.shown(), "ing Slurm")
			assert.NotContains(t, term.shown(), "\n", "it is one line")
			w.write(t, "go", "")
			_ = r.Wait() // the outcome does not matter
			assert.NotContains(t, r.stdout.String(), "…", "it is not in the way of a pipe")
			require.Eventually(t, func() bool { return strings.Contains(term.shown(), "…\r"+clearLine) }, slack, poll, "it is taken away")
		})
	}
}
