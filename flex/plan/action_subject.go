package plan

import "slurmflex/mig"

// Subject is what an action is about, for logs and metrics.
type Subject struct {
	Kind  string   // one of Kinds
	Group string   // the managed instance group, or the workload policy of that name; empty: none
	Job   uint32   // that the action is for, or that its group was made for; 0: none
	Nodes []string // or the instances of that name
}

// Kinds are the kinds of actions.
func Kinds() []string {
	return []string{
		kindCreateGroup, kindCreateRequest, kindCancelRequest, kindDeleteRequest, kindDeleteInstances, kindDeleteGroup, kindBulkInsert, kindDeleteVMs,
		kindCreatePolicy, kindDeletePolicy, kindSetNodes, kindCreateReservation, kindSetReservation, kindDeleteReservation, kindTellJob, kindGiveBack,
	}
}

const (
	kindCreateGroup       = "create_group"
	kindCreateRequest     = "create_request"
	kindCancelRequest     = "cancel_request"
	kindDeleteRequest     = "delete_request"
	kindDeleteInstances   = "delete_instances"
	kindDeleteGroup       = "delete_group"
	kindBulkInsert        = "bulk_insert"
	kindDeleteVMs         = "delete_vms"
	kindCreatePolicy      = "create_policy"
	kindDeletePolicy      = "delete_policy"
	kindSetNodes          = "set_nodes"
	kindCreateReservation = "create_reservation"
	kindSetReservation    = "set_reservation"
	kindDeleteReservation = "delete_reservation"
	kindTellJob           = "tell_job"
	kindGiveBack          = "give_back"
)

// About says what the action is about.
func (a CreateGroup) About() Subject {
	return Subject{Kind: kindCreateGroup, Group: a.Spec.Name, Job: a.Spec.Stamp.Job}
}

// About says what the action is about.
func (a CreateRequest) About() Subject {
	return Subject{Kind: kindCreateRequest, Group: a.Group, Job: a.Job, Nodes: a.Spec.Instances}
}

// About says what the action is about.
func (a CancelRequest) About() Subject {
	return Subject{Kind: kindCancelRequest, Group: a.Group, Job: a.Job}
}

// About says what the action is about.
func (a DeleteRequest) About() Subject {
	return Subject{Kind: kindDeleteRequest, Group: a.Group, Job: a.Job}
}

// About says what the action is about.
func (a DeleteInstances) About() Subject {
	return Subject{Kind: kindDeleteInstances, Group: a.Group, Job: a.Job, Nodes: mig.Names(a.Instances)}
}

// About says what the action is about.
func (a DeleteGroup) About() Subject {
	return Subject{Kind: kindDeleteGroup, Group: a.Group, Job: a.Job}
}

// About says what the action is about.
func (a BulkInsert) About() Subject {
	return Subject{Kind: kindBulkInsert, Group: a.Group, Job: a.Spec.Stamp.Job, Nodes: a.Spec.Instances}
}

// About says what the action is about.
func (a DeleteVMs) About() Subject {
	return Subject{Kind: kindDeleteVMs, Nodes: mig.Names(a.Instances)}
}

// About says what the action is about.
func (a CreatePolicy) About() Subject {
	return Subject{Kind: kindCreatePolicy, Group: a.Spec.Name, Job: a.Spec.Stamp.Job}
}

// About says what the action is about.
func (a DeletePolicy) About() Subject { return Subject{Kind: kindDeletePolicy, Group: a.Name} }

// About says what the action is about.
func (a SetNodes) About() Subject { return Subject{Kind: kindSetNodes, Nodes: a.Nodes} }

// About says what the action is about.
func (a CreateReservation) About() Subject {
	return Subject{Kind: kindCreateReservation, Nodes: a.Nodes}
}

// About says what the action is about.
func (a SetReservation) About() Subject { return Subject{Kind: kindSetReservation, Nodes: a.Nodes} }

// About says what the action is about.
func (a DeleteReservation) About() Subject { return Subject{Kind: kindDeleteReservation} }

// About says what the action is about.
func (a TellJob) About() Subject { return Subject{Kind: kindTellJob, Job: a.Job} }

// About says what the action is about.
func (a GiveBack) About() Subject { return Subject{Kind: kindGiveBack, Job: a.Job, Nodes: a.Nodes} }
