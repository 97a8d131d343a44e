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

func newHook(a *app, verb, short string) *cobra.Command {
	unreceipted := ""
	cmd := &cobra.Command{
		Use: verb + " HOSTLIST", Short: short, GroupID: "hook",
		Long: short + `.

It hands over to the daemon, or begins a round of its own where none runs, and
ends at once. What is done goes by what Slurm says of the nodes, not by the
arguments, so it does no harm to call it by hand. It runs as SlurmUser.`,
		Example: "  slurmflex " + verb + " 'alpha-a3-[0-3]'",
		Args:    exactly(1, "it takes one hostlist, such as alpha-a3-[0-3]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Slurm keeps this file only while the program runs, and not even
			// so long around a reconfigure: read it before anything else.
			jobs, fileErr := flex.ResumedJobs(os.Getenv("SLURM_RESUME_FILE"))
			cfg, err := a.config()
			if err != nil {
				return a.onlyHandOver(cmd.Context(), flex.Hint{Verb: verb, Nodes: args[0], Jobs: jobs}, err)
			}
			log := a.logIfPossible(cfg.Options)
			h := hook{app: a, cfg: cfg, log: log.With(zap.String("hook", verb), zap.String("nodes", args[0])), unreceipted: unreceipted}
			if fileErr != nil && verb == resume {
				h.log.Warn("the round goes by what squeue says", zap.Error(fileErr))
			}
			return h.run(cmd.Context(), flex.Hint{Cluster: cfg.Cluster, Verb: verb, Nodes: args[0], Jobs: jobs})
		},
	}
	cmd.Flags().StringVar(&unreceipted, "unreceipted", "", "the daemon was told already, and `why` there is no receipt")
	_ = cmd.Flags().MarkHidden("unreceipted") // slurmflex-hook's; it fails for unknown flags only
	return cmd
}

// onlyHandOver gives a call to the daemon, which has a configuration, where there
// is none that the hook could use: nobody but the daemon knows whose the nodes are.
func (a *app) onlyHandOver(ctx context.Context, hint flex.Hint, wrong error) error {
	log := a.logToSyslog().With(zap.String("hook", hint.Verb), zap.String("nodes", hint.Nodes),
		zap.String("wrong", view.Clip(wrong.Error(), 2000))) // what does not fit into a message is lost
	at := config.GlanceAt(a.configPath)
	hint.Cluster = at.Cluster
	if err := flex.Send(ctx, flex.SocketPath(at.RunDir), hint); err != nil {
		log.Error("nothing done: the configuration cannot be used, and no daemon took the call", zap.Error(err))
		return wrong
	}
	log.Error("the configuration cannot be used; the daemon took the call, but nodes of a delegate are not served")
	return nil
}

// hook is one call of slurmctld. It must be over within milliseconds:
// slurmctld may be waiting for it.
type hook struct {
	app *app
	cfg *config.Config
	log *zap.Logger

	unreceipted string // why the daemon, which was told already, gave no receipt; empty: it was not told
}

func (h hook) run(ctx context.Context, hint flex.Hint) error {
	names, err := slurm.Expand(hint.Nodes)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no nodes in hostlist %q; give one such as alpha-a3-[0-3]", hint.Nodes)
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
		failed = h.handOver(ctx, hint, calls.Ours)
	}
	if len(calls.Others) > 0 {
		if err := h.delegate(hint, calls); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// handOver gives the call to the daemon, or else to a round of its own. If
// neither can be, the nodes go back to Slurm.
func (h hook) handOver(ctx context.Context, hint flex.Hint, ours []string) error {
	sent := h.send(ctx, hint)
	if sent == nil {
		return nil
	}
	if !errors.Is(sent, os.ErrNotExist) {
		h.log.Warn("no daemon took the call; a round of its own begins", zap.Error(sent))
	}
	started := h.startRound(hint)
	if started == nil {
		return nil
	}
	err := fmt.Errorf("%s %s: no daemon (%w) and no round of its own (%w)", hint.Verb, slurm.Fold(ours), sent, started)
	h.log.Error("not handed over", zap.Error(err))
	if hint.Verb == resume {
		if back := h.returnToSlurm(ctx, ours, started); back != nil {
			h.log.Error("nodes not given back to Slurm", zap.Error(back))
			return errors.Join(err, back)
		}
	}
	return err
}

// returnToSlurm powers down those of the nodes that nobody will request machines
// for. The call may come from a shell, or late: what Slurm shows decides, and
// without it no node is changed.
func (h hook) returnToSlurm(ctx context.Context, called []string, why error) error {
	client := h.app.scheduler(h.cfg)
	nodes, err := client.Nodes(ctx) // before the jobs, so that a job that has just begun is seen
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
	h.log.Warn("nodes given back to Slurm", zap.String("returned", slurm.Fold(free)))
	return nil
}

// send tells the daemon, unless it was told already.
func (h hook) send(ctx context.Context, hint flex.Hint) error {
	if h.unreceipted != "" {
		return errors.New(h.unreceipted)
	}
	return flex.Send(ctx, flex.SocketPath(h.cfg.Options.RunDir), hint)
}

// startRound starts a round that outlives this process. From 23.02 slurmctld
// kills the program's process group when the program exits, so the round has a
// session of its own, which it has before Start returns.
func (h hook) startRound(hint flex.Hint) error {
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
	round := exec.Command(exe, "round", "--config", configPath, "--verb", hint.Verb, "--nodes", hint.Nodes)
	round.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	round.Dir = "/"
	out, err := openLog(h.cfg.Options.LogFile)
	if err == nil {
		defer out.Close()
		round.Stdout, round.Stderr = out, out
	}
	return round.Start()
}

// delegate becomes the program that serves other nodes, with their part of the
// hostlist as its argument and our environment. It returns only if that fails.
func (h hook) delegate(hint flex.Hint, calls flex.Calls) error {
	program := h.cfg.Options.Delegate.ResumeProgram
	if hint.Verb != resume {
		program = h.cfg.Options.Delegate.SuspendProgram
	}
	list := hint.Nodes
	if len(calls.Ours)+len(calls.Unknown) > 0 {
		list = slurm.Fold(calls.Others)
	}
	if program == "" {
		h.log.Warn("nodes of nodesets without dws_flex are left alone: slurmflex.delegate names no program for them",
			zap.String("others", list))
		return nil
	}
	err := config.CheckProgram(program)
	if err == nil {
		err = unix.Exec(program, []string{program, list}, os.Environ())
	}
	err = fmt.Errorf("delegate %s %s: %w", program, list, err)
	h.log.Error("nodes of other nodesets not handed on", zap.Error(err))
	return err
}
