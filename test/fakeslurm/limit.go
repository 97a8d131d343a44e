package fakeslurm

// UserLimit limits the resources that one user's jobs may use at the same time, as an
// association does.
type UserLimit struct {
	User  string
	Jobs  int // MaxJobs; 0: no limit
	Nodes int // GrpTRES=node; 0: no limit
}

// limitOf returns the reason that Slurm shows when a limit prevents the job from starting, or
// "". Pending jobs do not count towards limits.
func (c *Cluster) limitOf(j *job) string {
	if len(c.o.Limits) == 0 && j.spec.Licenses == 0 {
		return ""
	}
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
