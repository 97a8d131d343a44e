package scene

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Covered returns the nodesets with powered-down nodes that this process keeps from jobs, so that
// their jobs wait pending. It returns none unless the process promises another pass.
func (s *Scene) Covered() map[*config.NodeSet]bool {
	sets := map[*config.NodeSet]bool{}
	if !s.Seen.Promises || s.Config.Options.Waiting != config.Pending {
		return sets
	}
	why := s.Uncovered()
	for _, set := range s.Config.FlexSets() {
		sets[set] = why[set] == ""
	}
	return sets
}

// Uncovered returns why the jobs of nodesets cannot wait pending. Covered nodesets are left out.
func (s *Scene) Uncovered() map[*config.NodeSet]string {
	why := s.Config.Uncovered()
	if s.Seen.Unplanned != "" {
		for _, set := range s.Config.FlexSets() {
			why[set] = s.Seen.Unplanned
		}
		return why
	}
	for _, p := range s.Seen.Partitions {
		known, ours := s.Config.Partition(p.Name)
		if ours && p.Exclusive {
			continue
		}
		for _, name := range p.Nodes {
			switch set := s.Config.FlexSetOf(name); {
			case set == nil:
			case !ours:
				why[set] = fmt.Sprintf("partition %s, which only slurm.conf has, has nodes of it", p.Name)
			case known.Exclusive:
				why[set] = fmt.Sprintf("partition %s is not exclusive in slurm.conf", p.Name)
			default:
				why[set] = fmt.Sprintf("jobs of partition %s share nodes", p.Name)
			}
		}
	}
	return why
}

// PlacesOf returns those flex nodesets among sets, or of all if sets is nil, where the job may start, in the
// order of its partition list.
func (s *Scene) PlacesOf(sets map[*config.NodeSet]bool, j *slurm.Job) (places []*config.NodeSet) {
	for _, name := range strings.Split(j.Partition, ",") {
		p, known := s.Config.Partition(name)
		if !known {
			continue
		}
		for _, set := range s.Config.SetsOf(*p) {
			if set.Flex != nil && (sets == nil || sets[set]) && !slices.Contains(places, set) {
				places = append(places, set)
			}
		}
	}
	return places
}

// OpensAtOnce reports whether the doors of a job open at once: it is a component of a heterogeneous job,
// and another component waits CONFIGURING, so that all do.
func (s *Scene) OpensAtOnce(j *slurm.Job) bool {
	return j.HetID != 0 && slices.ContainsFunc(s.Seen.Jobs, func(other slurm.Job) bool {
		return other.HetID == j.HetID && len(s.PlacesOf(s.Covered(), &other)) == 0 && len(s.PlacesOf(nil, &other)) > 0
	})
}

// IsVacant reports whether the node is powered down without a job, and covered by no foreign
// reservation.
func (m *Node) IsVacant() bool {
	return m.Power == Off && m.State.Has(slurm.PoweredDown) && !m.State.Has(slurm.PoweringDown) && m.Idle() && !m.Taken() &&
		m.Door == nil && !m.Static && !m.IsUnread && !m.Foreign
}

// IsCold reports whether machines can be requested for the node: it is vacant, without a machine or a
// request.
func (m *Node) IsCold() bool {
	return m.IsVacant() && !m.Present() && !m.MayShow
}

// IsOpenToPlans reports whether Slurm may plan jobs on the node: machines can be requested for it, or
// are requested together with others and wanted by no job.
func (m *Node) IsOpenToPlans() bool { return m.IsCold() || m.IsAwaited() }

// IsAwaited reports whether a machine for the vacant node is requested, and its job waits for another
// plan, or was one of several that share the request and waits no longer.
func (m *Node) IsAwaited() bool {
	return m.IsVacant() && len(m.Machines) == 0 && len(m.Requests) == 1 && (m.Changed != nil || m.Requests[0].Group.Stamp.Shared())
}
