package chaos

import "slurmflex/flex/plan/memo"

// salvages reports whether a job names the reservation that holds machines for it.
func (c *check) salvages(job uint32) bool {
	return memo.ParseHold(cluster, c.w.slurm.JobReservation(job)).Kind == memo.SalvageHold
}
