// Package gate holds the PrologSlurmctld of jobs until their nodes are up. slurmctld ends
// CONFIGURING in a loop of 30 s, or when a job's PrologSlurmctld ends: a job whose gate
// opens when its last node has registered starts at once. Every doubt opens a gate, and its
// job starts as it would without.
package gate

import (
	"slices"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Outcome is why a gate has opened.
type Outcome string

// The outcomes. A gate for no flex node has none.
const (
	Up      Outcome = "up"      // the job's nodes are up
	Left    Outcome = "left"    // the job is losing its nodes, has lost them, or is not known
	Ended   Outcome = "ended"   // Slurm has ended the gate
	Full    Outcome = "full"    // too many gates were held
	Unsure  Outcome = "unsure"  // passes failed, or none ended in time
	Stopped Outcome = "stopped" // the daemon stopped
)

// Outcomes are all of them.
func Outcomes() []Outcome { return []Outcome{Up, Left, Ended, Full, Unsure, Stopped} }

// Waiting is a job at its gate.
type Waiting struct {
	Job   uint32
	Het   uint32   // the heterogeneous job that it is a component of; 0: none
	Nodes []string // that the gate waits for: of a component, those of all once a pass has seen them
	Since time.Time

	// Near says that its machines exist as far as is known, so that its nodes may come up
	// at any time. Of a component nothing is known before the first pass.
	Near bool
	// Cold says that one of its nodes was seen that is not up yet.
	Cold bool
}

// judge is what a pass means for a job at its gate: still waiting, or why its gate opens
// before the pass acts: give-backs are quicker with no gate in the way.
func judge(w Waiting, s *scene.Scene, actions []plan.Action) (Waiting, Outcome) {
	if !s.Seen.Begun.After(w.Since) {
		return w, "" // what was read may be older than the job's nodes
	}
	j := s.Job(w.Job)
	if j == nil || !j.State.HoldsNodes() || j.State.AtWork() || slices.ContainsFunc(actions, w.takenBy) {
		return w, Left
	}
	if w.Het != 0 {
		w.Nodes = nil
		for _, j := range s.Seen.Jobs {
			if j.HetID == w.Het {
				w.Nodes = append(w.Nodes, j.Nodes...)
			}
		}
	}
	var nodes []slurm.Node
	for _, name := range w.Nodes {
		if n := s.Shown(name); n != nil {
			nodes = append(nodes, *n)
		}
	}
	w, outcome := look(w, nodes)
	w.Near = !slices.ContainsFunc(nodes, func(n slurm.Node) bool {
		return cold(n.State) && n.State.Has(slurm.Cloud) &&
			!slices.ContainsFunc(s.MachinesOf(n.Name), func(in scene.Machine) bool { return !in.Leaving() })
	})
	return w, outcome
}

// look is what the nodes mean for a job at its gate. A node that is not among them is no
// reason to wait.
func look(w Waiting, nodes []slurm.Node) (Waiting, Outcome) {
	if slices.ContainsFunc(nodes, func(n slurm.Node) bool { return w.has(n.Name) && cold(n.State) }) {
		w.Cold = true
		return w, ""
	}
	return w, Up
}

// cold reports whether a node is surely not up yet.
func cold(s slurm.State) bool {
	return s.Flags&(slurm.PoweredDown|slurm.PoweringDown|slurm.PowerUp|slurm.PoweringUp) != 0
}

func (w Waiting) has(node string) bool { return slices.Contains(w.Nodes, node) }

// takenBy reports whether an action takes nodes from the job.
func (w Waiting) takenBy(a plan.Action) bool {
	switch a := a.(type) {
	case plan.ReturnNodes:
		return a.Job == w.Job || slices.ContainsFunc(a.Nodes, w.has)
	case plan.SetNodes:
		return a.State == "power_down_force" && slices.ContainsFunc(a.Nodes, w.has)
	}
	return false
}
