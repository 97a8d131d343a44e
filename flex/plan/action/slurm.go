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

func (a SetNodes) About() Subject { return Subject{Kind: "set_nodes", Nodes: a.Nodes} }
func (a SetNodes) String() string {
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
	return text
}

// Queue returns one queue for all nodes. slurmctld processes one update at a time anyway, and a
// late update from an earlier plan must not undo a newer update.
func (a SetNodes) Queue() string { return "slurm" }

// Then is what happens to a job after slurmflex returns its nodes to Slurm.
type Then string

// The values of Then.
const (
	Requeue Then = "requeue" // Slurm starts the job again when it can
	Hold    Then = "hold"    // the job remains in the queue until an admin releases it
	Cancel  Then = "cancel"  // the job is cancelled
)

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

func (a ReturnNodes) About() Subject {
	return Subject{Kind: "return_nodes", Job: a.Job, Nodes: a.Nodes}
}

func (a ReturnNodes) String() string {
	return fmt.Sprintf("return %s to Slurm and %s job %s", cmp.Or(slurm.Fold(a.Nodes), "no nodes"), a.Then, a.Name)
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

// Queue returns the queue of the action that waits for this one.
func (a CommentJob) Queue() string { return cmp.Or(a.Before, a.OfJob.Queue()) }

func (a CommentJob) About() Subject { return Subject{Kind: "comment_job", Job: a.Job} }
func (a CommentJob) String() string {
	return fmt.Sprintf("set AdminComment of job %d: %q", a.Job, a.Text)
}

// SignalJob signals the script of a running job, or notifies the terminal of an interactive job,
// and then writes that to its AdminComment.
type SignalJob struct {
	OfJob
	Signal string // the signal's name without SIG; empty: slurmflex notifies the terminal
	Text   string // the AdminComment
	Why
}

func (a SignalJob) About() Subject { return Subject{Kind: "signal_job", Job: a.Job} }
func (a SignalJob) String() string {
	if a.Signal == "" {
		return fmt.Sprintf("notify the terminal of job %d", a.Job)
	}
	return fmt.Sprintf("send %s to job %d", a.Signal, a.Job)
}

// RequeueJob requeues a running job.
type RequeueJob struct {
	OfJob
	Urgent bool // its machines end before the requeue could be retried
	Why
}

func (a RequeueJob) About() Subject { return Subject{Kind: "requeue_job", Job: a.Job} }
func (a RequeueJob) String() string { return fmt.Sprintf("requeue job %d", a.Job) }

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

func (a CreateReservation) About() Subject {
	return Subject{Kind: "create_reservation", Nodes: a.Nodes}
}

func (a CreateReservation) String() string {
	text := "reserve " + slurm.Fold(a.Nodes)
	if !a.Start.IsZero() {
		text += " from " + a.Start.UTC().Format(time.RFC3339)
	}
	if a.Lasts > 0 {
		text += fmt.Sprintf(" for %d min", a.Lasts/time.Minute)
	}
	return text
}

// SetReservation changes one of slurmflex's reservations.
type SetReservation struct {
	OfReservation
	slurm.ReservationChange
	Why
}

func (a SetReservation) About() Subject { return Subject{Kind: "set_reservation", Nodes: a.Nodes} }
func (a SetReservation) String() string {
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
	return text
}

// UseReservation makes a pending job use one of our reservations, or none.
type UseReservation struct {
	OfReservation
	Job     uint32
	Address string // see slurm.Job.Address
	Leave   bool
	Why
}

func (a UseReservation) About() Subject { return Subject{Kind: "use_reservation", Job: a.Job} }
func (a UseReservation) String() string {
	if !a.Leave {
		return fmt.Sprintf("have job %s use reservation %s", a.Address, a.Name)
	}
	return fmt.Sprintf("have job %s leave reservation %s", a.Address, a.Name)
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

func (a DeleteReservation) About() Subject { return Subject{Kind: "delete_reservation", Job: a.Job} }
func (a DeleteReservation) String() string { return "delete reservation " + a.Name }
