// Package scene holds what a pass has seen of Slurm and Compute, cross-referenced: the machines of
// each node, the jobs that hold it, the requests that name it, and what could not be read. The
// function Of builds the scene once. A scene never changes and contains no plans.
package scene

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Scene is a snapshot with its cross-references. It does not change after Of has returned it, so
// any number of readers can share it.
type Scene struct {
	Config *config.Config
	Seen   Snapshot
	// The moment until which cold nodes are closed, and for which backfill therefore plans the jobs that need
	// machines: an hour before the end of what it plans, so that passes need not move it often, and never less
	// than an hour ahead, so that it is not reached without a daemon.
	Horizon time.Time

	// The regions that the pass read or could not read, sorted: those of the nodesets and Seen.Left.
	Regions []string
	// The cluster's groups, sorted by region and name, also those that were not read or that a newer
	// slurmflex created.
	Groups []*mig.Group
	// The groups that were read and that no newer slurmflex created, in the same order.
	UsableGroups []*mig.Group
	Nodes        []*Node   // the flex nodes that Slurm shows, sorted by nodeset and index
	Machines     []Machine // all instances, sorted by name and zone
	Live         []Live    // the live requests of usable groups, oldest first
	Losses       []Loss    // the machines that are gone while jobs hold their nodes
	// The flex nodesets, with what concerns all their nodes.
	Sets  map[*config.NodeSet]*NodeSet
	Holds []Hold  // our reservations, in Slurm's order
	Doors []*Door // those for jobs that wait pending, in the same order
	// Every job in the queue, in any state; nil: its row could not be read.
	Jobs     map[uint32]*slurm.Job
	Ends     map[uint32]End // when the first machine of each job ends, if that is known
	Problems Problems       // the rows, instances and groups that slurmflex left alone

	table  map[*config.NodeSet][]*Node // the same nodes at their indexes; nil where Slurm shows none
	strays map[string]*Named           // other names of nodes and instances
	groups map[mig.GroupID]*Group      // the cluster's groups, and the groups of all instances
	hidden map[string]string           // see Snapshot.Hidden
	// The users of the jobs in the queue, by the jobs that may share a group; see mig.Sharers.
	sharers map[mig.Stamp]string
	covers  []Hold // the reservations that close powered-down nodes

	anyJob, anyNode bool // an unreadable job may have any ID, or hold any node
	anyHold         bool // a reservation is unreadable

	// The scene with each unread region as it was last known, or this scene if no unread region was ever
	// read. It is for display, and for what counts towards limits. No other decision uses it.
	Recalled *Scene
}

// Of builds the scene of a snapshot.
func Of(cfg *config.Config, snap Snapshot) *Scene {
	s := build(cfg, snap)
	s.Recalled = s
	if len(snap.LastKnown) > 0 {
		s.Recalled = build(cfg, snap.recall())
		s.Recalled.Recalled = s.Recalled
	}
	return s
}

// builder is a scene that Of is still building.
type builder struct{ *Scene }

func build(cfg *config.Config, snap Snapshot) *Scene {
	s := builder{&Scene{
		Config: cfg, Seen: snap,
		Horizon: snap.Now.Add(max(snap.BackfillWindow-time.Hour, time.Hour)).Truncate(time.Second),
		Regions: snap.Regions(cfg),
		table:   map[*config.NodeSet][]*Node{},
		strays:  map[string]*Named{},
		groups:  make(map[mig.GroupID]*Group, len(snap.Groups)),
		Sets:    map[*config.NodeSet]*NodeSet{},
		Jobs:    make(map[uint32]*slurm.Job, len(snap.Jobs)),
		sharers: map[mig.Stamp]string{},
		Ends:    map[uint32]End{},
		hidden:  snap.Hidden(),
	}}
	s.addNodes()
	for i := range snap.Jobs {
		s.addJob(&snap.Jobs[i])
	}
	for _, m := range s.Nodes {
		if m.hasComeUp() {
			m.Power = On
		}
	}
	s.skipRows()
	s.addHolds()
	s.addDoors()
	for i := range snap.Groups {
		s.addGroup(&snap.Groups[i])
	}
	s.sortGroups()
	for _, m := range s.Nodes {
		slices.SortFunc(m.Holders, s.byClaim(m))
		m.Owner = m.owner()
	}
	s.addMachines()
	s.addEnds()
	s.noteUnread()
	s.countMembers()
	for _, g := range s.UsableGroups {
		s.noteHidden(g)
	}
	s.lookAtSets()
	s.addLosses()
	return s.Scene
}

// Unseen reports whether the pass did not read the region, or could not. slurmflex does nothing in
// such a region.
func (s *Scene) Unseen(region string) bool {
	return s.Seen.Unseen[region] != nil || !slices.Contains(s.Regions, region)
}

// note returns the record of a name, for the caller to fill in.
func (s builder) note(name string) *Named {
	if m := s.Node(name); m != nil {
		return &m.Named
	}
	return noted(s.strays, name)
}

// noted returns the record under the key, for the caller to fill in.
func noted[K comparable, R any](records map[K]*R, key K) *R {
	if records[key] == nil {
		records[key] = new(R)
	}
	return records[key]
}

// MachineType returns the machine type in the nodeset's template, or the nodeset's name if the
// template is unknown.
func (s *Scene) MachineType(set *config.NodeSet) string {
	return cmp.Or(s.Seen.Templates[set.Template].Template.MachineType, set.Name)
}
