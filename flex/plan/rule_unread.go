package plan

import (
	"cmp"
	"fmt"
	"slices"

	"slurmflex/slurm"
)

// regionUnread: nothing is requested in a region of which nothing is known.
func regionUnread(w *wanted, c *cohort) verdict {
	if !w.unseen(c.set.Region) {
		return verdict{}
	}
	return verdict{do: waits, quiet: true, why: unreadText(c.set.Region, w.snap.Unseen[c.set.Region])}
}

// recordUnread: what could not be read may be a machine or a node of the cohort's.
func recordUnread(w *wanted, c *cohort) verdict {
	what := cmp.Or(w.unreadOf(c), w.unshownOf(c))
	if what == "" {
		return verdict{}
	}
	return verdict{do: waits, quiet: true, why: what}
}

// unreadOf says what could not be read that concerns the cohort, leaving its
// region aside; empty if there is nothing.
func (s *scene) unreadOf(c *cohort) string {
	for _, name := range c.nodes {
		if what := s.unread[name]; what != "" {
			return what
		}
	}
	return s.unread[c.id().String()]
}

func unreadText(region string, err error) string {
	return fmt.Sprintf("region %s could not be read: %v", region, err)
}

const unshownText = "no row of Slurm's list of nodes shows it, as far as the list can be read"

// unshown are the nodes that a job was given and that no row of Slurm's list of nodes
// shows, because a row without a name could not be read.
func (s *scene) unshown(j *slurm.Job) (names []string) {
	for _, name := range j.Nodes {
		if set, _, ok := s.cfg.Find(name); ok && set.Flex != nil && s.nodes[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// unshownOf names a node of the cohort's job whose row could not be read: a gang is
// requested as a whole.
func (s *scene) unshownOf(c *cohort) string {
	if c.job == nil || c.stamp.Node != "" {
		return ""
	}
	for _, name := range slices.Sorted(slices.Values(c.job.Nodes)) {
		set, _, _ := s.cfg.Find(name)
		if set == c.set && (s.nodes[name] == nil || s.isSkipped(slurm.NodeRow, name)) {
			return "the row of node " + name + " cannot be read, and all nodes of the job are requested together"
		}
	}
	return ""
}
