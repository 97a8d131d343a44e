package fakeslurm

import (
	"context"
	"fmt"
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
	t     *testing.T
	now   time.Time
	calls []string // of Slurm's programs
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
		Now:        func() time.Time { return w.now },
		Suspend:    func(nodes []string) { w.called("suspend", nodes) },
		ResumeFail: func(nodes []string) { w.called("resume-fail", nodes) },
	}
	o.Resume = func(nodes []string, jobs []uint32) { w.called("resume", nodes, jobs...) }
	for _, c := range change {
		c(&o)
	}
	w.Cluster = New(o)
	w.pass(time.Second)
	return w
}

// onEachRelease runs a test on each release that the model is compared with.
func onEachRelease(t *testing.T, test func(t *testing.T, w *world)) {
	for _, version := range []string{"22.05", "24.11", "26.05"} {
		t.Run(version, func(t *testing.T) { test(t, newWorld(t, version)) })
	}
}

func (w *world) called(program string, nodes []string, jobs ...uint32) {
	call := program + " " + slurm.Fold(nodes)
	for _, id := range jobs {
		call += fmt.Sprintf(" for job %d", id)
	}
	w.calls = append(w.calls, call)
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

// boot registers the machines of nodes now.
func (w *world) boot(nodes string) {
	w.t.Helper()
	for _, name := range must.Get(slurm.Expand(nodes)) {
		w.Register(name, w.now)
	}
	w.pass(time.Second)
}

// powered powers nodes up.
func (w *world) powered(nodes string) {
	w.t.Helper()
	w.update(nodes, "power_up")
	w.pass(2 * time.Second)
	w.boot(nodes)
	w.calls = nil
}

// are requires that jobs are in this state.
func (w *world) are(state slurm.JobState, jobs ...uint32) {
	w.t.Helper()
	for _, id := range jobs {
		require.Equal(w.t, state, w.JobState(id), "job %d", id)
	}
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

// programs returns the program calls since the last call.
func (w *world) programs() []string {
	calls := w.calls
	w.calls = nil
	return calls
}

// train returns a one-hour job that runs for ten minutes.
func train(nodes ...string) JobSpec {
	return JobSpec{Partition: "train", NodeList: nodes, Limit: time.Hour, Run: 10 * time.Minute}
}
