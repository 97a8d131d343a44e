package fakeslurm

// UserLimit is what the jobs of a user may have at once, as an association limits it.
type UserLimit struct {
	User  string
	Jobs  int // MaxJobs; 0: no limit
	Nodes int // GrpTRES=node; 0: no limit
}

// limitOf is the reason of a job that a limit keeps from starting now; empty: none does. A job that
// waits for nodes counts to no limit.
func (c *Cluster) limitOf(j *job) string {
	jobs, nodes, licenses := 0, 0, 0
	for _, other := range c.queue {
		if !other.active() {
			continue
		}
		licenses += other.spec.Licenses
		if other.user() == j.user() {
			jobs++
			nodes += len(other.nodes)
		}
	}
	for _, l := range c.o.Limits {
		switch {
		case l.User != j.user():
		case l.Jobs > 0 && jobs >= l.Jobs:
			return "AssocMaxJobsLimit"
		case l.Nodes > 0 && nodes+j.count > l.Nodes:
			return "AssocGrpNodeLimit"
		}
	}
	if j.spec.Licenses > 0 && licenses+j.spec.Licenses > c.o.Licenses {
		return "Licenses"
	}
	return ""
}
