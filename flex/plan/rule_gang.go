package plan

// gangTorn returns a job to Slurm if its allocation is still incomplete after gang_timeout.
func gangTorn(w *wanted, c *cohort) verdict {
	if w.torn[c] == "" {
		return verdict{}
	}
	return w.giveUp(c, Requeue, false, "gang-timeout", w.torn[c])
}
