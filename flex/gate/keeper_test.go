package gate

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/must"
	"slurmflex/test/scenetest"
)

func alpha() *config.Config {
	return scenetest.Cluster("partitions: {train: {partition_nodeset: [a3, cpu]}}\nslurmflex: {max_gates: 2}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8", "max_run_duration: 3600"), "cpu: {node_count_dynamic_max: 2}")
}

// world is a keeper at a socket, for a Slurm whose nodes the test sets.
type world struct {
	*Keeper
	path string
	stop context.CancelFunc

	mu     sync.Mutex
	at     time.Time
	nodes  []slurm.Node
	unread error
	held   int
	opened []Outcome
	cold   bool // the gate that has opened last
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{at: noon, nodes: nodes(booting, booting)}
	dir := must.Get(os.MkdirTemp("", "gate-")) // t.TempDir may be too long a name for a socket
	require.NoError(t, os.Chmod(dir, 0o700))
	t.Cleanup(func() { os.RemoveAll(dir) })
	w.path = flex.SocketPath(dir)
	w.Keeper = New(alpha(), w, w, zap.NewNop(), w.clock)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := flex.Listen(ctx, w.path, "alpha", zap.NewNop(), w.Keeper)
	require.NoError(t, err)
	run, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() { w.Run(run); close(over) }()
	w.stop = func() { stop(); <-over }
	t.Cleanup(func() { w.stop(); cancel() })
	return w
}

// clock is a second later each time that it is looked at.
func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(time.Second)
	return w.at
}

func (w *world) NodesNamed(context.Context, []string) ([]slurm.Node, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes, w.unread
}

func (w *world) Gates(held int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = held
}

func (w *world) GateOpened(why Outcome, _ []string, cold bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened, w.cold = append(w.opened, why), cold
}

func (w *world) outcomes() []Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened
}

func (w *world) come(states ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = nodes(states...)
}

// call is what a job's gate asks.
func call(job uint32, nodes string) flex.WakeUp {
	return flex.WakeUp{Cluster: "alpha", Verb: flex.GateVerb, Jobs: []uint32{job}, Nodes: nodes}
}

// arrive has a job's gate ask, and returns what shows that it is open.
func (w *world) arrive(t *testing.T, job uint32, nodes string) <-chan error {
	t.Helper()
	open := make(chan error, 1)
	go func() { open <- flex.WaitAtGate(t.Context(), w.path, call(job, nodes)) }()
	return open
}

func (w *world) awaitHeld(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.held == n
	}, time.Minute, time.Millisecond)
}

func TestAGateOpensWhenTheNodesAreUp(t *testing.T) {
	w := newWorld(t)
	open := w.arrive(t, 7, "alpha-a3-[0-1]")
	w.awaitHeld(t, 1)
	require.Eventually(t, func() bool {
		w.Keeper.mu.Lock()
		defer w.Keeper.mu.Unlock()
		return w.Keeper.held[7].Cold
	}, time.Minute, time.Millisecond, "it is looked at before the first pass")
	w.come(up, up)
	require.NoError(t, <-open)
	assert.Equal(t, []Outcome{Up}, w.outcomes())
	assert.True(t, w.cold)
	w.awaitHeld(t, 0)
}

// Whose other nodes only a pass knows.
func TestTheGateOfAComponentWaitsForAPass(t *testing.T) {
	w := newWorld(t)
	w.come(up, up)
	ask := call(7, "alpha-a3-0")
	ask.Het = 7
	open := make(chan error, 1)
	go func() { open <- flex.WaitAtGate(t.Context(), w.path, ask) }()
	w.awaitHeld(t, 1)
	assert.Empty(t, w.near())
	w.Saw(scene.Of(w.cfg, scene.Snapshot{Begun: noon.Add(time.Hour), Nodes: nodes(up, up), Jobs: []slurm.Job{{ID: 7, HetID: 7, State: slurm.JobConfiguring}}}), plan.Plan{})
	require.NoError(t, <-open)
	assert.Equal(t, []Outcome{Up}, w.outcomes())
}

func TestAGateForNoFlexNodesIsOpen(t *testing.T) {
	w := newWorld(t)
	for _, nodes := range []string{"alpha-cpu-0", "login-1", "", "alpha-a3-["} {
		require.NoError(t, <-w.arrive(t, 7, nodes), nodes)
	}
	assert.Empty(t, w.outcomes())
}

func TestAGateBeyondTheMostIsOpen(t *testing.T) {
	w := newWorld(t)
	w.arrive(t, 7, "alpha-a3-0")
	w.arrive(t, 8, "alpha-a3-1")
	w.awaitHeld(t, 2)
	require.NoError(t, <-w.arrive(t, 9, "alpha-a3-0"))
	assert.Equal(t, []Outcome{Full}, w.outcomes())
}

// slurmctld runs a job's gate again after a restart or a requeue.
func TestAJobsNextGateTakesThePlaceOfTheOneBefore(t *testing.T) {
	w := newWorld(t)
	first := w.arrive(t, 7, "alpha-a3-0")
	w.awaitHeld(t, 1)
	w.arrive(t, 7, "alpha-a3-1")
	require.NoError(t, <-first)
	assert.Equal(t, []Outcome{Ended}, w.outcomes())
	w.awaitHeld(t, 1)
}

func TestAGateThatSlurmEndsMakesRoom(t *testing.T) {
	w := newWorld(t)
	conn, err := net.Dial("unix", w.path)
	require.NoError(t, err)
	_, err = io.WriteString(conn, `{"cluster":"alpha","verb":"gate","nodes":"alpha-a3-0","jobs":[7]}`)
	require.NoError(t, err)
	w.awaitHeld(t, 1)
	require.NoError(t, conn.Close())
	w.awaitHeld(t, 0)
	assert.Equal(t, []Outcome{Ended}, w.outcomes())
}

func TestAPassThatShowsTheJobGoneOpensItsGate(t *testing.T) {
	w := newWorld(t)
	open := w.arrive(t, 7, "alpha-a3-0")
	w.awaitHeld(t, 1)
	w.Saw(scene.Of(w.cfg, scene.Snapshot{Begun: noon}), plan.Plan{})
	assert.Empty(t, w.outcomes(), "what was read is older than the gate")
	w.Saw(scene.Of(w.cfg, scene.Snapshot{Begun: noon.Add(time.Hour)}), plan.Plan{})
	require.NoError(t, <-open)
	assert.Equal(t, []Outcome{Left}, w.outcomes())
}

func TestGatesOpenWhenNoPassCanBeMade(t *testing.T) {
	w := newWorld(t)
	open := w.arrive(t, 7, "alpha-a3-0")
	w.awaitHeld(t, 1)
	w.Stood(nil)
	assert.Empty(t, w.outcomes())
	w.Stood(errors.New("read nodes: timed out"))
	require.NoError(t, <-open)
	assert.Equal(t, []Outcome{Unsure}, w.outcomes())
}

func TestGatesOpenWhenPassesDoNotEnd(t *testing.T) {
	w := newWorld(t)
	open := w.arrive(t, 7, "alpha-a3-0")
	w.awaitHeld(t, 1)
	w.pulse()
	assert.Empty(t, w.outcomes())
	w.mu.Lock()
	w.at = w.at.Add(time.Hour)
	w.mu.Unlock()
	w.pulse()
	require.NoError(t, <-open)
	assert.Equal(t, []Outcome{Unsure}, w.outcomes())
}

func TestWhatCannotBeReadBetweenPassesHoldsAGate(t *testing.T) {
	w := newWorld(t)
	w.unread = errors.New("Unable to contact slurm controller")
	open := w.arrive(t, 7, "alpha-a3-0")
	w.awaitHeld(t, 1)
	w.look(t.Context(), []string{"alpha-a3-0"})
	assert.Empty(t, w.outcomes())
	w.mu.Lock()
	w.unread, w.nodes = nil, nodes(up)
	w.mu.Unlock()
	w.look(t.Context(), []string{"alpha-a3-0"})
	require.NoError(t, <-open)
}

func TestGatesOpenWhenTheDaemonStops(t *testing.T) {
	w := newWorld(t)
	open := w.arrive(t, 7, "alpha-a3-0")
	w.awaitHeld(t, 1)
	w.stop()
	require.NoError(t, <-open)
	assert.Equal(t, []Outcome{Stopped}, w.outcomes())
	require.NoError(t, <-w.arrive(t, 8, "alpha-a3-0"), "and none is held from then on")
}

func TestAnotherConfigurationCountsForGatesThatArrive(t *testing.T) {
	w := newWorld(t)
	cfg := alpha()
	cfg.Options.MaxGates = 0
	w.Use(cfg)
	require.NoError(t, <-w.arrive(t, 7, "alpha-a3-0"))
	assert.Equal(t, []Outcome{Full}, w.outcomes())
}

func TestNoDaemonIsNoReasonToWait(t *testing.T) {
	assert.Error(t, flex.WaitAtGate(t.Context(), filepath.Join(t.TempDir(), "slurmflex.sock"), call(7, "alpha-a3-0")))
}
