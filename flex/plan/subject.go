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
		createGroup, createRequest, cancelRequest, deleteRequest, deleteInstances, deleteGroup, bulkInsert, deleteVMs,
		createPolicy, deletePolicy, setNodes, createReservation, setReservation, deleteReservation, tellJob, giveBack,
	}
}

const (
	createGroup       = "create_group"
	createRequest     = "create_request"
	cancelRequest     = "cancel_request"
	deleteRequest     = "delete_request"
	deleteInstances   = "delete_instances"
	deleteGroup       = "delete_group"
	bulkInsert        = "bulk_insert"
	deleteVMs         = "delete_vms"
	createPolicy      = "create_policy"
	deletePolicy      = "delete_policy"
	setNodes          = "set_nodes"
	createReservation = "create_reservation"
	setReservation    = "set_reservation"
	deleteReservation = "delete_reservation"
	tellJob           = "tell_job"
	giveBack          = "give_back"
)

// About says what the action is about.
func (a CreateGroup) About() Subject {
	return Subject{Kind: createGroup, Group: a.Spec.Name, Job: a.Spec.Stamp.Job}
}

// About says what the action is about.
func (a CreateRequest) About() Subject {
	return Subject{Kind: createRequest, Group: a.Group, Job: a.Job, Nodes: a.Spec.Instances}
}

// About says what the action is about.
func (a CancelRequest) About() Subject {
	return Subject{Kind: cancelRequest, Group: a.Group, Job: a.Job}
}

// About says what the action is about.
func (a DeleteRequest) About() Subject {
	return Subject{Kind: deleteRequest, Group: a.Group, Job: a.Job}
}

// About says what the action is about.
func (a DeleteInstances) About() Subject {
	return Subject{Kind: deleteInstances, Group: a.Group, Job: a.Job, Nodes: mig.Names(a.Instances)}
}

// About says what the action is about.
func (a DeleteGroup) About() Subject { return Subject{Kind: deleteGroup, Group: a.Group, Job: a.Job} }

// About says what the action is about.
func (a BulkInsert) About() Subject {
	return Subject{Kind: bulkInsert, Group: a.Group, Job: a.Spec.Stamp.Job, Nodes: a.Spec.Instances}
}

// About says what the action is about.
func (a DeleteVMs) About() Subject { return Subject{Kind: deleteVMs, Nodes: mig.Names(a.Instances)} }

// About says what the action is about.
func (a CreatePolicy) About() Subject {
	return Subject{Kind: createPolicy, Group: a.Spec.Name, Job: a.Spec.Stamp.Job}
}

// About says what the action is about.
func (a DeletePolicy) About() Subject { return Subject{Kind: deletePolicy, Group: a.Name} }

// About says what the action is about.
func (a SetNodes) About() Subject { return Subject{Kind: setNodes, Nodes: a.Nodes} }

// About says what the action is about.
func (a CreateReservation) About() Subject { return Subject{Kind: createReservation, Nodes: a.Nodes} }

// About says what the action is about.
func (a SetReservation) About() Subject { return Subject{Kind: setReservation, Nodes: a.Nodes} }

// About says what the action is about.
func (a DeleteReservation) About() Subject { return Subject{Kind: deleteReservation} }

// About says what the action is about.
func (a TellJob) About() Subject { return Subject{Kind: tellJob, Job: a.Job} }

// About says what the action is about.
func (a GiveBack) About() Subject { return Subject{Kind: giveBack, Job: a.Job, Nodes: a.Nodes} }
