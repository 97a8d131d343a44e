package plan

// gangTorn gives a job back of whose nodes some have come and others have not within
// gang_timeout.
func gangTorn(w *wanted, c *cohort) verdict {
	if w.torn[c] == "" {
		return verdict{}
	}
	return w.giveUp(c, Requeue, false, "gang-timeout", w.torn[c])
}
