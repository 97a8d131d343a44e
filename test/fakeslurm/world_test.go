package fakeslurm

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/flex"
	"slurmflex/slurm"
	"slurmflex/test/must"
)

var _ flex.Scheduler = (*Cluster)(nil)

// world is a cluster with a clock set by the test. Nodes a0 to a3 are for exclusive jobs, b0
// and b1 are shared, and s0 is exempt from SuspendTime.
type world struct {
	*Cluster
	t   *testing.T
	now time.Time
}

func newWorld(t *testing.T, version string, change ...func(*Options)) *world {
	w := &world{t: t, now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	o := Options{
		Version: version, PrivateCloud: true,
		Nodes: []string{"a0", "a1", "a2", "a3", "b0", "b1", "s0"},
		Partitions: []slurm.Partition{
			{Name: "train", Nodes: []string{"a0", "a1", "a2", "a3"}, Exclusive: true, PowerDownOnIdle: true},
			{Name: "open", Nodes: []string{"b0", "b1"}},
			{Name: "static", Nodes: []string{"s0"}},
		},
		ResumeTimeout: 60 * time.Second, SuspendTimeout: 10 * time.Second, SuspendTime: 100 * time.Second,
		SlurmdTimeout: 30 * time.Second, SuspendExc: []string{"s0"},
		Now: func() time.Time { return w.now },
	}
	for _, c := range change {
		c(&o)
	}
	w.Cluster = New(o)
	w.pass(time.Second)
	return w
}

// pass advances time and calls Step every second.
func (w *world) pass(d time.Duration) {
	for range d / time.Second {
		w.now = w.now.Add(time.Second)
		w.Step()
	}
}

// update requires that a node update succeeds.
func (w *world) update(nodes, state string) {
	w.t.Helper()
	require.NoError(w.t, w.refused(nodes, state, ""))
}

// refused returns the error of a node update.
func (w *world) refused(nodes, state, reason string) error {
	w.t.Helper()
	return w.UpdateNodes(w.t.Context(), must.Get(slurm.Expand(nodes)), slurm.NodeChange{State: state, Reason: reason})
}

// submit requires that a submission succeeds.
func (w *world) submit(spec JobSpec) uint32 {
	w.t.Helper()
	id, err := w.Submit(spec)
	require.NoError(w.t, err)
	return id
}

// powered powers nodes up.
func (w *world) powered(nodes string) {
	w.t.Helper()
	w.update(nodes, "power_up")
	w.pass(2 * time.Second)
	for _, name := range must.Get(slurm.Expand(nodes)) {
		w.Register(name, w.now)
	}
	w.pass(time.Second)
}

func (w *world) node(name string) slurm.Node {
	w.t.Helper()
	nodes := listed(w, w.Nodes)
	i := slices.IndexFunc(nodes, func(n slurm.Node) bool { return n.Name == name })
	require.GreaterOrEqual(w.t, i, 0, "node %s is shown", name)
	return nodes[i]
}

// queued returns a job from the queue.
func (w *world) queued(id uint32) slurm.Job {
	w.t.Helper()
	jobs := listed(w, w.Jobs)
	i := slices.IndexFunc(jobs, func(j slurm.Job) bool { return j.ID == id })
	require.GreaterOrEqual(w.t, i, 0, "job %d is in the queue", id)
	return jobs[i]
}

// listed returns a list and fails the test on an error.
func listed[T any](w *world, list func(context.Context) (T, error)) T {
	w.t.Helper()
	shown, err := list(w.t.Context())
	require.NoError(w.t, err)
	return shown
}

// train returns a one-hour job that runs for ten minutes.
func train(nodes ...string) JobSpec {
	return JobSpec{Partition: "train", NodeList: nodes, Limit: time.Hour, Run: 10 * time.Minute}
}
