package takedown

import (
	"fmt"

	"slurmflex/flex/plan/action"
)

// ClosePartition stops a partition from starting jobs.
type ClosePartition struct {
	Name string
	action.Why
}

// About returns a subject without a job and nodes.
func (a ClosePartition) About() action.Subject { return action.Subject{Kind: "close_partition"} }
func (a ClosePartition) String() string        { return "close partition " + a.Name }

// Queue returns a queue for this partition alone.
func (a ClosePartition) Queue() string { return "partition/" + a.Name }

// EndJob takes a job's nodes away: it requeues or cancels the job.
type EndJob struct {
	action.OfJob
	Name string      // as squeue shows it
	Then action.Then // action.Requeue or action.Cancel
	action.Why
}

// About returns the job as the subject.
func (a EndJob) About() action.Subject { return action.Subject{Kind: "end_job", Job: a.Job} }
func (a EndJob) String() string        { return fmt.Sprintf("%s job %s", a.Then, a.Name) }

// TellJob notifies the owner of a job that keeps its nodes or waits pending for nodes.
type TellJob struct {
	action.OfJob
	Name string // as squeue shows it
	action.Why
}

// About returns the job as the subject.
func (a TellJob) About() action.Subject { return action.Subject{Kind: "tell_job", Job: a.Job} }
func (a TellJob) String() string        { return "notify the owner of job " + a.Name }
