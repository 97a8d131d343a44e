package apply

import "slurmflex/flex/plan/action"

// InSlurm reports whether Slurm executes an action that a pass has planned. This takes seconds at most unless
// slurmctld is slow; Compute may take minutes. memory.IsDue delays changes that Slurm rejected; the planner
// delays changes that Compute rejected.
func InSlurm(a action.Action) bool {
	switch a.(type) {
	case action.SetNodes, action.CreateReservation, action.SetReservation, action.DeleteReservation, action.UseReservation,
		action.CommentJob, action.ReturnNodes, action.SignalJob, action.RequeueJob:
		return true
	}
	return false
}
