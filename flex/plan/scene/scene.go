// Package scene holds what a pass has seen of Slurm and Compute, cross-referenced: the machines of
// each node, the jobs that hold it, the requests that name it, and what could not be read. The
// function Of builds the scene once. A scene never changes and contains no plans.
package scene

import (
	"cmp"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Scene is a snapshot with its cross-references. It does not change after Of has returned it, so
// any number of readers can share it.
type Scene struct {
	Config *config.Config
	Seen   Snapshot

	// The regions that the pass read or could not read, sorted: those of the nodesets and Seen.Left.
	Regions []string
	// The cluster's groups, sorted by region and name, also those that were not read or that a newer
	// slurmflex created.
	Groups []*mig.Group
	// The groups that were read and that no newer slurmflex created, in the same order.
	UsableGroups []*mig.Group
	Nodes        []*Node   // the flex nodes that Slurm shows, sorted by nodeset and index
	Machines     []Machine // all instances, sorted by name and zone
	Holds        []Hold    // our reservations, in Slurm's order
	Doors        []*Door   // those for jobs that wait pending, in the same order
	// Every job in the queue, in any state; nil: its row could not be read.
	Jobs     map[uint32]*slurm.Job
	Ends     map[uint32]End // when the first machine of each job ends, if that is known
	Problems Problems       // the rows, instances and groups that slurmflex left alone

	table  map[*config.NodeSet][]*Node  // the same nodes at their indexes; nil where Slurm shows none
	strays map[string]*Named            // other names of nodes and instances
	groups map[mig.GroupID]*groupRecord // the cluster's groups, and the groups of all instances
	sets   map[string]*setRecord        // by nodeset
	hidden map[string]string            // see Snapshot.Hidden
	// The users of the jobs in the queue, by the jobs that may share a group; see mig.Sharers.
	sharers map[mig.Stamp]string
	covers  []Hold // the reservations that close powered-down nodes

	anyJob, anyNode bool // an unreadable job may have any ID, or hold any node
	anyHold         bool // a reservation is unreadable

	recalled *Scene // see Recalled
}

// groupRecord holds a group and how many instances the list shows in it.
type groupRecord struct {
	owned          *mig.Group // nil: not one of the cluster's
	usable         *mig.Group // nil: not one of the cluster's, not read, or created by a newer slurmflex
	shown, staying int        // all instances, and those that are not being deleted
	unread         string     // why something about the group could not be read
}

// setRecord holds what is known about a nodeset as a whole.
type setRecord struct {
	ahead bool // one of its groups has a request that does not show yet
	boots *Boots
	block *memo.Block // an admin's
}

// Of builds the scene of a snapshot.
func Of(cfg *config.Config, snap Snapshot) *Scene {
	s := build(cfg, snap)
	if len(snap.LastKnown) > 0 {
		s.recalled = build(cfg, snap.recall())
	}
	return s
}

// builder is a scene that Of is still building.
type builder struct{ *Scene }

func build(cfg *config.Config, snap Snapshot) *Scene {
	s := builder{&Scene{
		Config: cfg, Seen: snap,
		Regions: snap.Regions(cfg),
		table:   map[*config.NodeSet][]*Node{},
		strays:  map[string]*Named{},
		groups:  make(map[mig.GroupID]*groupRecord, len(snap.Groups)),
		sets:    map[string]*setRecord{},
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
	}
	s.addMachines()
	s.addEnds()
	s.noteUnread()
	for _, g := range s.UsableGroups {
		s.noteHidden(g)
		if s.Creates(g) {
			noted(s.sets, g.Stamp.NodeSet).ahead = true
		}
	}
	s.lookAtBoots()
	return s.Scene
}

// Recalled returns the scene with each unread region as it was last known, or the scene itself if
// no unread region was ever read. It is for display, and for what counts towards limits. No other decision uses it.
func (s *Scene) Recalled() *Scene {
	if s.recalled == nil {
		return s
	}
	return s.recalled
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

// known returns the record under the key, or an empty record.
func known[K comparable, R any](records map[K]*R, key K) (r R) {
	if noted := records[key]; noted != nil {
		r = *noted
	}
	return r
}

// MachineType returns the machine type in the nodeset's template, or the nodeset's name if the
// template is unknown.
func (s *Scene) MachineType(set *config.NodeSet) string {
	return cmp.Or(s.Seen.Templates[set.Template].Template.MachineType, set.Name)
}
