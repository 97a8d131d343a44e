package flex

import (
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// missed remembers which nodes that are up have had a machine of ours, and which of them
// the last pass found without one, so that no node is set down by one list alone. What
// is forgotten in a restart is found again two passes later: by the records of requests
// or, since bulk insert leaves none, by its nodes being up.
type missed struct {
	mu    sync.Mutex
	nodes map[string]*missedNode // by name; nil before the first pass
}

// missedNode is what is known of a node, or of a machine's name.
type missedNode struct {
	counts bool      // a machine of ours was there, or a request names it
	once   bool      // had, and the last pass missed its machine
	spot   bool      // missed, and a pass saw that Google preempted the machine
	ends   time.Time // when the machine of a node that is up was to end

	up, had   bool // in this pass: the node is up; up, and a machine of ours was there or was brought
	there     bool // a list has its machine
	preempted bool // a list has it as preempted
}

// of returns what is known of a name, for the caller to fill in.
func (m *missed) of(name string) *missedNode {
	n := m.nodes[name]
	if n == nil {
		n = &missedNode{}
		m.nodes[name] = n
	}
	return n
}

// complete adds to a snapshot the nodes whose machine two passes in a row have missed, and when the
// machines of nodes that are up were to end.
// A look at a region that could not be read is none.
func (m *missed) complete(snap *scene.Snapshot, cfg *config.Config) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.take(snap, cfg)
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
		isRead := known && snap.Unseen[set.Region] == nil
		if isRead && n.once {
			snap.Missed[name] = true
		}
		n.once = isRead
	}
}

// take notes which nodes are up, and which machines the lists have.
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
