//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/flex"
	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/lab"
)

const (
	// settling is the time between a command and the comparison of its effects: slurmctld schedules
	// every 2 s and checks power saving every second.
	settling = 3 * time.Second

	// usual is the time limit for both ends to become equal after a command. periodic is the limit
	// for effects of slurmctld's 30 s period.
	usual    = 20 * time.Second
	periodic = 90 * time.Second
)

// twins are a real slurmctld and its model. Each command is sent to both, and then both must reach
// the same state.
type twins struct {
	t     *testing.T
	lab   *lab.Lab
	real  *scontrol.Client
	model *fakeslurm.Cluster
	limit time.Duration // time limit for both to become equal after a command

	unranked bool // compare only whether a job is held, not its priority
}

func newTwins(t *testing.T, o lab.Options) *twins {
	o.NoHooks, o.CPUs = true, 2
	l := cluster(t, o)
	w := &twins{t: t, lab: l, real: &scontrol.Client{BinDir: "/usr/bin", Conf: l.Conf()}, limit: usual}
	nodes, err := w.real.Nodes(context.Background())
	require.NoError(t, err)
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	partitions, err := w.real.Partitions(context.Background())
	require.NoError(t, err)
	w.model = fakeslurm.New(fakeslurm.Options{
		Version: l.Version.String(), Accounting: o.Accounting, Nodes: names, Partitions: partitions,
		ResumeTimeout: time.Duration(cmp.Or(o.ResumeTimeout, 65533)) * time.Second, SuspendTimeout: time.Duration(cmp.Or(o.SuspendTimeout, 5)) * time.Second,
		SuspendTime: 300 * time.Second, SlurmdTimeout: 30 * time.Second,
		SuspendExc: []string{"alpha-st-0"}, Backfill: time.Duration(o.Backfill) * time.Second,
	})
	t.Cleanup(w.endJobs)
	w.same(w.limit)
	return w
}

// endJobs cancels all jobs and kills the remaining processes of jobs without a slurmd, including
// slurmstepds, which run in the log folder.
func (w *twins) endJobs() {
	_, _ = w.lab.Slurm(context.Background(), "scancel", "-u", "root") // it may fail if there are no jobs
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		pid, _ := strconv.Atoi(filepath.Base(process))
		folder, _ := os.Readlink(filepath.Join(process, "cwd"))
		stepd := readFile(filepath.Join(process, "comm")) == "slurmstepd\n" && folder == w.lab.Log("")
		environ := readFile(filepath.Join(process, "environ"))
		if stepd || strings.Contains(environ, "SLURM_CONF="+w.lab.Conf()) && strings.Contains(environ, "SLURM_JOB_ID=") {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may already have ended
		}
	}
}

// both runs a command at both ends. The ends must answer alike and then become equal.
func (w *twins) both(what string, do func(flex.Scheduler) error) {
	w.t.Helper()
	w.answered(what, do(w.real), do(w.model))
}

func (w *twins) answered(what string, fromReal, fromModel error) {
	w.t.Helper()
	w.t.Logf("+ %s", what)
	require.Equal(w.t, kind(fromReal), kind(fromModel), "%s: the real one returns %v, the model %v", what, fromReal, fromModel)
	w.same(w.limit)
}

// kind returns the class of an error.
func kind(err error) string {
	for _, k := range []error{
		scontrol.ErrUnknownJob, scontrol.ErrJobEnded, scontrol.ErrUnknownNode,
		scontrol.ErrReservationExists, scontrol.ErrUnknownReservation,
	} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	if err != nil {
		return "refused"
	}
	return "done"
}

// same steps the model until both ends show the same state, after the last change has settled.
func (w *twins) same(limit time.Duration) {
	w.t.Helper()
	var inReal, inModel string
	begun := time.Now()
	require.NoError(w.t, lab.Until(context.Background(), limit, "the model to be like the real one", func() (bool, error) {
		w.model.Step()
		if time.Since(begun) < settling {
			return false, nil
		}
		inReal, inModel = w.describe(w.real), w.describe(w.model)
		if inReal != inModel {
			return false, fmt.Errorf("real:\n%s\nmodel:\n%s", inReal, inModel)
		}
		return true, nil
	}))
}

// describe returns an end's nodes and jobs without the parts that depend on a second's difference.
func (w *twins) describe(s flex.Scheduler) string {
	ctx := context.Background()
	nodes, err := s.Nodes(ctx)
	require.NoError(w.t, err)
	jobs, err := s.Jobs(ctx)
	require.NoError(w.t, err)
	reservations, err := s.Reservations(ctx)
	require.NoError(w.t, err)
	slices.SortFunc(reservations, func(a, b slurm.Reservation) int { return cmp.Compare(a.Name, b.Name) })
	var text strings.Builder
	for _, n := range nodes {
		n.State.Flags &^= slurm.Planned
		if n.State.String() == "IDLE+CLOUD+POWERED_DOWN" && n.Reason+n.Comment+n.Extra == "" && n.LastBusyTime.IsZero() {
			continue
		}
		fmt.Fprintf(&text, "%s %s busy=%t %s|%s|%s|%s\n", n.Name, n.State, !n.LastBusyTime.IsZero(), n.Reason, n.ReasonBy, n.Comment, n.Extra)
	}
	for _, r := range reservations {
		fmt.Fprintf(&text, "reservation %s %s begun=%t %s|%s\n", r.Name, slurm.Fold(r.Nodes), !r.Start.After(time.Now()), r.Flags, r.Users)
	}
	slices.SortFunc(jobs, func(a, b slurm.Job) int { return cmp.Compare(a.ID, b.ID) })
	for _, j := range jobs {
		if w.unranked {
			j.Priority = min(j.Priority, 1)
		}
		text.WriteString(jobLine(j))
	}
	return text.String()
}

// jobLine returns squeue's line for a job.
func jobLine(j slurm.Job) string {
	reason, _, _ := strings.Cut(j.Reason, ",")
	switch reason { // the choice between these depends on backfill's progress
	case "Resources", "Priority", "ReqNodeNotAvail", "Nodes required for job are DOWN":
		reason = "nodes"
	}
	limit := j.Limit.String()
	if limit == "365-00:00:00" { // backfill sets this if there is no limit; the main scheduler does not
		limit = "UNLIMITED"
	}
	started := ""
	if j.State != slurm.JobPending {
		started = "started"
		if j.Start.IsZero() {
			started = "not started"
		}
	}
	return fmt.Sprintf("job %d of %d [%s] %s %s on %s %s priority %d in %s: %s\n",
		j.ID, j.ArrayID, j.ArrayTask, limit, j.State, slurm.Fold(j.Nodes), started, j.Priority, j.Reservation, reason)
}

// update runs scontrol update nodename=… state=… for each step in turn. Each step is a state, a
// state with a reason, or only a reason.
func (w *twins) update(nodes string, steps ...string) {
	w.t.Helper()
	names, err := slurm.Expand(nodes)
	require.NoError(w.t, err)
	for _, step := range steps {
		state, reason, _ := strings.Cut(step, " ")
		w.both("update "+nodes+" "+step, func(s flex.Scheduler) error {
			return s.UpdateNodes(context.Background(), names, slurm.NodeChange{State: state, Reason: reason})
		})
	}
}

// submit runs sbatch, or salloc in the background.
func (w *twins) submit(spec fakeslurm.JobSpec) {
	w.t.Helper()
	args := []string{"-p", spec.Partition, "-N", strconv.Itoa(max(1, spec.Nodes, len(spec.NodeList)))}
	if spec.NodeList != nil {
		args = append(args, "-w", strings.Join(spec.NodeList, ","))
	}
	if spec.Exclude != nil {
		args = append(args, "-x", strings.Join(spec.Exclude, ","))
	}
	if spec.Limit != 0 {
		args = append(args, "-t", fmt.Sprintf("0:%d", int(spec.Limit.Seconds())))
	}
	if !spec.Begin.IsZero() {
		args = append(args, "--begin", spec.Begin.UTC().Format("2006-01-02T15:04:05"))
	}
	if spec.NoRequeue {
		args = append(args, "--no-requeue")
	}
	if spec.Priority != 0 {
		args = append(args, "--priority", strconv.FormatUint(spec.Priority, 10))
	}
	if spec.Tasks != 0 {
		args = append(args, "--array", fmt.Sprintf("0-%d", spec.Tasks-1))
	}
	_, fromModel := w.model.Submit(spec)
	var fromReal error
	if spec.Interactive {
		ctx, cancel := context.WithCancel(context.Background())
		w.t.Cleanup(cancel)
		go func() { _, _ = w.lab.Slurm(ctx, "salloc", append(args, "sleep", "infinity")...) }()
	} else {
		_, fromReal = w.lab.Slurm(context.Background(), "sbatch", append(args, "-o", "/dev/null", "--wrap", fmt.Sprintf("sleep %d", int(spec.Run.Seconds())))...)
	}
	w.answered(fmt.Sprintf("submit %+v", spec), fromReal, fromModel)
}

// slurm runs one of Slurm's commands at the real end and its equivalent in the model.
func (w *twins) slurm(do func(*fakeslurm.Cluster) error, command string, args ...string) {
	w.t.Helper()
	_, fromReal := w.lab.Slurm(context.Background(), command, args...)
	fromModel := do(w.model)
	w.t.Logf("+ %s %s", command, strings.Join(args, " "))
	require.Equal(w.t, fromReal == nil, fromModel == nil, "the real one returns %v, the model %v", fromReal, fromModel)
	w.same(w.limit)
}

// cancel ends a job.
func (w *twins) cancel(job uint32) {
	w.t.Helper()
	w.slurm(func(c *fakeslurm.Cluster) error { return c.Cancel(job) }, "scancel", fmt.Sprint(job))
}

// hold holds a job as slurmflex does.
func (w *twins) hold(job uint32) {
	w.t.Helper()
	w.both(fmt.Sprint("hold ", job), func(s flex.Scheduler) error { return s.HoldJob(context.Background(), job) })
}

// release ends the hold of a job.
func (w *twins) release(job uint32) {
	w.t.Helper()
	w.slurm(func(c *fakeslurm.Cluster) error { return c.Release(job) }, "scontrol", "release", fmt.Sprint(job))
}

// requeue requeues a job that still runs.
func (w *twins) requeue(job uint32) {
	w.t.Helper()
	w.slurm(func(c *fakeslurm.Cluster) error { return c.Requeue(job) }, "scontrol", "requeue", "Incomplete", fmt.Sprint(job))
}

// start lets a job start now.
func (w *twins) start(job uint32) {
	w.t.Helper()
	w.slurm(func(c *fakeslurm.Cluster) error { return c.Start(job) }, "scontrol", "update", fmt.Sprint("jobid=", job), "starttime=now")
}

// scontrol runs a command line about reservations at both ends, which must reject it with the same
// message.
func (w *twins) scontrol(line string) {
	w.t.Helper()
	_, fromReal := w.lab.Slurm(context.Background(), "scontrol", strings.Fields(line)...)
	fromModel := w.model.Scontrol(context.Background(), line)
	w.t.Logf("+ scontrol %s: %v", line, fromModel)
	require.Equal(w.t, fromReal == nil, fromModel == nil, "the real one returns %v, the model %v", fromReal, fromModel)
	if fromModel != nil {
		words := strings.Split(fromModel.Error(), ": ")
		require.ErrorContains(w.t, fromReal, words[len(words)-1])
	}
	w.same(w.limit)
}

// waits asserts that both ends show the same reason for a waiting job.
func (w *twins) waits(id uint32, reason string) {
	w.t.Helper()
	w.shows(id, reason, func(j slurm.Job) string { return j.Reason })
}

// shows asserts that both ends come to show the same of a waiting job.
func (w *twins) shows(id uint32, want string, of func(slurm.Job) string) {
	w.t.Helper()
	given := func(s flex.Scheduler) string {
		jobs, err := s.Jobs(context.Background())
		require.NoError(w.t, err)
		for _, j := range jobs {
			if j.ID == id && j.State == slurm.JobPending {
				return of(j)
			}
		}
		return "it does not wait"
	}
	require.NoError(w.t, lab.Until(context.Background(), usual, fmt.Sprintf("job %d to wait for %s", id, want), func() (bool, error) {
		w.model.Step()
		inReal, inModel := given(w.real), given(w.model)
		return inReal == want && inModel == want, fmt.Errorf("real: %s; model: %s", inReal, inModel)
	}))
	w.t.Logf("+ job %d waits: %s", id, want)
}

// run runs a command at the real end only.
func (w *twins) run(command string, args ...string) {
	w.t.Helper()
	run(w.t, w.lab, command, args...)
}

// boot makes the machines of the nodes boot.
func (w *twins) boot(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.run(filepath.Join(w.lab.Dir, "bin/boot"), name)
		w.model.Register(name, time.Now())
	}
	w.t.Logf("+ boot %s", slurm.Fold(names))
	w.same(w.limit)
}

// bootLongAgo starts a slurmd on a machine that booted long ago.
func (w *twins) bootLongAgo(name string) {
	w.t.Helper()
	w.run("slurmd", "-N", name)
	w.model.Register(name, time.Now().Add(-time.Hour))
	w.t.Logf("+ %s has been there for long", name)
	w.same(w.limit)
	w.run(filepath.Join(w.lab.Dir, "bin/delete"), name)
}

// restart shuts slurmctld down cleanly and starts it again.
func (w *twins) restart() {
	w.t.Helper()
	require.NoError(w.t, w.lab.Restart(context.Background()))
	w.model.Restart()
	w.t.Log("+ restart")
	w.same(w.limit)
}

// vanish removes the nodes' machines, all at once. The real end may notice immediately or much
// later, because slurmctld pings every ten seconds.
func (w *twins) vanish(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.run(filepath.Join(w.lab.Dir, "bin/delete"), name)
		w.model.Silence(name)
	}
	w.t.Logf("+ %s vanish", slurm.Fold(names))
	w.same(periodic)
}

// await waits until the model meets a condition and the real end is equal.
func (w *twins) await(limit time.Duration, what string, yes func() bool) {
	w.t.Helper()
	require.NoError(w.t, lab.Until(context.Background(), limit, what, func() (bool, error) {
		w.model.Step()
		return yes(), nil
	}))
	w.t.Logf("+ await %s", what)
	w.same(limit)
}

// reaches waits until a job has a state at both ends.
func (w *twins) reaches(limit time.Duration, job uint32, state slurm.JobState) {
	w.t.Helper()
	w.await(limit, fmt.Sprintf("job %d to be %s", job, state), func() bool { return w.model.JobState(job) == state })
}

// awaitNode waits until a node's state contains a text at both ends.
func (w *twins) awaitNode(limit time.Duration, name, text string) {
	w.t.Helper()
	w.await(limit, name+" to be "+text, func() bool { return strings.Contains(w.node(name), text) })
}

// node returns a node's state in the model.
func (w *twins) node(name string) string {
	nodes, err := w.model.Nodes(context.Background())
	require.NoError(w.t, err)
	for _, n := range nodes {
		if n.Name == name {
			return n.State.String()
		}
	}
	return ""
}
