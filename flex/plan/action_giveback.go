package plan

import (
	"fmt"

	"slurmflex/slurm"
)

// Then says what becomes of a job whose nodes go back to Slurm.
type Then string

// What may become of it.
const (
	Requeue Then = "requeue" // Slurm starts it again when it can
	Hold    Then = "hold"    // it stays in the queue until an admin releases it
	Cancel  Then = "cancel"  // it ends
	Lose    Then = "lose"    // Slurm ends it, for it would not requeue it
)

// GiveBack powers down nodes of a job, so that Slurm takes the job back, and
// does with it what Then says. Jobs that Slurm would not requeue are told first;
// see flex.
type GiveBack struct {
	Job      uint32
	Name     string   // as squeue shows it
	Others   []uint32 // that hold any of the nodes too
	Nodes    []string
	Extra    map[string]string // written to nodes, by their names; nil: none
	Reason   string
	Then     Then
	Hopeless bool // a job is lost rather than left waiting
}

func (a GiveBack) String() string {
	return fmt.Sprintf("give back %s and %s job %s", slurm.Fold(a.Nodes), a.Then, a.Name)
}

// Because returns the reason.
func (a GiveBack) Because() string { return a.Reason }

// Queue is the job's own.
func (a GiveBack) Queue() string { return jobQueue(a.Job) }
