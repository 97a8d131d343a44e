package fakeslurm

// limitOf returns the reason that Slurm shows when a limit prevents the job from starting, or
// "". Pending jobs do not count towards limits.
func (c *Cluster) limitOf(j *job) string {
	if j.spec.Licenses == 0 {
		return ""
	}
	licenses := j.spec.Licenses
	for _, other := range c.queue {
		if other.active() {
			licenses += other.spec.Licenses
		}
	}
	if licenses > c.o.Licenses {
		return "Licenses"
	}
	return ""
}
