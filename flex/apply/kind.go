package apply

import "slurmflex/flex/plan/action"

// InSlurm reports whether Slurm executes an action, which takes seconds at most unless slurmctld is
// slow. Compute may take minutes.
func InSlurm(a action.Action) bool {
	slurm, _ := inSlurm(a.About().Kind)
	return slurm
}

// inSlurm reports whether Slurm executes a kind of action. memory.Retries delays changes that Slurm
// rejected; the planner delays changes that Compute rejected.
func inSlurm(kind string) (slurm, known bool) {
	slurm, known = map[string]bool{
		"create_group":       false,
		"create_request":     false,
		"cancel_request":     false,
		"delete_request":     false,
		"delete_instances":   false,
		"delete_group":       false,
		"bulk_insert":        false,
		"delete_vms":         false,
		"create_policy":      false,
		"delete_policy":      false,
		"set_nodes":          true,
		"create_reservation": true,
		"set_reservation":    true,
		"delete_reservation": true,
		"use_reservation":    true,
		"comment_job":        true,
		"return_nodes":       true,
		"signal_job":         true,
		"requeue_job":        true,
	}[kind]
	return slurm, known
}
