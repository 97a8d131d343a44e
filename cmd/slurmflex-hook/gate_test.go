package main

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/flex"
)

// gates hand over the gates that arrive.
type gates chan arrival

type arrival struct {
	conn net.Conn
	call flex.WakeUp
}

func (g gates) Arrive(conn net.Conn, call flex.WakeUp) { g <- arrival{conn, call} }

// gated is a world with the wrapper and a daemon that holds gates.
func gated(t *testing.T) (*world, gates) {
	t.Helper()
	w, g := newWorld(t), make(gates, 1)
	wrapper, err := os.ReadFile("../../scripts/gate")
	require.NoError(t, err)
	w.write(t, "gate", string(wrapper), 0o755)
	_, err = flex.Listen(t.Context(), flex.SocketPath(w.path("run")), "alpha", zap.NewNop(), g)
	require.NoError(t, err)
	return w, g
}

func gateEnv(more ...string) []string {
	return append([]string{beProgram, "SLURM_JOB_ID=812", "SLURM_JOB_NODELIST=alpha-a3-[0-1]", "SLURM_HET_JOB_ID=811"}, more...)
}

// arrive runs the gate; what comes is its exit code.
func arrive(t *testing.T, w *world) <-chan int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.path("gate"))
	cmd.Env = gateEnv()
	require.NoError(t, cmd.Start())
	code := make(chan int, 1)
	go func() {
		_ = cmd.Wait() // its exit code is what counts
		code <- cmd.ProcessState.ExitCode()
	}()
	return code
}

func TestTheGateWaitsUntilTheDaemonOpensIt(t *testing.T) {
	w, arrivals := gated(t)
	code := arrive(t, w)
	a := <-arrivals
	assert.Equal(t, flex.WakeUp{Cluster: "alpha", Verb: "gate", Nodes: "alpha-a3-[0-1]", Jobs: []uint32{812}, Het: 811}, a.call)
	require.NoError(t, flex.HoldGate(a.conn))
	require.NoError(t, flex.HoldGate(a.conn))
	assert.Empty(t, code)
	require.NoError(t, a.conn.Close())
	assert.Zero(t, <-code)
}

func TestTheGateNeverFails(t *testing.T) {
	for name, c := range map[string]struct {
		env   []string
		spoil func(t *testing.T, w *world)
	}{
		"no job":                    {env: []string{beProgram}},
		"a job that is no number":   {env: gateEnv("SLURM_JOB_ID=x")},
		"a configuration of others": {env: gateEnv(), spoil: func(t *testing.T, w *world) { require.NoError(t, os.Chmod(w.path("config.yaml"), 0o666)) }},
		"no daemon":                 {env: gateEnv(), spoil: func(t *testing.T, w *world) { require.NoError(t, os.Remove(flex.SocketPath(w.path("run")))) }},
		"no run_dir":                {env: gateEnv(), spoil: func(t *testing.T, w *world) { require.NoError(t, os.RemoveAll(w.path("run"))) }},
		"no slurmflex-hook":         {env: gateEnv(), spoil: func(t *testing.T, w *world) { require.NoError(t, os.Remove(w.path("slurmflex-hook"))) }},
		"a slurmflex-hook that fails": {env: gateEnv(), spoil: func(t *testing.T, w *world) {
			w.write(t, "slurmflex-hook", "#!/bin/sh\nexit 7\n", 0o755)
		}},
		"another cluster's daemon": {env: gateEnv(), spoil: func(t *testing.T, w *world) {
			w.write(t, "config.yaml", "slurm_cluster_name: beta\nslurmflex: {run_dir: DIR/run}\n", 0o644)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, arrivals := gated(t)
			if c.spoil != nil {
				c.spoil(t, w)
			}
			code, _ := run(t, c.env, w.path("gate"))
			assert.Zero(t, code)
			assert.Empty(t, arrivals)
			assert.NoFileExists(t, w.path("arguments"), "it never becomes slurmflex")
		})
	}
}

func TestTheGateOfADaemonThatDiesIsOpen(t *testing.T) {
	w, arrivals := gated(t)
	code := arrive(t, w)
	(<-arrivals).conn.Close() // as the kernel does
	assert.Zero(t, <-code)
}

// As without the gate: before the nodes are up, and with a say in whether the job starts.
func TestTheSitesOwnPrologRunsFirstAndItsExitCodeCounts(t *testing.T) {
	w, arrivals := gated(t)
	w.write(t, "prolog-slurmctld", "#!/bin/sh\necho $SLURM_JOB_ID >DIR/own\nexit 3\n", 0o755)
	code, _ := run(t, gateEnv(), w.path("gate"))
	assert.Equal(t, 3, code)
	assert.Empty(t, arrivals)
	text, err := os.ReadFile(w.path("own"))
	require.NoError(t, err)
	assert.Equal(t, "812\n", string(text))

	w.write(t, "prolog-slurmctld", "", 0o644) // writing does not change its mode
	require.NoError(t, os.Chmod(w.path("prolog-slurmctld"), 0o644))
	code, _ = run(t, gateEnv(), w.path("gate"))
	assert.Equal(t, 126, code, "one that cannot be run is no reason to start jobs without")
}
