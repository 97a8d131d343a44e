package plan

import (
	"cmp"
	"fmt"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// SetNodes gives nodes in Slurm a new power state, or other texts.
type SetNodes struct {
	Nodes   []string
	State   string   // scontrol's word: power_down, power_down_force, …; empty: as it is
	Reason  string   // written to the nodes; empty: none
	Comment *string  // written to the nodes; nil: none
	Extra   *string  // written to the nodes; nil: none
	Jobs    []uint32 // jobs that it ends or requeues, after their owners are notified
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

// Queue is one for all nodes: slurmctld takes one update at a time anyway, and
// one that comes late from an earlier plan must not undo a newer one.
func (a SetNodes) Queue() string { return "slurm" }

// Then says what becomes of a job whose nodes go back to Slurm.
type Then string

// What may become of it.
const (
	Requeue Then = "requeue" // Slurm starts it again when it can
	Hold    Then = "hold"    // it stays in the queue until an admin releases it
	Cancel  Then = "cancel"  // it ends
)

// ReturnNodes powers down nodes of a job, so that Slurm takes the job back, and
// does with it what Then says.
type ReturnNodes struct {
	OfJob
	Name   string   // as squeue shows it
	Others []uint32 // that hold any of the nodes too
	Nodes  []string
	Extra  map[string]string // written to nodes, by their names; nil: none
	Reason string
	Then   Then
	Door   string // the reservation of the nodes, if the job waits pending: it goes, and Slurm has nothing to take back
	Unused bool   // the job does not use Door
}

func (a ReturnNodes) About() Subject {
	return Subject{Kind: "return_nodes", Job: a.Job, Nodes: a.Nodes}
}

func (a ReturnNodes) String() string {
	return fmt.Sprintf("return %s to Slurm and %s job %s", cmp.Or(slurm.Fold(a.Nodes), "no nodes"), a.Then, a.Name)
}

// Because returns the reason.
func (a ReturnNodes) Because() string { return a.Reason }

// Comment returns the text for the owner of a job that loses its nodes by the action. Slurm requeues
// the other jobs on these nodes.
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

// CommentJob writes a job's AdminComment, which its owner sees in scontrol show job
// and in squeue -O admin_comment.
type CommentJob struct {
	OfJob
	Text   string
	Before string // the queue of the action that waits for it; empty: the job's own
	Why
}

// Queue is that of the action that waits for it.
func (a CommentJob) Queue() string { return cmp.Or(a.Before, a.OfJob.Queue()) }

func (a CommentJob) About() Subject { return Subject{Kind: "comment_job", Job: a.Job} }
func (a CommentJob) String() string {
	return fmt.Sprintf("set AdminComment of job %d: %q", a.Job, a.Text)
}

// SignalJob signals the script of a running job, or notifies the terminal of an interactive job,
// and then writes that to its AdminComment.
type SignalJob struct {
	OfJob
	Signal string // its name without SIG; empty: the terminal is notified
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
	Urgent bool // its machines end before it could be tried again
	Why
}

func (a RequeueJob) About() Subject { return Subject{Kind: "requeue_job", Job: a.Job} }
func (a RequeueJob) String() string { return fmt.Sprintf("requeue job %d", a.Job) }

// CreateReservation keeps jobs off nodes around the end of their lease, for some time from now on, or
// until machines have come; or all jobs but one.
type CreateReservation struct {
	OfReservation
	Nodes []string
	Start time.Time
	Lasts time.Duration // in whole minutes; 0: without end
	Maint bool          // for the end of a lease
	User  string        // of the one job; empty: all are kept off
	Job   uint32        // that one; 0: all are kept off
	Purge time.Duration // after which Slurm deletes it unless a pass raises that or a job uses it; 0: never
	Why
}

func (a CreateReservation) About() Subject {
	return Subject{Kind: "create_reservation", Nodes: a.Nodes}
}

func (a CreateReservation) String() string {
	if a.Lasts == 0 {
		return fmt.Sprintf("reserve %s from %s", slurm.Fold(a.Nodes), a.Start.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("reserve %s from %s for %d min", slurm.Fold(a.Nodes), a.Start.UTC().Format(time.RFC3339), a.Lasts/time.Minute)
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

// UseReservation has a pending job use a reservation of ours, or no reservation any more.
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
	Job     uint32 // that is to use it no longer; 0: none
	Address string // of a pending job that is to use it no longer; empty: none
	Late    string // Slurm's reason why the job did not start in it with all its machines; empty: it is not late
	Unused  bool   // the job does not use it
	Why
}

func (a DeleteReservation) About() Subject { return Subject{Kind: "delete_reservation", Job: a.Job} }
func (a DeleteReservation) String() string { return "delete reservation " + a.Name }
