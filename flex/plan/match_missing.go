package plan

// missing returns the cohort's nodes that neither have an instance nor are requested,
// and what has to come first. There are none while an old instance or request of the
// same name is still in the way: they are requested together once it has gone.
func (w *wanted) missing(c *cohort) (missing, first []string) {
	if g := w.groups[c.id()]; g != nil && w.isAhead(g) {
		return nil, []string{"the request of " + c.group + " to show"}
	}
	for _, name := range c.nodes {
		stays, leaves := w.machine(name)
		switch {
		case stays && !w.hasMachine(name):
			first = append(first, "the instance of "+name+" to show who made it")
			continue
		case stays:
			continue
		case leaves:
			return nil, append(first, "the old instance of "+name+" to be gone")
		case c.live != nil && c.live.request.Names(name):
			continue
		case len(w.requests[name]) > 0:
			return nil, append(first, "another request for "+name+" to end")
		case w.mayShow[name] || w.snap.Inserted[name]:
			return nil, append(first, "the instance of "+name+" to show")
		}
		missing = append(missing, name)
	}
	return missing, first
}
