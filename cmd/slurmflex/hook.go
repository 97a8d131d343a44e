package main

import (
	"os"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/hook"
	"slurmflex/flex/logs"
	"slurmflex/flex/wake"
)

// hookMark marks the commands that only slurmctld calls. The man page of slurmflex lists them; its
// help does not.
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
		Args:    oneArgument("alpha-a3-[0-3]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Slurm keeps this file only while the program runs, and removes it earlier around a
			// reconfigure: read it first.
			jobs, fileErr := wake.ResumedJobs(os.Getenv("SLURM_RESUME_FILE"))
			cfg, err := a.config()
			if err != nil {
				return hook.OnlyHandOver(cmd.Context(), config.GlanceAt(a.configPath), logs.ToSyslog(a.syslog), wake.Call{Verb: verb, Nodes: args[0], Jobs: jobs}, err)
			}
			log := a.logForHooks(cfg.Options).With(zap.String("hook", verb), zap.String("nodes", args[0]))
			h := hook.Hook{Config: cfg, File: a.configPath, Slurm: a.scheduler(cfg), Lock: a.lock(cfg), Log: log, Unreceipted: unreceipted}
			h.OpenLog = func() (*os.File, error) { return logs.Open(cfg.Options.LogFile) }
			return h.Run(cmd.Context(), wake.Call{Cluster: cfg.Cluster, Verb: verb, Nodes: args[0], Jobs: jobs}, fileErr)
		},
	}
	cmd.Flags().StringVar(&unreceipted, "unreceipted", "", "the daemon was called already, and `why` it has not answered")
	_ = cmd.Flags().MarkHidden("unreceipted") // for slurmflex-hook, which fails only for unknown flags
	return cmd
}
