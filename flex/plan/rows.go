package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"slurmflex/slurm"
)

// skipRows takes what is known of rows that could not be read. A job holds the
// nodes of its row. Where these could not be read either, it may hold every node
// that does not show to be free.
func (w *world) skipRows() {
	for _, row := range w.snap.Unread {
		w.problem(fmt.Sprintf("a row of Slurm's output was skipped: %s", row))
		if row.Kind != slurm.JobRow {
			continue
		}
		if id := row.Job(); id != 0 {
			w.jobs[id] = true
		} else {
			w.anyJob = true
		}
		if row.State != "" && !holdsNodes(row.State) {
			continue
		}
		if !row.NodesKnown {
			w.anyNode = true
			for _, m := range w.members {
				m.doubted = m.doubted || !w.isFree(m)
			}
		}
		for _, name := range row.Nodes {
			w.held[name] = true
			if m := w.nodes[name]; m != nil {
				m.doubted = true
			}
		}
	}
}

// isFree reports whether no job but those that could be read can have the node:
// Slurm shows it powered down and without a job, or a job has it to itself.
func (w *world) isFree(m *member) bool {
	return m.power == down && !m.State.Held() || slices.ContainsFunc(m.jobs, func(j *slurm.Job) bool {
		return j.State != slurm.JobCompleting && slices.ContainsFunc(w.snap.Partitions, func(p slurm.Partition) bool {
			return p.Name == j.Partition && p.Exclusive
		})
	})
}

// taken reports whether a job holds the node, or may.
func (m *member) taken() bool { return len(m.jobs) > 0 || m.doubted }

// isQueued reports whether the job is in the queue, or may be.
func (w *world) isQueued(job uint32) bool { return w.anyJob || w.jobs[job] }

// undoubted are the nodes that may be changed to that state: one that a job may
// hold which could not be read is not powered down.
func (w *world) undoubted(nodes []string, state string) []string {
	if !strings.HasPrefix(state, "power_down") {
		return nodes
	}
	return slices.DeleteFunc(nodes, func(name string) bool { return w.nodes[name].doubted })
}

// unshown are the nodes that a job was given and that no row of Slurm's list of nodes
// shows, because a row without a name could not be read.
func (w *world) unshown(j *slurm.Job) (names []string) {
	for _, name := range j.Nodes {
		if set, _, ok := w.cfg.Find(name); ok && set.Flex != nil && w.nodes[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

const unshownText = "no row of Slurm's list of nodes shows it, as far as the list can be read"

// unshownOf names a node of the cohort's job whose row could not be read: a gang is
// asked for as a whole.
func (w *world) unshownOf(c *cohort) string {
	if c.job == nil || c.stamp.Node != "" {
		return ""
	}
	for _, name := range c.job.Nodes {
		set, _, _ := w.cfg.Find(name)
		if set == c.set && (w.nodes[name] == nil || w.isSkipped(slurm.NodeRow, name)) {
			return "the row of node " + name + " cannot be read, and all nodes of the job are asked for together"
		}
	}
	return ""
}

// nameUnshown says what the nodes wait for that no row shows.
func (w *world) nameUnshown() {
	owners := map[string]*slurm.Job{}
	for i := range w.snap.Jobs {
		j := &w.snap.Jobs[i]
		if !holdsNodes(j.State) || atWork(j.State) {
			continue
		}
		for _, name := range w.unshown(j) {
			if known := owners[name]; !w.hasMachine(name) && (known == nil || ByImportance(j, known) < 0) {
				owners[name] = j
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		set, _, _ := w.cfg.Find(name)
		w.plan.Waits = append(w.plan.Waits, Wait{
			Job: owners[name].ID, NodeSet: set.Name, Region: set.Region, Nodes: []string{name}, Since: owners[name].Start, Obstacle: unshownText,
		})
	}
}

// isSkipped reports whether there is a row of that name that could not be read.
func (w *world) isSkipped(kind, name string) bool {
	return slices.ContainsFunc(w.snap.Unread, func(r slurm.UnreadRow) bool { return r.Kind == kind && r.Name == name })
}
