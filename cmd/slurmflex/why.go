package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

func newWhy(a *app) *cobra.Command {
	verbose, story, summary := false, false, false
	cmd := &cobra.Command{
		Use: "why JOB|NODE|NODESET|GROUP", Short: "Explain why a job is waiting and what to do about it", GroupID: "ask",
		Args: oneArgument("812, 812_3, 812+1, alpha-a3-0, a3 or alpha-a3-job-812"),
		Long: `Explain a job, a node, a nodeset or a managed instance group: in the first line its
state, below it the cause, what is requested, the machines, what waits ahead, an
estimate, what happens next, and what you can do, each where there is something to say.
Give a job by the number that squeue shows: 812, 812_3 for a task of an array, 812+1
for a component of a heterogeneous job. --verbose adds earlier attempts and Google's
error messages in full, --story what has happened to the job so far. A job that has
left Slurm's queue is shown with its end and its story, from the history in
slurmflex.state_dir. The daemon shows those of the last day to any user.
--summary prints only how long the job waited and ran, and on what, in one line: for
the end of a job's own output.

Any user can run it: the daemon answers, at slurmflex.http_address. If no daemon
answers, the command reads Slurm and Compute itself, which needs credentials.`,
		Example: `  slurmflex why 812
  slurmflex why --verbose 812
  slurmflex why --story 812
  slurmflex why --summary 812
  slurmflex why 812_3
  slurmflex why alpha-a3-0`,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.see(cmd.Context())
			if err != nil {
				return err
			}
			var past *view.Past
			why := ""
			if jobs, isJob := v.Numbered(args[0]); isJob && (len(jobs) == 0 || len(jobs) == 1 && (story || summary)) {
				past, why = a.past(cmd.Context(), v, args[0])
			}
			explained, err := v.Why(args[0], time.Now(), past)
			if err != nil {
				return err
			}
			if explained.Past == nil {
				explained.Cause = cmp.Or(explained.Cause, why)
			}
			text := explained.Text(verbose)
			switch {
			case summary && (explained.Past == nil || explained.Past.Use == nil):
				err = fmt.Errorf("nothing is recorded of %q; give the number of a job that the daemon has seen in the last day or that the history has", view.Printable(args[0]))
			case summary:
				text = fmt.Sprintf("job %s: %s\n", explained.Past.Job.Name(), explained.Past.Use)
			case !verbose && len(explained.Details) > 0:
				text += "For more: " + cmd.CommandPath() + " --verbose " + args[0] + "\n"
			}
			if err != nil && !isJSON(cmd) {
				return err
			}
			return output(cmd, explained, text)
		},
	}
	jsonFlag(cmd)
	cmd.Flags().BoolVar(&story, "story", false, "also show what has happened to the job so far")
	cmd.Flags().BoolVar(&summary, "summary", false, "show only how long the job waited and ran, and on what, in one line")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show earlier attempts and whole error messages")
	return cmd
}

// past returns the job's story from the daemon, which has those of the last day, or from the history,
// or why there is none. This user may not be able to read the history.
func (a *app) past(ctx context.Context, v view.View, job string) (past *view.Past, why string) {
	if v.Daemon != nil {
		if seen := a.daemon().Story(ctx, config.GlanceAt(a.configPath), job); seen != nil {
			return seen, ""
		}
	}
	cfg, err := a.config()
	if err == nil {
		past, err = history.Story(cfg.Options.StateDir, cfg.Cluster, job)
	}
	if err != nil {
		return nil, "its story is unknown: " + view.Printable(err.Error())
	}
	return past, fmt.Sprintf("its story is unknown: the history in %s does not have it", cfg.Options.StateDir)
}
