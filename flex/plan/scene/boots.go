package scene

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// breakerRest is how long a nodeset is blocked after the last failed boot.
const breakerRest = time.Hour

// NodeSet is what a pass has seen of a nodeset, and of the boots of its instances.
type NodeSet struct {
	// Why and until when slurmflex requests no machines for it; nil: it does. An admin's block comes
	// before failed boots.
	Block   *Block
	blocked time.Time // when an admin blocked it
	Ahead   bool      // one of its groups has a request that does not show yet

	Records map[string]memo.Boots // records of earlier passes, by node
	newest  time.Time             // when the newest recorded instance was created
	// Recorded failures by the creation time of the last; all nodes of a job count once.
	failed    map[time.Time]int
	up        time.Time            // when the newest booted instance was created
	Late      []string             // nodes without a boot within boot_timeout
	batches   map[string]time.Time // when the newest instance that failed was created, by job
	Recovered []string             // nodes with an outdated record of failed boots or of a block
}

// batch returns the job that the instance was created for, or without a job, the name of its node.
// Instances with the same batch belong together.
func (in Machine) batch() string {
	if job := in.Origin.Job; job != 0 {
		return strconv.FormatUint(uint64(job), 10)
	}
	return in.Name
}

// LastMade returns the creation time of the newest late instance in the batch of the node's
// instances; zero if none is late.
func (b *NodeSet) LastMade(m *Node) (made time.Time) {
	for _, in := range m.Machines {
		made = Later(made, b.batches[in.batch()])
	}
	return made
}

// lookAtSets finds the instances that booted, those that did not boot within boot_timeout, and those
// that failed their health check, which counts as a failed boot. The failures of one job count once. A
// successful boot resets the count of consecutive failures, as does an hour without another failure.
func (s builder) lookAtSets() {
	for _, set := range s.Config.FlexSets() {
		s.Sets[set] = &NodeSet{Records: map[string]memo.Boots{}, failed: map[time.Time]int{}, batches: map[string]time.Time{}}
	}
	for _, g := range s.UsableGroups {
		if of := s.Sets[s.Config.FlexSet(g.Stamp.NodeSet)]; of != nil && s.Group(g.ID()).Creates {
			of.Ahead = true
		}
	}
	for _, m := range s.Nodes {
		s.watchBoot(m, s.Sets[m.Set])
		s.watchBlock(m, s.Sets[m.Set])
	}
	for set, b := range s.Sets {
		if b.up.After(b.newest) || s.IsOld(b.newest, set.Flex.BootTimeout+breakerRest) {
			b.Recovered = append(b.Recovered, slices.Sorted(maps.Keys(b.Records))...)
			b.Records, b.failed = nil, nil
		}
		inRow, last := len(b.batches), b.newest
		for _, failed := range b.failed {
			inRow += failed
		}
		for _, made := range b.batches {
			last = Later(last, made)
		}
		if set.Flex.BootFailures > 0 && inRow >= set.Flex.BootFailures && b.Block == nil {
			until := last.Add(set.Flex.BootTimeout + breakerRest) // then the failures stop counting
			b.Block = &Block{Failed: inRow, Until: until.UTC().Truncate(time.Second)}
		}
	}
}

// watchBoot records what the node and its instances show.
func (s builder) watchBoot(m *Node, b *NodeSet) {
	if r, ok := memo.ParseBoots(m.Extra); ok {
		b.Records[m.Name] = r
		b.failed[r.Last] = max(b.failed[r.Last], r.Failed)
		b.newest = Later(b.newest, r.Last)
	}
	checked := s.lookAtHealth(m)
	late := false // if there are instances in several zones, one on time is enough
	for _, in := range m.Machines {
		if !in.Ours || in.Leaving() || in.Created.IsZero() || in.Unread != "" {
			continue
		}
		limit := m.Set.Flex.BootTimeout
		switch {
		case m.Unhealthy != "" && !s.IsOld(in.Created, limit+breakerRest):
			b.batches[in.batch()] = Later(b.batches[in.batch()], in.Created)
		case checked && m.Power != Rising: // it may still fail
		case m.Power == On && !m.State.Has(slurm.NotResponding):
			b.up = Later(b.up, in.Created)
		case limit > 0 && m.Power == Rising && !m.Doubted && m.State.Base != slurm.Down &&
			s.IsOld(m.wantedSince(in), limit) && !in.Leftover:
			late = true
			b.batches[in.batch()] = Later(b.batches[in.batch()], in.Created)
		}
	}
	if late {
		b.Late = append(b.Late, m.Name)
	}
}

// wantedSince returns when an instance of the node was created, or when Slurm allocated the node to
// the job that waits for it, if that is later.
func (m *Node) wantedSince(in Machine) time.Time {
	if job := m.Owner; job != nil {
		return Later(in.Created, job.Start)
	}
	return in.Created
}
