// Package hook serves a call by slurmctld. The daemon, or a pass that the hook starts, serves
// flex-start nodes. The delegate serves the other nodes.
package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/logs"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// The programs that slurm.conf names.
const (
	Resume     = "resume"
	Suspend    = "suspend"
	ResumeFail = "resume-fail"
)

// Scheduler is what a hook needs of Slurm.
type Scheduler interface {
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Jobs(ctx context.Context) ([]slurm.Job, error)
	UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error
}

// Hook is one call of slurmctld. It must be over within milliseconds:
// slurmctld may be waiting for it.
type Hook struct {
	Config *config.Config
	File   string // of the configuration
	Slurm  Scheduler
	Lock   flex.Lock
	Log    *zap.Logger

	Unreceipted string // why the daemon, which was called already, has not answered; empty: it was not called
}

// Names returns the nodes of a call's hostlist. An empty hostlist is an error.
func Names(hostlist string) ([]string, error) {
	names, err := slurm.Expand(hostlist)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no nodes in hostlist %q; give one such as alpha-a3-[0-3]", hostlist)
	}
	return names, err
}

// Run serves a call for these nodes.
func (h Hook) Run(ctx context.Context, wakeUp flex.WakeUp, names []string) error {
	calls := flex.Sort(h.Config, names)
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

// OnlyHandOver sends a call to the daemon when the hook has no valid configuration. The daemon has
// one, and so knows which nodes are flex-start nodes.
func OnlyHandOver(ctx context.Context, at config.Glance, log *zap.Logger, wakeUp flex.WakeUp, wrong error) error {
	log = log.With(zap.String("hook", wakeUp.Verb), zap.String("nodes", wakeUp.Nodes),
		zap.String("wrong", view.Clip(wrong.Error(), 2000))) // what does not fit into a message is lost
	wakeUp.Cluster = at.Cluster
	if err := flex.Send(ctx, flex.SocketPath(at.RunDir), wakeUp); err != nil {
		log.Error("nothing done: the configuration is invalid and the daemon is not reachable", zap.Error(err))
		return wrong
	}
	log.Error("configuration invalid; the daemon was woken up, but the delegate's nodes are not served")
	return nil
}

// handOver gives the call to the daemon, or to a pass of its own. If neither is
// possible, the nodes are returned to Slurm.
func (h Hook) handOver(ctx context.Context, wakeUp flex.WakeUp, ours []string) error {
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
			h.Log.Error("nodes not returned to Slurm", zap.Error(back))
			return errors.Join(err, back)
		}
	}
	return err
}

// returnToSlurm powers down those of the nodes that nobody will request machines
// for. The call may come from a shell, or late: the state in Slurm decides, and if
// that cannot be read no node is changed.
func (h Hook) returnToSlurm(ctx context.Context, called []string, why error) error {
	nodes, err := h.Slurm.Nodes(ctx) // before the jobs, so that a job that has just started is seen
	if err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	jobs, err := h.Slurm.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("read jobs: %w", err)
	}
	free := plan.PoweringUpForNothing(called, nodes, jobs)
	if len(free) == 0 {
		return nil
	}
	if err := h.Slurm.UpdateNodes(ctx, free, slurm.NodeChange{State: "power_down_force", Reason: memo.ReasonPrefix + why.Error()}); err != nil {
		return err
	}
	h.Log.Warn("nodes returned to Slurm", zap.String("returned", slurm.Fold(free)))
	return nil
}

// send calls the daemon, unless it was called already.
func (h Hook) send(ctx context.Context, wakeUp flex.WakeUp) error {
	if h.Unreceipted != "" {
		return errors.New(h.Unreceipted)
	}
	return flex.Send(ctx, flex.SocketPath(h.Config.Options.RunDir), wakeUp)
}

// startPass starts a pass that outlives this process. From 23.02 slurmctld kills
// the program's process group when the program exits, so the pass has a session of
// its own, and has it before Start returns.
func (h Hook) startPass(wakeUp flex.WakeUp) error {
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
	out, err := logs.Open(h.Config.Options.LogFile)
	if err == nil {
		defer out.Close()
		pass.Stdout, pass.Stderr = out, out
	}
	return pass.Start()
}

// delegate becomes the program that serves other nodes, with their part of the
// hostlist as its argument and our environment. It returns only if that fails.
func (h Hook) delegate(wakeUp flex.WakeUp, calls flex.Calls) error {
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
	if err == nil {
		err = unix.Exec(program, []string{program, list}, os.Environ())
	}
	err = fmt.Errorf("delegate %s %s: %w", program, list, err)
	h.Log.Error("delegate not started for the nodes of other nodesets", zap.Error(err))
	return err
}
