package memory

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// machine is what passes know about a node that has had one of the cluster's machines. A single list
// never sets a node DOWN: the last pass must have missed the machine too. After a restart, passes
// recognize these nodes by the records of requests. Bulk insert leaves no records, so for bulk
// insert it is enough that the node is up.
type machine struct {
	missed    bool      // the last pass missed the machine, although the node is up
	preempted bool      // missed, and a pass saw that Google preempted the machine
	ends      time.Time // its scheduled end, for a node that is up
}

// addMissed adds to a snapshot the nodes with a machine missing in two consecutive passes, and the
// scheduled ends of the machines of nodes that are up. A pass that could not read the region of the
// nodeset or machine does not count.
func (m *Memory) addMissed(snap *scene.Snapshot, cfg *config.Config) {
	m.noteMachines(snap, cfg)
	up, there := make(map[string]bool, len(snap.Nodes)), make(map[string]bool, len(snap.Instances))
	preempted := map[string]bool{}
	for _, n := range snap.Nodes {
		up[n.Name] = n.State.Power() == slurm.On
	}
	for i := range snap.Instances {
		in := &snap.Instances[i]
		if !in.Lost() {
			there[in.Name] = true
		}
		if in.Preempted() {
			preempted[in.Name] = true
		}
	}
	hidden := snap.Hidden()
	snap.Missed, snap.Preempted, snap.Ends = map[string]bool{}, map[string]bool{}, map[string]time.Time{}
	m.machines.keep(func(name string, was *noted[machine]) bool {
		n := &was.value
		if !up[name] {
			*n = machine{}
			return true
		}
		if !n.ends.IsZero() {
			snap.Ends[name] = n.ends
		}
		if there[name] {
			n.missed, n.preempted = false, false
			return true
		}
		n.preempted = n.preempted || preempted[name]
		snap.Preempted[name] = n.preempted
		set, _, known := cfg.Find(name)
		isRead := known && snap.Unseen[set.Region] == nil && hidden[name] == ""
		if isRead && n.missed {
			snap.Missed[name] = true
		}
		n.missed = isRead
		return true
	})
}

// noteMachines remembers the nodes that have or had one of the cluster's machines, or may have one by the
// next pass.
func (m *Memory) noteMachines(snap *scene.Snapshot, cfg *config.Config) {
	if m.started.IsZero() {
		for _, n := range snap.Nodes {
			if set, _, known := cfg.Find(n.Name); known && set.Flex != nil && set.Flex.UseBulkInsert {
				m.expectMachines([]string{n.Name}, snap.Now)
			}
		}
	}
	for _, in := range snap.Ours(cfg.Cluster) {
		n, _, _ := m.machines.Get(in.Name)
		if until := in.Until(); !until.IsZero() {
			n.ends = until
		}
		m.machines.Note(in.Name, n, snap.Now)
	}
	for _, g := range snap.Groups {
		for _, r := range g.Requests {
			if g.Stamp.Cluster == cfg.Cluster {
				m.expectMachines(r.Instances, snap.Now)
			}
		}
	}
}

// expectMachines remembers nodes, if they are not remembered yet.
func (m *Memory) expectMachines(names []string, now time.Time) {
	for _, name := range names {
		if _, _, known := m.machines.Get(name); !known {
			m.machines.Note(name, machine{}, now)
		}
	}
}
