package flex

import (
	"maps"
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
	mu   sync.Mutex
	had  map[string]bool      // up, and a machine of ours was there or was brought
	once map[string]bool      // of these, those that the last pass missed
	spot map[string]bool      // of these, those whose machine a pass saw pre-empted
	ends map[string]time.Time // when machines of nodes that are up were to end
}

// complete adds to a snapshot the nodes whose machine two passes in a row have missed, and when the
// machines of nodes that are up were to end.
// A look at a region that could not be read is none.
func (m *missed) complete(snap *scene.Snapshot, cfg *config.Config) {
	m.mu.Lock()
	defer m.mu.Unlock()
	up := make(map[string]bool, len(snap.Nodes))
	for _, n := range snap.Nodes {
		up[n.Name] = n.State.Power() == slurm.On
	}
	if m.had == nil {
		m.had = map[string]bool{}
		for name := range up {
			if set, _, known := cfg.Find(name); known && set.Flex != nil && set.Flex.UseBulkInsert {
				m.had[name] = true
			}
		}
	}
	for name := range m.had {
		m.had[name] = up[name]
	}
	ends := map[string]time.Time{}
	for name, end := range m.ends {
		if up[name] {
			ends[name] = end
		}
	}
	for _, in := range snap.Ours(cfg.Cluster) {
		m.had[in.Name] = up[in.Name]
		if until := in.Until(); up[in.Name] && !until.IsZero() {
			ends[in.Name] = until
		}
	}
	for _, g := range snap.Groups {
		for _, r := range g.Requests {
			for _, name := range r.Instances {
				m.had[name] = m.had[name] || g.Stamp.Cluster == cfg.Cluster && r.State == mig.Succeeded && up[name]
			}
		}
	}
	there, preempted := make(map[string]bool, len(snap.Instances)), map[string]bool{}
	for _, in := range snap.Instances {
		there[in.Name] = there[in.Name] || !in.Lost()
		preempted[in.Name] = preempted[in.Name] || in.Preempted()
	}
	once := map[string]bool{}
	snap.Missed, snap.Preempted = map[string]bool{}, map[string]bool{}
	for name, was := range m.had {
		if !was || there[name] {
			continue
		}
		snap.Preempted[name] = preempted[name] || m.spot[name]
		switch set, _, known := cfg.Find(name); {
		case !known || snap.Unseen[set.Region] != nil:
		case m.once[name]:
			snap.Missed[name] = true
			fallthrough
		default:
			once[name] = true
		}
	}
	m.once, m.spot, m.ends = once, snap.Preempted, ends
	snap.Ends = maps.Clone(ends)
}
