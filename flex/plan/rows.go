package plan

import (
	"fmt"
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

// isSkipped reports whether there is a row of that name that could not be read.
func (w *world) isSkipped(kind, name string) bool {
	return slices.ContainsFunc(w.snap.Unread, func(r slurm.UnreadRow) bool { return r.Kind == kind && r.Name == name })
}
