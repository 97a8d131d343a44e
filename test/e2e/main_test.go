//go:build e2e

// Package e2e tests whole clusters: real slurmctld, slurmd and scontrol, the built slurmflex, and
// the fake Compute API. Run it with `make e2e`.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// The counters of the closing line.
var passed, failed, skipped atomic.Int32

func TestMain(m *testing.M) {
	code := m.Run()
	if passed.Load()+failed.Load()+skipped.Load() == 0 {
		fmt.Println("e2e: no scenario was run")
		os.Exit(max(code, 1))
	}
	slurm, _ := lab.SlurmVersion(context.Background())
	closing := fmt.Sprintf("e2e: Slurm %s: %d passed, %d failed", slurm, passed.Load(), failed.Load())
	if n := skipped.Load(); n > 0 {
		closing += fmt.Sprintf(", %d skipped", n)
	}
	fmt.Println(closing)
	os.Exit(code)
}

// cluster starts a lab for one scenario, beside those of other scenarios.
func cluster(t *testing.T, o lab.Options) *lab.Lab {
	t.Parallel()
	choose(t)
	return counted(t, o)
}

// withDaemon starts a lab with a daemon and further nodesets for one scenario.
func withDaemon(t *testing.T, more ...lab.NodeSet) *lab.Lab {
	return cluster(t, lab.Options{Daemon: true, NodeSets: more})
}

// counted starts a lab for one scenario, counts its result, and keeps its logs if it fails. It
// skips a scenario that needs accounting if slurmdbd cannot start on this host.
func counted(t *testing.T, o lab.Options) *lab.Lab {
	l, err := start(t, o)
	t.Cleanup(func() {
		if t.Skipped() {
			skipped.Add(1)
			l.Remove()
			return
		}
		if t.Failed() {
			for _, question := range [][]string{{"scontrol", "-o", "show", "jobs"}, {"scontrol", "-o", "show", "reservation"}, {"sinfo", "-N", "-O", "NodeList,StateLong,Reason"}} {
				shown, err := l.Slurm(context.Background(), question[0], question[1:]...)
				t.Logf("--- %s: %v\n%s", strings.Join(question, " "), err, shown)
			}
			l.Stop()
			failed.Add(1)
			t.Logf("logs are in %s", l.Log(""))
			for _, name := range []string{"daemon.log", "slurmflex.log", "fakegce.log"} {
				text, _ := os.ReadFile(l.Log(name))
				t.Logf("--- %s\n%s", name, tail(string(text), 60))
			}
			return
		}
		passed.Add(1)
		l.Remove()
	})
	if none := (*lab.UnavailableError)(nil); errors.As(err, &none) {
		t.Skip(none)
	}
	require.NoError(t, err)
	return l
}

func start(t *testing.T, o lab.Options) (*lab.Lab, error) {
	t.Helper()
	stage := os.Getenv("E2E_STAGE")
	require.NotEmpty(t, stage, "run scripts/e2e, which builds what the scenarios need")
	o.Build, o.Scripts, o.Name = stage, filepath.Join(stage, "scripts"), "e2e"
	return lab.Start(context.Background(), o)
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func readFile(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}
