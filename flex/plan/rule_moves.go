package plan

import (
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// movesToKept has a job that waits move to kept machines that fit it, whatever is in its
// way.
func movesToKept(w *wanted, c *cohort) verdict {
	if c.job == nil || w.moves[c.job.ID] == nil {
		return verdict{}
	}
	to := w.moves[c.job.ID].to
	return verdict{do: moves, why: memo.Moving + slurm.Fold(to), kept: to}
}
