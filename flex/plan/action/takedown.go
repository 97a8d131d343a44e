package action

import "fmt"

// The actions in this file are planned by `slurmflex down` only; see package takedown.

// Stage is an action and its condition.
type Stage struct {
	Action
	Once string // condition for the action; empty: due now
}

// about describes the action and its condition.
func (s Stage) about() Subject {
	about := s.Action.about()
	if s.Once != "" {
		about.Text += ", once " + s.Once
	}
	return about
}

// ClosePartition stops a partition from starting jobs.
type ClosePartition struct {
	Name string
	Why
}

func (a ClosePartition) about() Subject {
	return Subject{Kind: "close_partition", Done: "partition closed", Text: "close partition " + a.Name, Queue: "partition/" + a.Name}
}

// EndJob takes a job's nodes away: it requeues or cancels the job.
type EndJob struct {
	OfJob
	Name string // as squeue shows it
	Then Then   // Requeue or Cancel
	Why
}

func (a EndJob) about() Subject {
	return a.subject("end_job", a.Then.done(), fmt.Sprintf("%s job %s", a.Then, a.Name))
}

// TellJob notifies the owner of a job that keeps its nodes or waits pending for nodes.
type TellJob struct {
	OfJob
	Name string // as squeue shows it
	Why
}

func (a TellJob) about() Subject {
	return a.subject("tell_job", "owner notified", "notify the owner of job "+a.Name)
}
