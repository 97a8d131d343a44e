package scene

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Door is one of our reservations for a single job that waits pending. It covers the nodes that
// machines are requested for. The reservation starts a few minutes ahead. When all machines have
// registered, slurmflex sets its start to now. A door without nodes is one that slurmctld has lost.
type Door struct {
	Hold
	// As Slurm shows it, perhaps with other tasks of its array; nil: it has left the queue or could
	// not be read.
	Job *slurm.Job

	// Taker is the job as if Slurm had allocated the door's nodes to it; nil unless it waits
	// pending. The planner plans for it as for a job that is CONFIGURING on these nodes. A job with
	// several doors is the taker of each door until one opens for the job.
	Taker *slurm.Job

	Rivals []*Door // the other doors of the job, in the order of its partition list
	Place  int     // how many of the rivals come before this door in that list
	at     int     // the index of its nodes' partition in that list

	Named  bool // the job uses the door
	Opened bool // the door has started
	// The job uses another door over nodes of the same partition instead. It keeps its other places until
	// it runs, because it may not start although its door has opened.
	Lost bool

	Stray bool // none of its job's partitions contains the nodes
	// What the waiting job requests, nodes by name apart, has changed since the door was made, and the job is
	// not certain to fit the door's nodes now. They are planned for as nodes without a door.
	Changed bool
	Doubted bool // the unreadable rows may include its job
}

// addDoors assigns each door its job and marks the door's powered-down nodes Rising, as if Slurm
// had allocated the nodes to the job. A node that Slurm is powering down remains Off until it is
// down.
func (s builder) addDoors() {
	for _, h := range s.covers {
		for _, m := range s.NodesNamed(h.Nodes) {
			m.Cover = m.Cover || h.Over != memo.WarmCover
			m.Busy, m.Cold = m.Busy || h.Over == memo.BusyCover, m.Cold || h.Over == memo.ColdCover
		}
	}
	if len(s.Doors) == 0 {
		return
	}
	byAddress := make(map[string]*slurm.Job, len(s.Seen.Jobs))
	for i := range s.Seen.Jobs {
		j := &s.Seen.Jobs[i]
		if address := j.Address(); address != "" {
			byAddress[address] = j
		}
	}
	unread := slices.ContainsFunc(s.Seen.Unread, func(r slurm.UnreadRow) bool { return r.Kind == slurm.JobRow })
	for _, d := range s.Doors {
		if d.Job = byAddress[d.Address]; d.Job == nil {
			d.Job = s.arrayOf(d.Address)
		}
		d.Named, d.Opened = d.Job != nil && d.Job.Reservation == d.Name, !d.Start.After(s.Seen.Now)
		d.Doubted = d.Job == nil && unread
		for _, m := range s.NodesNamed(d.Nodes) {
			m.Doubted = m.Doubted || d.Doubted
		}
	}
	s.addRivals()
	for _, d := range s.Doors {
		if d.Changed {
			for _, m := range s.NodesNamed(d.Nodes) {
				m.Changed = d
			}
			continue
		}
		if d.Job != nil && d.Job.IsTasks() && !d.Lost {
			for _, m := range s.NodesNamed(d.Nodes) {
				m.Door = cmp.Or(m.Door, d) // keeps the node from other jobs
			}
			continue
		}
		if d.Job == nil || !d.Job.State.Waits() || d.Lost {
			continue
		}
		taker := *d.Job
		taker.State, taker.Nodes, taker.Start, taker.Reservation = slurm.JobConfiguring, d.Nodes, d.At, ""
		d.Taker = &taker
		for _, m := range s.NodesNamed(d.Nodes) {
			if m.Door != nil || m.owner() != nil { // a node that another job has got is none of the door's
				continue
			}
			m.Door = d
			if m.State.Has(slurm.PoweringDown) {
				continue // the job has the node again once its machine is gone
			}
			m.Holders = append(m.Holders, d.Taker)
			if m.Power == Off {
				m.Power = Rising
			}
			_, d.Taker.Partition, _ = s.partitionOf(d.Job, m)
		}
	}
}

// addRivals sets the Rivals of each door: the other doors of its job.
func (s builder) addRivals() {
	all := make(map[string][]*Door, len(s.Doors))
	for _, d := range s.Doors {
		if d.Job != nil {
			all[d.Address] = append(all[d.Address], d)
		}
	}
	for _, doors := range all {
		for _, d := range doors {
			d.at, _, d.Stray = s.partitionOf(d.Job, s.NodesNamed(d.Nodes)...)
			d.Changed = s.isChanged(d)
		}
		slices.SortStableFunc(doors, func(a, b *Door) int { return cmp.Compare(a.at, b.at) })
		for i, d := range doors {
			d.Place, d.Rivals = i, slices.Delete(slices.Clone(doors), i, i+1)
			d.Lost = slices.ContainsFunc(d.Rivals, func(r *Door) bool { return r.Named && r.at == d.at })
		}
	}
}

// isChanged returns the value of Door.Changed.
func (s builder) isChanged(d *Door) bool {
	return d.Job.State.Waits() && d.Digest != "" && d.Digest != d.Job.Digest() && (d.Job.NodeCount > len(d.Nodes) || slices.ContainsFunc(d.Nodes, func(name string) bool {
		m := s.Node(name)
		return m == nil || !d.Job.FitsAlike(*m.Node)
	}))
}

// partitionOf returns the first of the job's partitions that contains one of the nodes, and its index in
// the job's list. If none does, stray is true: the index is then after all others, and the name is the
// whole list. Slurm alone knows a partition that was removed from the configuration.
func (s builder) partitionOf(j *slurm.Job, nodes ...*Node) (at int, name string, stray bool) {
	list := strings.Split(j.Partition, ",")
	for at, name := range list {
		p, known := s.Config.Partition(name)
		if slices.ContainsFunc(nodes, func(m *Node) bool {
			return known && slices.Contains(p.NodeSets, m.Set.Name) || !known && slices.Contains(m.Partitions, name)
		}) {
			return at, name, false
		}
	}
	return len(list), j.Partition, true
}

// arrayOf returns the row of the pending array tasks that still share one record and include the
// addressed task; nil if no such row exists.
func (s builder) arrayOf(address string) *slurm.Job {
	array, task, _ := strings.Cut(address, "_")
	number, err := strconv.Atoi(task)
	if err != nil {
		return nil
	}
	for i := range s.Seen.Jobs {
		j := &s.Seen.Jobs[i]
		if j.IsTasks() && strconv.FormatUint(uint64(j.ArrayID), 10) == array && slices.Contains(j.Tasks(), number) {
			return j
		}
	}
	return nil
}

// DoorsOf returns the doors of a job that waits pending, in the order of the job's list of
// partitions.
func (s *Scene) DoorsOf(job uint32) []*Door {
	for _, d := range s.Doors {
		if d.Taker != nil && d.Taker.ID == job {
			return slices.Insert(slices.Clone(d.Rivals), d.Place, d)
		}
	}
	return nil
}
