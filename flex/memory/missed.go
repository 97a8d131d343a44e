package memory

import (
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// missed remembers which running nodes had one of the cluster's machines, and which of those nodes
// the last pass found without a machine. A single list therefore never sets a node DOWN. After a
// restart, missed needs two passes to find a loss again. It then recognizes the nodes by the
// records of requests. Bulk insert leaves no records, so for bulk insert it is enough that the node
// is up.
type missed struct {
	mu    sync.Mutex
	nodes map[string]*missedNode // by name; nil before the first pass
}

// missedNode is the knowledge about a node, or about a machine's name.
type missedNode struct {
	counts bool      // one of the cluster's machines existed, or a request names it
	once   bool      // had is set, and the last pass missed the machine
	spot   bool      // missed, and a pass saw that Google preempted the machine
	ends   time.Time // scheduled end of the machine, for a node that is up

	up, had   bool // in this pass: up means the node is up; had means the node is up and counts
	there     bool // a list shows the machine
	preempted bool // a list shows the machine as preempted
}

// of returns the entry of a name, which the caller fills in.
func (m *missed) of(name string) *missedNode {
	n := m.nodes[name]
	if n == nil {
		n = &missedNode{}
		m.nodes[name] = n
	}
	return n
}

// complete adds to a snapshot the nodes with a machine missing in two consecutive passes, and the
// scheduled ends of the machines of nodes that are up. A pass that could not read the region of the
// nodeset or machine does not count.
func (m *missed) complete(snap *scene.Snapshot, cfg *config.Config) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.take(snap, cfg)
	hidden := snap.Hidden()
	snap.Missed, snap.Preempted = map[string]bool{}, map[string]bool{}
	snap.Ends = make(map[string]time.Time, len(m.nodes))
	for name, n := range m.nodes {
		if !n.ends.IsZero() {
			snap.Ends[name] = n.ends
		}
		if !n.had || n.there {
			n.once, n.spot = false, false
			continue
		}
		n.spot = n.spot || n.preempted
		snap.Preempted[name] = n.spot
		set, _, known := cfg.Find(name)
		isRead := known && snap.Unseen[set.Region] == nil && hidden[name] == ""
		if isRead && n.once {
			snap.Missed[name] = true
		}
		n.once = isRead
	}
}

// take records which nodes are up and which machines the lists show.
func (m *missed) take(snap *scene.Snapshot, cfg *config.Config) {
	first := m.nodes == nil
	if first {
		m.nodes = make(map[string]*missedNode, len(snap.Nodes))
	}
	for name, n := range m.nodes {
		if !n.counts {
			delete(m.nodes, name)
			continue
		}
		n.up, n.had, n.there, n.preempted = false, false, false, false
	}
	for i := range snap.Nodes {
		n := m.of(snap.Nodes[i].Name)
		n.up = snap.Nodes[i].State.Power() == slurm.On
		if first {
			set, _, known := cfg.Find(snap.Nodes[i].Name)
			n.counts = known && set.Flex != nil && set.Flex.UseBulkInsert
		}
		n.had = n.counts && n.up
	}
	for i := range snap.Instances {
		in, n := &snap.Instances[i], m.of(snap.Instances[i].Name)
		n.there = n.there || !in.Lost()
		n.preempted = n.preempted || in.Preempted()
	}
	for _, in := range snap.Ours(cfg.Cluster) {
		n := m.of(in.Name)
		n.counts, n.had = true, n.up
		if until := in.Until(); !until.IsZero() {
			n.ends = until
		}
	}
	for _, g := range snap.Groups {
		for _, r := range g.Requests {
			for _, name := range r.Instances {
				n := m.of(name)
				n.counts = true
				n.had = n.had || n.up && g.Stamp.Cluster == cfg.Cluster && r.State == mig.Succeeded
			}
		}
	}
	for _, n := range m.nodes {
		if !n.up {
			n.ends = time.Time{}
		}
	}
}
