package rules

import (
	"cmp"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// regionUnread: nothing is requested in a region that could not be read.
func regionUnread(w *demand.Wanted, c *demand.Claim) Ruling {
	if !w.Unseen(c.Set.Region) {
		return Ruling{}
	}
	return Ruling{Do: Waits, Unread: true, Quiet: true, Why: w.Seen.UnreadText(c.Set.Region)}
}

// recordUnread: something that could not be read may be a machine or a node of the claim.
func recordUnread(w *demand.Wanted, c *demand.Claim) Ruling {
	what := cmp.Or(unreadOf(w.Scene, c), unshownOf(w.Scene, c))
	if what == "" {
		return Ruling{}
	}
	return Ruling{Do: Waits, Unread: true, Quiet: true, Why: what}
}

// unreadOf describes what could not be read that concerns the claim, apart from its region; empty
// if all of it was read.
func unreadOf(s *scene.Scene, c *demand.Claim) string {
	for _, name := range c.Nodes {
		if what := s.Named(name).Unread; what != "" {
			return what
		}
	}
	return s.Group(c.ID()).Unread
}

// unshownOf returns a node of the claim's job with an unreadable row; empty if all rows were read.
// All nodes of a job are requested together.
func unshownOf(s *scene.Scene, c *demand.Claim) string {
	if c.Job == nil || c.Stamp.Node != "" {
		return ""
	}
	first := ""
	for _, name := range c.Job.Nodes {
		set, _, _ := s.Config.Find(name)
		if set == c.Set && (s.Node(name) == nil || s.IsSkipped(slurm.NodeRow, name)) && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return ""
	}
	return "the row of node " + first + " cannot be read, and all nodes of the job are requested together"
}
