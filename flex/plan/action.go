package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Action is one thing to do, and why.
type Action interface {
	fmt.Stringer // what is done, in one line

	// Because is the reason, for the log and for `slurmflex plan`.
	Because() string

	// Queue names what the action works on. Actions of one queue are done in
	// the plan's order, without those that need one which was not done; queues do
	// not wait for each other.
	Queue() string

	// About says what kind of action it is, and on what.
	About() Subject
}

// kinds has one of each kind.
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

// Kinds are the kinds of actions.
func Kinds() (names []string) {
	for _, a := range kinds {
		names = append(names, a.About().Kind)
	}
	return names
}

// Subject is what an action is about, for logs and metrics.
type Subject struct {
	Kind  string   // one of Kinds
	Group string   // the managed instance group, or the workload policy of that name; empty: none
	Job   uint32   // that the action is for, or that its group was made for; 0: none
	Nodes []string // or the instances of that name
}

// Needs reports whether an action can only be done after an earlier one of its queue
// that was not. Others stand by themselves: a plan changes no node twice, and
// requests nothing that another request or an instance is in the way of.
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
	case DeleteGroup: // which must be empty
		return true
	}
	told, comments := undone.(CommentJob)
	requeue, _ := a.(RequeueJob)
	return comments && !requeue.Urgent && slices.Contains(acts(a), told.Job)
}

// acts returns the jobs that an action ends, signals or requeues. Their owners read the
// reason in the AdminComment first: the action waits while Slurm cannot write it, except for a
// requeue that would be too late. ReturnNodes, which may affect several jobs, writes
// the AdminComments itself.
func acts(a Action) []uint32 {
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

// Why is the reason for an action.
type Why string

// Because returns the reason.
func (w Why) Because() string { return string(w) }

// Of is what an action in a group, or on a workload policy of that name, works on.
type Of struct {
	Group mig.GroupID
	Job   uint32 // that the group is made for; 0: none
}

func of(g *mig.Group) Of { return Of{g.ID(), g.Stamp.Job} }

// Queue is the group, so that a policy comes before its group and that before its requests.
func (o Of) Queue() string { return o.Group.String() }

func (o Of) about(kind string, nodes ...string) Subject {
	return Subject{Kind: kind, Group: o.Group.Name, Job: o.Job, Nodes: nodes}
}

// OfJob is what an action on a job works on.
type OfJob struct{ Job uint32 }

// Queue is the job's own.
func (o OfJob) Queue() string { return fmt.Sprintf("job/%d", o.Job) }

// OfReservation is what an action on a reservation works on.
type OfReservation struct{ Name string }

// Queue is each reservation's own: one that Slurm refuses stops nothing else.
func (o OfReservation) Queue() string { return "reservation/" + o.Name }

// counted says how many nodes these are, and which: 2 nodes (alpha-a3-[0-1]).
func counted(nodes []string) string {
	return fmt.Sprintf("%s (%s)", amount(len(nodes), "node"), slurm.Fold(nodes))
}

// clock writes a duration as Slurm writes time limits: 2:00:00, 7-00:00:00.
func clock(d time.Duration) string {
	return slurm.Limit{Kind: slurm.LimitSet, Duration: d}.String()
}
