// Package scene holds what a pass has seen of Slurm and of Compute, cross-referenced: the machines
// of each node, the jobs that hold it, the requests that name it, and what could not be read. Of
// builds the scene once. It never changes and contains nothing that is planned.
package scene

import (
	"slices"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Scene is what was seen, with its cross-references: which machine is a node's, who
// holds it, what is requested for it, and what could not be read. It is built once and
// does not change; nothing of what is planned is in it.
type Scene struct {
	Config *config.Config
	Seen   Snapshot

	nodes     map[string]*Node     // flex nodes that Slurm shows
	members   []*Node              // the same, by nodeset and index
	machines  []Machine            // every instance, sorted by name and zone
	instances map[string][]Machine // the same, by name; a name is unique in a zone only
	firstEnds map[uint32]Machine   // of each job's machines the one that ends first
	groups    map[mig.GroupID]*mig.Group
	inGroup   map[mig.GroupID]int // how many instances
	staying   map[mig.GroupID]int // of these, without those that are leaving
	requests  map[string][]Live   // live requests, by the names they ask for
	active    map[string]int      // live requests, by region
	activeOf  map[string]int      // the same, by nodeset
	mayShow   map[string]bool     // instances that a group may have though no list shows them
	ahead     map[string]bool     // nodesets with a group whose request does not show yet

	Moving    map[uint32]Move               // jobs on their way to kept machines
	Salvaging map[uint32]Move               // jobs for which machines are held after a loss
	rests     map[string]*slurm.Reservation // that close nodesets, by their names

	jobs   map[uint32]bool         // every job in the queue, whatever its state
	arrays map[uint32]bool         // the arrays of which it has tasks
	held   map[string]bool         // other nodes that a job holds
	others map[string][]*slurm.Job // the jobs that hold these, as far as they could be read
	unread map[string]string       // what could not be read, by the nodes that it may concern, and by region/group

	anyJob, anyNode bool // a job that could not be read may have any id, or hold any node

	boots map[*config.NodeSet]*Boots

	unreadable []Problem // rows, instances and groups that were left alone
}

// Of builds the scene of a snapshot.
func Of(cfg *config.Config, snap Snapshot) *Scene {
	s := &Scene{
		Config: cfg, Seen: snap,
		nodes:     make(map[string]*Node, len(snap.Nodes)),
		instances: make(map[string][]Machine, len(snap.Instances)),
		firstEnds: map[uint32]Machine{},
		groups:    make(map[mig.GroupID]*mig.Group, len(snap.Groups)),
		inGroup:   make(map[mig.GroupID]int, len(snap.Groups)),
		staying:   make(map[mig.GroupID]int, len(snap.Groups)),
		requests:  map[string][]Live{},
		active:    map[string]int{},
		activeOf:  map[string]int{},
		ahead:     map[string]bool{},
		mayShow:   map[string]bool{},
		Moving:    map[uint32]Move{},
		Salvaging: map[uint32]Move{},
		jobs:      make(map[uint32]bool, len(snap.Jobs)),
		arrays:    map[uint32]bool{},
		held:      map[string]bool{},
		others:    map[string][]*slurm.Job{},
		unread:    map[string]string{},

		rests: map[string]*slurm.Reservation{},
	}
	s.addNodes()
	for i := range snap.Jobs {
		s.addJob(&snap.Jobs[i])
	}
	for _, m := range s.members {
		if m.hasComeUp() {
			m.Power = On
		}
	}
	s.skipRows()
	s.addMoves()
	for i := range snap.Groups {
		s.addGroup(&snap.Groups[i])
	}
	for _, m := range s.members {
		slices.SortFunc(m.Holders, s.byClaim(m))
	}
	s.addMachines()
	s.addEnds()
	s.noteUnread()
	for _, g := range s.groups {
		s.noteHidden(g)
		if s.Creates(g) {
			s.ahead[g.Stamp.NodeSet] = true
		}
	}
	s.boots = s.lookAtBoots()
	return s
}

// leaveAlone notes what could not be read or is not to be touched, and returns it.
func (s *Scene) leaveAlone(key, about, text string, args ...any) string {
	p := NewProblem(key, about, text, args...)
	s.unreadable = append(s.unreadable, p)
	return p.Text
}

// Unseen reports whether nothing is known of the region, so that nothing may
// be done in it.
func (s *Scene) Unseen(region string) bool { return s.Seen.Unseen[region] != nil }
