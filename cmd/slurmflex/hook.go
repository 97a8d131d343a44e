package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
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
	resume     = "resume"
	suspend    = "suspend"
	resumeFail = "resume-fail"
)

// hookMark marks the commands that only slurmctld calls. Help does not list them; the man page
// of slurmflex does.
const hookMark = "called by slurmctld"

func isHook(cmd *cobra.Command) bool {
	_, marked := cmd.Annotations[hookMark]
	return marked
}

func newHook(a *app, verb, short string) *cobra.Command {
	unreceipted := ""
	cmd := &cobra.Command{
		Use: verb + " HOSTLIST", Short: short, Hidden: true, Annotations: map[string]string{hookMark: ""},
		Long: short + `.

It wakes up the daemon, or starts a reconcile pass of its own if none is running,
and returns at once. slurmflex acts on the state of the nodes in Slurm, not on the
arguments, so calling it by hand does no harm. It must run as SlurmUser.`,
		Example: "  slurmflex " + verb + " 'alpha-a3-[0-3]'",
		Args:    exactly(1, "alpha-a3-[0-3]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Slurm keeps this file only while the program runs, and around a
			// reconfigure not even that long: read it first.
			jobs, fileErr := flex.ResumedJobs(os.Getenv("SLURM_RESUME_FILE"))
			cfg, err := a.config()
			if err != nil {
				return a.onlyHandOver(cmd.Context(), flex.WakeUp{Verb: verb, Nodes: args[0], Jobs: jobs}, err)
			}
			log := a.logIfPossible(cfg.Options)
			h := hook{app: a, cfg: cfg, log: log.With(zap.String("hook", verb), zap.String("nodes", args[0])), unreceipted: unreceipted}
			if fileErr != nil && verb == resume {
				h.log.Warn("SLURM_RESUME_FILE not read; finding the jobs with squeue", zap.Error(fileErr))
			}
			return h.run(cmd.Context(), flex.WakeUp{Cluster: cfg.Cluster, Verb: verb, Nodes: args[0], Jobs: jobs})
		},
	}
	cmd.Flags().StringVar(&unreceipted, "unreceipted", "", "the daemon was called already, and `why` it has not answered")
	_ = cmd.Flags().MarkHidden("unreceipted") // slurmflex-hook's; it fails for unknown flags only
	return cmd
}

// onlyHandOver gives a call to the daemon, which has a valid configuration, when
// the hook has none: only the daemon knows then whose the nodes are.
func (a *app) onlyHandOver(ctx context.Context, wakeUp flex.WakeUp, wrong error) error {
	log := a.logToSyslog().With(zap.String("hook", wakeUp.Verb), zap.String("nodes", wakeUp.Nodes),
		zap.String("wrong", view.Clip(wrong.Error(), 2000))) // what does not fit into a message is lost
	at := config.GlanceAt(a.configPath)
	wakeUp.Cluster = at.Cluster
	if err := flex.Send(ctx, flex.SocketPath(at.RunDir), wakeUp); err != nil {
		log.Error("nothing done: the configuration is invalid and the daemon is not reachable", zap.Error(err))
		return wrong
	}
	log.Error("configuration invalid; the daemon was woken up, but the delegate's nodes are not served")
	return nil
}

// hook is one call of slurmctld. It must be over within milliseconds:
// slurmctld may be waiting for it.
type hook struct {
	app *app
	cfg *config.Config
	log *zap.Logger

	unreceipted string // why the daemon, which was called already, has not answered; empty: it was not called
}

func (h hook) run(ctx context.Context, wakeUp flex.WakeUp) error {
	names, err := slurm.Expand(wakeUp.Nodes)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no nodes in hostlist %q; give one such as alpha-a3-[0-3]", wakeUp.Nodes)
	}
	if err != nil {
		h.log.Error("nothing done", zap.Error(err))
		return usageError{err}
	}
	calls := flex.Sort(h.cfg, names)
	if len(calls.Unknown) > 0 {
		h.log.Error("nodes that the configuration does not know are left alone; correct slurm.conf or the nodeset's size",
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

// handOver gives the call to the daemon, or to a pass of its own. If neither is
// possible, the nodes are returned to Slurm.
func (h hook) handOver(ctx context.Context, wakeUp flex.WakeUp, ours []string) error {
	sent := h.send(ctx, wakeUp)
	if sent == nil {
		return nil
	}
	if !errors.Is(sent, os.ErrNotExist) {
		h.log.Warn("daemon not reachable; reconciling from the hook", zap.Error(sent))
	}
	started := h.startPass(wakeUp)
	if started == nil {
		return nil
	}
	err := fmt.Errorf("%s %s: daemon not reachable (%w) and no pass of its own (%w)", wakeUp.Verb, slurm.Fold(ours), sent, started)
	h.log.Error("not handed over", zap.Error(err))
	if wakeUp.Verb == resume {
		if back := h.returnToSlurm(ctx, ours, started); back != nil {
			h.log.Error("nodes not returned to Slurm", zap.Error(back))
			return errors.Join(err, back)
		}
	}
	return err
}

// returnToSlurm powers down those of the nodes that nobody will request machines
// for. The call may come from a shell, or late: the state in Slurm decides, and if
// that cannot be read no node is changed.
func (h hook) returnToSlurm(ctx context.Context, called []string, why error) error {
	client := h.app.scheduler(h.cfg)
	nodes, err := client.Nodes(ctx) // before the jobs, so that a job that has just started is seen
	if err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	jobs, err := client.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("read jobs: %w", err)
	}
	free := plan.PoweringUpForNothing(called, nodes, jobs)
	if len(free) == 0 {
		return nil
	}
	if err := client.UpdateNodes(ctx, free, slurm.NodeChange{State: "power_down_force", Reason: memo.ReasonPrefix + why.Error()}); err != nil {
		return err
	}
	h.log.Warn("nodes returned to Slurm", zap.String("returned", slurm.Fold(free)))
	return nil
}

// send calls the daemon, unless it was called already.
func (h hook) send(ctx context.Context, wakeUp flex.WakeUp) error {
	if h.unreceipted != "" {
		return errors.New(h.unreceipted)
	}
	return flex.Send(ctx, flex.SocketPath(h.cfg.Options.RunDir), wakeUp)
}

// startPass starts a pass that outlives this process. From 23.02 slurmctld kills
// the program's process group when the program exits, so the pass has a session of
// its own, and has it before Start returns.
func (h hook) startPass(wakeUp flex.WakeUp) error {
	if err := h.app.lock(h.cfg).Usable(); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	configPath, err := filepath.Abs(h.app.configPath)
	if err != nil {
		return err
	}
	pass := exec.Command(exe, "pass", "--config", configPath, "--verb", wakeUp.Verb, "--nodes", wakeUp.Nodes)
	pass.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pass.Dir = "/"
	out, err := logs.Open(h.cfg.Options.LogFile)
	if err == nil {
		defer out.Close()
		pass.Stdout, pass.Stderr = out, out
	}
	return pass.Start()
}

// delegate becomes the program that serves other nodes, with their part of the
// hostlist as its argument and our environment. It returns only if that fails.
func (h hook) delegate(wakeUp flex.WakeUp, calls flex.Calls) error {
	program := h.cfg.Options.Delegate.ResumeProgram
	if wakeUp.Verb != resume {
		program = h.cfg.Options.Delegate.SuspendProgram
	}
	list := wakeUp.Nodes
	if len(calls.Ours)+len(calls.Unknown) > 0 {
		list = slurm.Fold(calls.Others)
	}
	if program == "" {
		h.log.Warn("nodes of nodesets without dws_flex are left alone; slurmflex.delegate names no program for them",
			zap.String("others", list))
		return nil
	}
	err := config.CheckProgram(program)
	if err == nil {
		err = unix.Exec(program, []string{program, list}, os.Environ())
	}
	err = fmt.Errorf("delegate %s %s: %w", program, list, err)
	h.log.Error("delegate not started for the nodes of other nodesets", zap.Error(err))
	return err
}
