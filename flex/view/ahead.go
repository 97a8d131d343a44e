package view

import (
	"fmt"
)

// Ahead counts the nodes that are requested before a job's nodes in one of its nodesets. These nodes
// wait for the same machine type in the same region. Google does not promise to keep the order.
type Ahead struct {
	NodeSet string `json:"nodeset"`
	Region  string `json:"region"`
	Machine string `json:"machine_type"`
	Nodes   int    `json:"nodes"`
	Jobs    int    `json:"jobs"` // that wait for these nodes, each array task for itself; static nodes wait for no job
}

// String describes the queue position in a few words.
func (a Ahead) String() string {
	switch {
	case a.Nodes == 0:
		return "no nodes of this cluster"
	case a.Jobs == 0:
		return Count(a.Nodes, "node") + " of this cluster"
	}
	return Count(a.Nodes, "node") + " of " + Count(a.Jobs, "job") + " of this cluster"
}

// markAhead sets the queue positions of the rows that wait: the range over a row's jobs.
func (v View) markAhead(rows []Row) {
	jobs := map[uint32][]Ahead{}
	for _, j := range v.Jobs {
		jobs[j.ID] = j.Ahead
	}
	for i := range rows {
		r := &rows[i]
		if !r.Waits() && r.State != Pending {
			continue
		}
		var low, high *Ahead
		for _, job := range r.Jobs {
			for _, a := range jobs[job] {
				if r.State != Pending && a.NodeSet != r.NodeSet {
					continue
				}
				if low == nil || a.Nodes < low.Nodes {
					low = new(a)
				}
				if high == nil || a.Nodes > high.Nodes {
					high = new(a)
				}
			}
		}
		switch {
		case low == nil:
		case low.Nodes == high.Nodes:
			r.ahead = fmt.Sprint(low.Nodes)
		default:
			r.ahead = fmt.Sprintf("%d–%d", low.Nodes, high.Nodes)
		}
	}
}
