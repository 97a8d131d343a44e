package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// leavesNothingPaidInSilence (D13): each machine and each live request of ours that is old enough
// to be judged is needed, is being deleted, or is named in a problem.
func leavesNothingPaidInSilence(s *sight, p plan.Plan) (wrong []string) {
	says := strings.Join(slices.Concat(p.Problems.Texts(), p.Expect), "\n")
	for _, in := range s.snap.Instances {
		g, made := s.groups[in.Region+"/"+in.Group]
		ours := made && !g.Stamp.Newer() && g.Unread == "" || in.Group == "" && in.Stamp.Cluster == cluster
		if !ours || in.Leaving() || in.Stopped() || in.Unread != "" || s.isYoung(in.Created) || s.isNodeWanted(in.Name) || s.isBeyondReach() {
			continue
		}
		if !touches(p, in.Name) && !names(says, in.Name) && !strings.Contains(says, "max_deletions_per_pass") {
			wrong = append(wrong, fmt.Sprintf("machine %s of node %+v is unneeded", in.Name, s.nodes[in.Name]))
		}
	}
	for _, g := range s.groups {
		if g.Stamp.Newer() || g.Unread != "" || s.snap.Unseen[g.Region] != nil {
			continue
		}
		for _, r := range g.Live() {
			if r.Size() == 0 || s.isYoung(r.Created) || s.isBeyondReach() || slices.ContainsFunc(r.Instances, s.isNodeWanted) {
				continue
			}
			cancelled := slices.ContainsFunc(p.Actions, func(a action.Action) bool {
				c, is := a.(action.CancelRequest)
				return is && c.Group == g.ID() && c.Request == r.Name
			})
			named := func(name string) bool { return names(says, name) }
			if !cancelled && !named(g.Name) && !slices.ContainsFunc(r.Instances, named) {
				wrong = append(wrong, fmt.Sprintf("request %s/%s for %v is unneeded", g.Name, r.Name, r.Instances))
			}
		}
	}
	return wrong
}

// isYoung reports whether something created at that time may not have shown its node or job yet.
func (s *sight) isYoung(made time.Time) bool { return s.snap.Now.Sub(made) < 10*time.Minute }

// isBeyondReach reports whether slurmflex abandons nothing in this snapshot, because some of
// Slurm's rows are unreadable.
func (s *sight) isBeyondReach() bool { return len(s.snap.Unread) > 0 }

// isNodeWanted reports whether a job has the node, according to the job's row or the node itself,
// or the node is left to Slurm: Slurm powers down an idle node, and sets a node DOWN that does not
// boot.
func (s *sight) isNodeWanted(name string) bool {
	n, shown := s.nodes[name]
	set, index, known := s.cfg.Find(name)
	static := known && set.Flex != nil && set.IsStatic(index)
	switch {
	case s.busy(name, holdsNodes):
		return true
	case !shown:
		return false
	case n.State.Held(), n.State.Flags&(slurm.PowerDown|slurm.PowerUp|slurm.PoweringDown|slurm.PoweringUp) != 0:
		return true
	}
	return n.State.Power() == slurm.On && (n.State.Base != slurm.Down || static) || static && n.State.Power() != slurm.Off
}

// touches reports whether the plan deletes the node's machine.
func touches(p plan.Plan, node string) bool {
	return slices.ContainsFunc(p.Actions, func(a action.Action) bool {
		switch a := a.(type) {
		case action.DeleteInstances:
			return slices.Contains(mig.Names(a.Instances), node)
		case action.DeleteVMs:
			return slices.Contains(mig.Names(a.Instances), node)
		case action.SetNodes:
			return slices.Contains(a.Nodes, node)
		case action.ReturnNodes:
			return slices.Contains(a.Nodes, node)
		}
		return false
	})
}

// names reports whether a text contains a thing's whole name, alone or in a hostlist.
func names(text, name string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n;:()\"/", r) }) {
		word = strings.TrimSuffix(word, ",")
		if word == name {
			return true
		}
		if list, err := slurm.Expand(word); err == nil && strings.Contains(word, "[") && slices.Contains(list, name) {
			return true
		}
	}
	return false
}
