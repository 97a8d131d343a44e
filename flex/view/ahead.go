package view

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
