package action

import (
	"cmp"
	"fmt"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// SetNodes sets a new power state, or new texts, for nodes in Slurm.
type SetNodes struct {
	Nodes   []string
	State   string   // as scontrol spells it: power_down, power_down_force, …; empty: unchanged
	Reason  string   // written to the nodes; empty: unchanged
	Comment *string  // written to the nodes; nil: unchanged
	Extra   *string  // written to the nodes; nil: unchanged
	Jobs    []uint32 // the jobs that the change ends or requeues, after their owners are notified
	Why
}

// about describes the change. All changes of nodes share a queue: slurmctld processes one update at a
// time anyway, and a late update from an earlier plan must not undo a newer update.
func (a SetNodes) about() Subject {
	text := "set nodes " + slurm.Fold(a.Nodes)
	if a.State != "" {
		text += " " + a.State
	}
	if a.Comment != nil {
		text += fmt.Sprintf(" comment %q", *a.Comment)
	}
	if a.Extra != nil {
		text += fmt.Sprintf(" extra %q", *a.Extra)
	}
	return Subject{Kind: "set_nodes", Done: "nodes updated", Text: text, Queue: "slurm", Nodes: a.Nodes}
}

// Then is what happens to a job after slurmflex returns its nodes to Slurm.
type Then string

// The values of Then.
const (
	Requeue Then = "requeue" // Slurm starts the job again when it can
	Hold    Then = "hold"    // the job remains in the queue until an admin releases it
	Cancel  Then = "cancel"  // the job is cancelled
)

// done is the event in the log when it has happened to a job.
func (t Then) done() string {
	return map[Then]string{Requeue: "job requeued", Hold: "job held", Cancel: "job cancelled"}[t]
}

// ReturnNodes powers down nodes of a job, so that the job loses them. Then is what happens to the
// job.
type ReturnNodes struct {
	OfJob
	Name   string   // the job, as squeue shows it
	Others []uint32 // other jobs that hold any of the nodes
	Nodes  []string
	Extra  map[string]string // written to the nodes, by node name; nil: unchanged
	Reason string
	Then   Then
	// The reservation of the nodes, if the job waits pending: slurmflex deletes it, and the job has
	// no nodes to lose.
	Door    string
	Address string // of the job that waits pending
	Unused  bool   // the job does not use Door
}

func (a ReturnNodes) about() Subject {
	text := fmt.Sprintf("return %s to Slurm and %s job %s", cmp.Or(slurm.Fold(a.Nodes), "no nodes"), a.Then, a.Name)
	return a.subject("return_nodes", a.Then.done(), text, a.Nodes...)
}

// Because returns the reason.
func (a ReturnNodes) Because() string { return a.Reason }

// Comment returns the AdminComment for a job that loses its nodes by the action. Slurm requeues the
// other jobs on these nodes.
func (a ReturnNodes) Comment(job uint32, at time.Time) string {
	d := memo.Done{Deed: memo.Requeued, At: at, Reason: a.Reason}
	switch {
	case job != a.Job:
	case a.Then == Hold:
		d.Deed = memo.JobHeld
	case a.Then == Cancel:
		d.Deed = memo.Cancelled
	case a.Door != "":
		d.Deed = memo.Again
	}
	return d.String()
}

// CommentJob writes a job's AdminComment, which its owner sees in scontrol show job and in squeue
// -O admin_comment.
type CommentJob struct {
	OfJob
	Text   string
	Before string // the queue of the action that waits for this one; empty: the job's own queue
	Why
}

func (a CommentJob) about() Subject {
	about := a.subject("comment_job", "AdminComment set", fmt.Sprintf("set AdminComment of job %d: %q", a.Job, a.Text))
	about.Queue = cmp.Or(a.Before, about.Queue)
	return about
}

// SignalJob signals the script of a running job, or notifies the terminal of an interactive job,
// and then writes that to its AdminComment.
type SignalJob struct {
	OfJob
	Signal string // the signal's name without SIG; empty: slurmflex notifies the terminal
	Text   string // the AdminComment
	Why
}

func (a SignalJob) about() Subject {
	text := fmt.Sprintf("send %s to job %d", a.Signal, a.Job)
	if a.Signal == "" {
		text = fmt.Sprintf("notify the terminal of job %d", a.Job)
	}
	return a.subject("signal_job", "job signalled", text)
}

// RequeueJob requeues a running job.
type RequeueJob struct {
	OfJob
	Urgent bool // its machines end before the requeue could be retried
	Why
}

func (a RequeueJob) about() Subject {
	return a.subject("requeue_job", "job requeued", fmt.Sprintf("requeue job %d", a.Job))
}

// CreateReservation keeps jobs off nodes: all jobs around the end of a lease, all jobs while a
// cover closes powered-down nodes, or all jobs except the one that a door is for.
type CreateReservation struct {
	OfReservation
	Nodes []string
	Start time.Time     // zero: now
	Lasts time.Duration // in whole minutes; 0: unlimited
	Maint bool          // for the end of a lease
	User  string        // the user of the one job that may use it; empty: no job may
	Job   uint32        // the one job that may use it; 0: no job may
	// Purge_comp: Slurm deletes the reservation if no job uses it and no pass raises this value for
	// so long; 0: never.
	Purge time.Duration
	Why
}

func (a CreateReservation) about() Subject {
	text := "reserve " + slurm.Fold(a.Nodes)
	if !a.Start.IsZero() {
		text += " from " + a.Start.UTC().Format(time.RFC3339)
	}
	if a.Lasts > 0 {
		text += fmt.Sprintf(" for %d min", a.Lasts/time.Minute)
	}
	return a.subject("create_reservation", "reservation created", text, 0, a.Nodes...)
}

// SetReservation changes one of slurmflex's reservations.
type SetReservation struct {
	OfReservation
	slurm.ReservationChange
	Why
}

func (a SetReservation) about() Subject {
	text := "change reservation " + a.Name
	if a.Nodes != nil {
		text += " to " + slurm.Fold(a.Nodes)
	}
	if !a.Start.IsZero() {
		text += " from " + a.Start.UTC().Format(time.RFC3339)
	}
	if !a.End.IsZero() {
		text += " until " + a.End.UTC().Format(time.RFC3339)
	}
	if a.Purge > 0 {
		text += fmt.Sprintf(", deleted after %d min without a pass", a.Purge/time.Minute)
	}
	return a.subject("set_reservation", "reservation changed", text, 0, a.Nodes...)
}

// UseReservation makes a pending job use one of our reservations, or none.
type UseReservation struct {
	OfReservation
	Job     uint32
	Address string // see slurm.Job.Address
	Leave   bool
	Why
}

func (a UseReservation) about() Subject {
	does := "use"
	if a.Leave {
		does = "leave"
	}
	return a.subject("use_reservation", "reservation of a job changed", fmt.Sprintf("have job %s %s reservation %s", a.Address, does, a.Name), a.Job)
}

// DeleteReservation deletes a reservation of ours.
type DeleteReservation struct {
	OfReservation
	Job     uint32 // the job that it is for, or that must stop using it; 0: none
	Address string // the address of the job that must stop using it; empty: none
	// Slurm's reason why the job did not start although all its machines were there; empty: the job
	// is not late.
	Late   string
	Unused bool // the job does not use it
	Why
}

func (a DeleteReservation) about() Subject {
	return a.subject("delete_reservation", "reservation deleted", "delete reservation "+a.Name, a.Job)
}
