package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
)

// Loss is nodes that are up in Slurm and whose machines are gone, while jobs have
// them.
type Loss struct {
	NodeSet string
	Region  string
	Nodes   []string
	Jobs    []uint32 // the most important first
	Cause   LossCause
	Ended   time.Time // the lease, if that is the cause
}

// LossCause is why a machine is lost to its job.
type LossCause string

// The causes.
const (
	LeaseEnded LossCause = "lease_ended"
	Stopped    LossCause = "stopped" // it is there, and cannot be started again
	Gone       LossCause = "gone"    // Compute does not list it: deleted by somebody, or lost by Google
)

// LossCauses are all there are.
func LossCauses() []LossCause { return []LossCause{LeaseEnded, Stopped, Gone} }

// String says what has happened.
func (l Loss) String() string {
	machine, is := "machine", "is"
	if len(l.Nodes) > 1 {
		machine, is = "machines", "are"
	}
	subject := fmt.Sprintf("the %s of %s %s ", machine, slurm.Fold(l.Nodes), is)
	switch l.Cause {
	case LeaseEnded:
		return subject + "gone: the lease ended at " + l.Ended.UTC().Format(time.RFC3339)
	case Stopped:
		return subject + "stopped, and cannot be started again"
	}
	return subject + "gone: deleted by somebody, or lost by Google"
}

// lossOf says why the machine of a node is lost that is up and that a job has;
// empty if it is not. One that a list may show in a moment is not lost, and neither
// is one that a stranger's machine has come for.
func (s *scene) lossOf(m *member) (cause LossCause, ended time.Time) {
	if m.State.Power() != up || m.owner() == nil || len(s.requests[m.Name]) > 0 || s.unseen(m.set.Region) || s.mayShow[m.Name] || s.snap.Inserted[m.Name] {
		return "", time.Time{}
	}
	for _, in := range m.machines {
		if !in.Stopped() || !m.State.Has(slurm.NotResponding) { // the list may be old
			return "", time.Time{}
		}
		cause = Stopped
	}
	if end, over := s.endOf(m.Name); over {
		return LeaseEnded, end
	}
	if cause == "" {
		cause = Gone
	}
	return cause, time.Time{}
}

// losses are the machines that are gone while jobs have their nodes.
func (s *scene) losses() (losses []Loss) {
	for _, m := range s.members {
		cause, ended := s.lossOf(m)
		if cause == "" {
			continue
		}
		l := Loss{NodeSet: m.set.Name, Region: m.set.Region, Nodes: []string{m.Name}, Cause: cause, Ended: ended}
		for _, j := range m.jobs {
			if j.State != slurm.JobCompleting {
				l.Jobs = append(l.Jobs, j.ID)
			}
		}
		at := slices.IndexFunc(losses, func(k Loss) bool {
			return k.NodeSet == l.NodeSet && k.Cause == cause && k.Ended.Equal(ended) && slices.Equal(k.Jobs, l.Jobs)
		})
		if at < 0 {
			losses = append(losses, l)
		} else {
			losses[at].Nodes = append(losses[at].Nodes, m.Name)
		}
	}
	return losses
}
