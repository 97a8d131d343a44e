package action

import "fmt"

// The actions in this file are planned by `slurmflex down` only; see package takedown.

// ClosePartition stops a partition from starting jobs.
type ClosePartition struct {
	Name string
	Why
}

func (a ClosePartition) About() Subject {
	return Subject{Kind: "close_partition", Done: "partition closed", Text: "close partition " + a.Name, Queue: "partition/" + a.Name}
}

// EndJob takes a job's nodes away: it requeues or cancels the job.
type EndJob struct {
	OfJob
	Name string // as squeue shows it
	Then Then   // Requeue or Cancel
	Why
}

func (a EndJob) About() Subject {
	return a.about("end_job", a.Then.done(), fmt.Sprintf("%s job %s", a.Then, a.Name))
}

// TellJob notifies the owner of a job that keeps its nodes or waits pending for nodes.
type TellJob struct {
	OfJob
	Name string // as squeue shows it
	Why
}

func (a TellJob) About() Subject {
	return a.about("tell_job", "owner notified", "notify the owner of job "+a.Name)
}
