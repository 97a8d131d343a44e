// Package hook serves a call by slurmctld. The daemon, or a pass that the hook starts, handles
// flex-start nodes. The delegate handles all other nodes.
package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/wake"
	"slurmflex/slurm"
)

// These are the programs that slurm.conf names.
const (
	Resume     = "resume"
	Suspend    = "suspend"
	ResumeFail = "resume-fail"
)

// scheduler lists the calls to Slurm that a hook makes.
type scheduler interface {
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Jobs(ctx context.Context) ([]slurm.Job, error)
	JobRecords(ctx context.Context, ids []uint32) ([]slurm.JobRecord, error)
	UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error
}

// Hook serves one call of slurmctld. It must finish within milliseconds, because slurmctld may be
// waiting for it.
type Hook struct {
	Config *config.Config
	File   string // path of the configuration
	Slurm  scheduler
	Lock   leader.Lock
	Log    *zap.Logger
	// OpenLog opens the log file for a pass that outlasts the hook.
	OpenLog func() (*os.File, error)

	// Unreceipted is why the daemon, which was already called, has not answered; empty if it was
	// not called.
	Unreceipted string
}

// names returns the nodes of a call's hostlist. An empty hostlist is an error.
func names(hostlist string) ([]string, error) {
	all, err := slurm.Expand(hostlist)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no nodes in hostlist %q; expected a list such as alpha-a3-[0-3]", hostlist)
	}
	return all, err
}

// Run serves a call. noJobs is why SLURM_RESUME_FILE could not be read, which names a resume's jobs.
func (h Hook) Run(ctx context.Context, wakeUp wake.Call, noJobs error) error {
	if noJobs != nil && wakeUp.Verb == Resume {
		h.Log.Warn("SLURM_RESUME_FILE not read; finding the jobs with squeue", zap.Error(noJobs))
	}
	called, err := names(wakeUp.Nodes)
	if err != nil {
		h.Log.Error("nothing done", zap.Error(err))
		return config.Misuse(err)
	}
	calls := wake.Sort(h.Config, called)
	if len(calls.Unknown) > 0 {
		h.Log.Error("nodes that the configuration does not know are left alone; correct slurm.conf or the nodeset's size",
			zap.String("unknown", slurm.Fold(calls.Unknown)))
	}
	var failed error
	if len(calls.Ours) > 0 {
		failed = h.handOver(ctx, wakeUp, calls.Ours)
	}
	if len(calls.Others) > 0 {
		if err := h.delegate(wakeUp, calls); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// OnlyHandOver sends a call to the daemon when the hook lacks a valid configuration. The daemon
// still runs with a valid one, so it can recognize which nodes are flex-start nodes.
func OnlyHandOver(ctx context.Context, at config.Glance, log *zap.Logger, wakeUp wake.Call, wrong error) error {
	log = log.With(zap.String("hook", wakeUp.Verb), zap.String("nodes", wakeUp.Nodes),
		// A message that is too long would be lost.
		zap.String("wrong", fmt.Sprintf("%.2000s", wrong)))
	wakeUp.Cluster = at.Cluster
	if err := wake.Send(ctx, wake.SocketPath(at.RunDir), wakeUp); err != nil {
		log.Error("nothing done: the configuration is invalid and the daemon is not reachable", zap.Error(err))
		return wrong
	}
	log.Error("configuration invalid; the daemon was woken up, but the delegate's nodes are not served")
	return nil
}

// handOver sends the call to the daemon, or starts a pass. If both fail, it returns the nodes to
// Slurm.
func (h Hook) handOver(ctx context.Context, wakeUp wake.Call, ours []string) error {
	sent := h.send(ctx, wakeUp)
	if sent == nil {
		return nil
	}
	if !errors.Is(sent, os.ErrNotExist) {
		h.Log.Warn("daemon not reachable; reconciling from the hook", zap.Error(sent))
	}
	started := h.startPass(wakeUp)
	if started == nil {
		return nil
	}
	err := fmt.Errorf("%s %s: daemon not reachable (%w) and no pass of its own (%w)", wakeUp.Verb, slurm.Fold(ours), sent, started)
	h.Log.Error("not handed over", zap.Error(err))
	if wakeUp.Verb == Resume {
		if back := h.returnToSlurm(ctx, ours, started); back != nil {
			h.Log.Error("nodes not returned to Slurm; power them down by force, or they power up until ResumeTimeout", zap.Error(back))
			return errors.Join(err, back)
		}
	}
	return err
}

// returnToSlurm powers down the called nodes that will get no machines. The call may come from a
// shell or arrive late, so the node states in Slurm decide. If Slurm cannot be read, no node
// changes. A job that Slurm would end, or may end, keeps its nodes.
func (h Hook) returnToSlurm(ctx context.Context, called []string, why error) error {
	nodes, err := h.Slurm.Nodes(ctx) // before the jobs, so that jobs that start in between are seen
	if err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	jobs, err := h.Slurm.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("read jobs: %w", err)
	}
	requeues, unread := h.requeues(ctx, called, jobs)
	free, kept := plan.PoweringUpForNothing(called, nodes, jobs, requeues)
	if len(kept) > 0 {
		h.Log.Warn("nodes left to their jobs, which Slurm might not requeue; they wait until the daemon or slurmflex sync runs", zap.String("kept", slurm.Fold(kept)))
	}
	if len(free) == 0 {
		return unread
	}
	if err := h.Slurm.UpdateNodes(ctx, free, slurm.NodeChange{State: "power_down_force", Reason: memo.ReasonPrefix + why.Error()}); err != nil {
		return errors.Join(unread, err)
	}
	h.Log.Warn("nodes returned to Slurm", zap.String("returned", slurm.Fold(free)))
	return unread
}

// requeues returns which jobs of the called nodes Slurm would requeue if they lost their nodes. It
// returns an error if it is unknown for some.
func (h Hook) requeues(ctx context.Context, called []string, jobs []slurm.Job) (map[uint32]bool, error) {
	var ids []uint32
	for _, j := range jobs {
		if slices.ContainsFunc(j.Nodes, func(name string) bool { return slices.Contains(called, name) }) {
			ids = append(ids, j.ID)
		}
	}
	records, err := h.Slurm.JobRecords(ctx, ids)
	if err != nil {
		err = fmt.Errorf("read job records: %w", err)
	}
	requeues := map[uint32]bool{}
	for _, rec := range records {
		requeues[rec.ID] = rec.Requeues()
	}
	return requeues, err
}

// send sends the call to the daemon, unless the daemon was already called.
func (h Hook) send(ctx context.Context, wakeUp wake.Call) error {
	if h.Unreceipted != "" {
		return errors.New(h.Unreceipted)
	}
	return wake.Send(ctx, wake.SocketPath(h.Config.Options.RunDir), wakeUp)
}

// startPass starts a pass that outlives this process. Since 23.02, slurmctld kills the program's
// process group when the program exits. The pass therefore has its own session before Start
// returns.
func (h Hook) startPass(wakeUp wake.Call) error {
	if err := h.Lock.Usable(); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	configPath, err := filepath.Abs(h.File)
	if err != nil {
		return err
	}
	pass := exec.Command(exe, "pass", "--config", configPath, "--verb", wakeUp.Verb, "--nodes", wakeUp.Nodes)
	pass.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pass.Dir = "/"
	out, err := h.OpenLog()
	if err == nil {
		defer out.Close()
		pass.Stdout, pass.Stderr = out, out
	}
	return pass.Start()
}

// delegated is set in the environment of a delegate. A delegate that is slurmflex itself would
// otherwise execute itself forever.
const delegated = "SLURMFLEX_DELEGATED"

// delegate executes the program that serves other nodes, with their part of the hostlist as its
// argument and with the hook's environment. It returns only if that fails.
func (h Hook) delegate(wakeUp wake.Call, calls wake.Nodes) error {
	program := h.Config.Options.Delegate.ResumeProgram
	if wakeUp.Verb != Resume {
		program = h.Config.Options.Delegate.SuspendProgram
	}
	list := wakeUp.Nodes
	if len(calls.Ours)+len(calls.Unknown) > 0 {
		list = slurm.Fold(calls.Others)
	}
	if program == "" {
		h.Log.Warn("nodes of nodesets without dws_flex are left alone; slurmflex.delegate names no program for them",
			zap.String("others", list))
		return nil
	}
	err := config.CheckProgram(program)
	if _, again := os.LookupEnv(delegated); again && err == nil {
		err = errors.New("it has called slurmflex again; set slurmflex.delegate to the program of the other nodes")
	}
	if err == nil {
		err = unix.Exec(program, []string{program, list}, append(os.Environ(), delegated+"=1"))
	}
	err = fmt.Errorf("delegate %s %s: %w", program, list, err)
	h.Log.Error("delegate not started for the nodes of other nodesets", zap.Error(err))
	return err
}
