package scene

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// breakerRest is how long a nodeset is blocked after the last failed boot.
const breakerRest = time.Hour

// Boots is what a pass sees of the instances of one nodeset that were to boot.
type Boots struct {
	Records   map[string]memo.Boots // of earlier passes, by node
	newest    time.Time             // when the last instance on record was made
	failed    map[time.Time]int     // failures on record, by when the last of them was made; those of a gang count once
	up        time.Time             // when the newest instance that came up was made
	Late      []string              // nodes whose instance has not within boot_timeout
	gangs     map[string]time.Time  // when the newest of theirs was made, by what they came for
	Recovered []string              // nodes whose record of failed boots is over
	inRow     int                   // failures that count, with the late ones
	until     time.Time             // when they count no longer
}

// gang is what the instance came up for together with others: a job, or its node.
func (in Machine) gang() string {
	if job := in.Origin().Job; job != 0 {
		return strconv.FormatUint(uint64(job), 10)
	}
	return in.Name
}

// LastMade is when the newest instance was made that was to come up with the node's.
func (b *Boots) LastMade(m *Node) (made time.Time) {
	for _, in := range m.Machines {
		made = Later(made, b.gangs[in.gang()])
	}
	return made
}

// lookAtBoots looks which instances have come up and which have not within
// boot_timeout: those that came for one job count once. One that came up ends the row
// of failures, and so does an hour.
func (s *Scene) lookAtBoots() {
	sets := map[*config.NodeSet]*Boots{}
	for _, m := range s.nodes {
		if sets[m.Set] == nil {
			sets[m.Set] = &Boots{Records: map[string]memo.Boots{}, failed: map[time.Time]int{}, gangs: map[string]time.Time{}}
		}
		s.watchBoot(m, sets[m.Set])
	}
	for set, b := range sets {
		if b.up.After(b.newest) || s.IsOld(b.newest, set.Flex.BootTimeout+breakerRest) {
			b.Recovered = slices.Sorted(maps.Keys(b.Records))
			b.Records, b.failed = nil, nil
		}
		b.inRow = len(b.gangs)
		for _, failed := range b.failed {
			b.inRow += failed
		}
		b.until = b.newest
		for _, made := range b.gangs {
			b.until = Later(b.until, made)
		}
		b.until = b.until.Add(set.Flex.BootTimeout + breakerRest)
		s.set(set.Name).boots = b
	}
}

// Blocked is how many instances of the nodeset in a row did not come up, if that is
// enough to request no more; otherwise 0.
func (s *Scene) Blocked(set *config.NodeSet) int {
	b := s.Boots(set)
	if b == nil || set.Flex.BootFailures == 0 || b.inRow < set.Flex.BootFailures {
		return 0
	}
	return b.inRow
}

// watchBoot notes what the node and its instances say.
func (s *Scene) watchBoot(m *Node, b *Boots) {
	if r, ok := memo.ParseBoots(m.Extra); ok {
		b.Records[m.Name] = r
		b.failed[r.Last] = max(b.failed[r.Last], r.Failed)
		b.newest = Later(b.newest, r.Last)
	}
	late := false // one of several instances in as many zones is enough
	for _, in := range m.Machines {
		if !s.Ours(in) || in.Leaving() || in.Created.IsZero() || in.Unread != "" {
			continue
		}
		limit := m.Set.Flex.BootTimeout
		switch {
		case m.Power == On && !m.State.Has(slurm.NotResponding):
			b.up = Later(b.up, in.Created)
		case limit > 0 && m.Power == Rising && !m.Doubted && m.State.Base != slurm.Down &&
			s.IsOld(m.wantedSince(in), limit) && !s.IsLeftover(m, in):
			late = true
			b.gangs[in.gang()] = Later(b.gangs[in.gang()], in.Created)
		}
	}
	if late {
		b.Late = append(b.Late, m.Name)
	}
}

// wantedSince is when an instance of the node was made, or if that is later, when
// the job was given the node that waits for it.
func (m *Node) wantedSince(in Machine) time.Time {
	if job := m.Owner(); job != nil {
		return Later(in.Created, job.Start)
	}
	return in.Created
}

// Block is a nodeset of which too many instances in a row did not come up.
type Block struct {
	NodeSet string
	Failed  int       // instances in a row
	Until   time.Time // when they count no longer
}

// Blocks are the nodesets for which nothing is requested.
func (s *Scene) Blocks() (blocks []Block) {
	for _, set := range s.Config.NodeSets {
		if set.Flex == nil {
			continue
		}
		if n := s.Blocked(set); n > 0 {
			blocks = append(blocks, Block{set.Name, n, s.Boots(set).until})
		}
	}
	return blocks
}

// Boots returns what is known of the boots of a nodeset's instances; nil if Slurm shows none of its nodes.
func (s *Scene) Boots(set *config.NodeSet) *Boots {
	if r := s.sets[set.Name]; r != nil {
		return r.boots
	}
	return nil
}
