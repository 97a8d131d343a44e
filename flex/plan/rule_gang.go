package plan

// gangTorn gives a job back of whose nodes some have come and others have not within
// gang_timeout; where it can, it moves on.
func gangTorn(w *wanted, c *cohort) verdict {
	if w.torn[c] == "" {
		return verdict{}
	}
	return w.moveOrGiveUp(c, Requeue, false, "gang-timeout", w.torn[c])
}
