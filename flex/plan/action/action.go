// Package action has the changes that a pass can make, as data: what each works on, why, what it
// needs first, and what it is about. Package flex carries them out.
package action

import (
	"fmt"
	"slices"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Action is one change that a pass makes, and the reason for it. Only this package has actions.
type Action interface {
	// Because returns the reason, for the log and for `slurmflex plan`.
	Because() string

	about() Subject
}

// About returns the kind of an action and what it changes.
func About(a Action) Subject { return a.about() }

// kinds contains one action of each kind.
var kinds = []Action{
	CreateGroup{},
	CreateRequest{},
	CancelRequest{},
	DeleteRequest{},
	DeleteInstances{},
	DeleteGroup{},
	BulkInsert{},
	DeleteVMs{},
	CreatePolicy{},
	DeletePolicy{},
	SetNodes{},
	CreateReservation{},
	SetReservation{},
	DeleteReservation{},
	UseReservation{},
	CommentJob{},
	ReturnNodes{},
	SignalJob{},
	RequeueJob{},
}

// Kinds returns the names of all kinds of actions.
func Kinds() (names []string) {
	for _, a := range kinds {
		names = append(names, a.about().Kind)
	}
	return names
}

// Subject describes an action and what it changes, for logs and metrics.
type Subject struct {
	Kind string // one of Kinds, or of the actions in takedown.go
	Done string // the event in the log when the action has succeeded
	Text string // the action in one line

	// Queue names what the action works on. The actions of one queue run in the plan's order. An
	// action that needs an earlier, failed action of its queue is skipped; see Needs. Queues do not
	// wait for each other.
	Queue string

	Group string   // the managed instance group, or the workload policy with its name; empty: none
	Job   uint32   // the job that the action, or its group, is for; 0: none
	Nodes []string // the nodes, or the instances with their names
}

// Needs reports whether an action can only run after undone, an earlier action of its queue that
// did not succeed. All other actions are independent: a plan changes no node twice, and requests
// nothing that another request or an instance obstructs.
func Needs(a, undone Action) bool {
	switch a.(type) {
	case CreateGroup, CreateRequest:
		switch undone.(type) {
		case CreatePolicy, CreateGroup:
			return true
		}
	case UseReservation:
		_, making := undone.(CreateReservation)
		return making
	case CancelRequest:
		_, telling := undone.(CommentJob)
		return telling
	case DeleteGroup: // a group must be empty before it is deleted
		return true
	}
	told, comments := undone.(CommentJob)
	requeue, _ := a.(RequeueJob)
	return comments && !requeue.Urgent && slices.Contains(ActsOn(a), told.Job)
}

// ActsOn returns the jobs that an action ends, signals or requeues. Their owners read the
// reason in the AdminComment first: the action waits while Slurm cannot write it, except for a
// requeue that would be too late. ReturnNodes, which may affect several jobs, writes
// the AdminComments itself.
func ActsOn(a Action) []uint32 {
	switch a := a.(type) {
	case SignalJob:
		return []uint32{a.Job}
	case RequeueJob:
		return []uint32{a.Job}
	case SetNodes:
		return a.Jobs
	}
	return nil
}

// Why holds the reason for an action.
type Why string

// Because returns the reason.
func (w Why) Because() string { return string(w) }

// Of identifies the group that an action changes, or the workload policy with the group's name.
type Of struct {
	Group mig.GroupID
	Job   uint32 // the job that the group is for; 0: none
}

// ForGroup returns what an action on the group, or on its requests and instances, changes.
func ForGroup(g *mig.Group) Of { return Of{g.ID(), g.Stamp.Job} }

// subject describes an action in the group's queue, so that a policy is created before its group and the
// group before its requests.
func (o Of) subject(kind, done, text string, nodes ...string) Subject {
	return Subject{kind, done, text, o.Group.String(), o.Group.Name, o.Job, nodes}
}

// OfJob identifies the job that an action changes.
type OfJob struct{ Job uint32 }

// subject describes an action in a queue for this job alone.
func (o OfJob) subject(kind, done, text string, nodes ...string) Subject {
	return Subject{kind, done, text, fmt.Sprintf("job/%d", o.Job), "", o.Job, nodes}
}

// OfReservation identifies the reservation that an action changes.
type OfReservation struct{ Name string }

// subject describes an action in a queue for this reservation alone: if Slurm refuses one change, all
// others still run.
func (o OfReservation) subject(kind, done, text string, job uint32, nodes ...string) Subject {
	return Subject{kind, done, text, "reservation/" + o.Name, "", job, nodes}
}

// Counted formats the number of nodes and their names: 2 nodes (alpha-a3-[0-1]).
func Counted(nodes []string) string {
	return fmt.Sprintf("%s (%s)", Amount(len(nodes), "node"), slurm.Fold(nodes))
}

// Amount formats a number of things: 1 machine, 2 machines.
func Amount(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
