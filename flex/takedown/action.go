package takedown

import (
	"fmt"

	"slurmflex/flex/plan"
)

// ClosePartition has a partition begin no jobs.
type ClosePartition struct {
	Name string
	plan.Why
}

// About says that it concerns no job and no node.
func (a ClosePartition) About() plan.Subject { return plan.Subject{Kind: "close_partition"} }
func (a ClosePartition) String() string      { return "close partition " + a.Name }

// Queue is the partition's own.
func (a ClosePartition) Queue() string { return "partition/" + a.Name }

// EndJob takes a job's nodes from it: it is requeued, or cancelled.
type EndJob struct {
	plan.OfJob
	Name string    // as squeue shows it
	Then plan.Then // plan.Requeue or plan.Cancel
	plan.Why
}

// About says which job it concerns.
func (a EndJob) About() plan.Subject { return plan.Subject{Kind: "end_job", Job: a.Job} }
func (a EndJob) String() string      { return fmt.Sprintf("%s job %s", a.Then, a.Name) }

// TellJob notifies the owner of a job that keeps its nodes, or that waits pending for them.
type TellJob struct {
	plan.OfJob
	Name string // as squeue shows it
	plan.Why
}

// About says which job it concerns.
func (a TellJob) About() plan.Subject { return plan.Subject{Kind: "tell_job", Job: a.Job} }
func (a TellJob) String() string      { return "notify the owner of job " + a.Name }
