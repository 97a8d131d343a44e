package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Ahead is a job's queue position in one of its nodesets: the nodes of other jobs that wait for the
// same machine type in the same region, and are requested before the job's nodes. Google does not
// promise to keep the order.
type Ahead struct {
	NodeSet string `json:"nodeset"`
	Region  string `json:"region"`
	Machine string `json:"machine_type"`
	Nodes   int    `json:"nodes"` // nodes without a machine
	Jobs    int    `json:"jobs"`  // jobs that wait for these nodes, each array task for itself; static nodes wait for no job
}

// String describes the queue position in a few words.
func (a Ahead) String() string {
	switch {
	case a.Nodes == 0:
		return "no nodes of this cluster"
	case a.Jobs == 0:
		return action.Amount(a.Nodes, "node") + " of this cluster"
	}
	return action.Amount(a.Nodes, "node") + " of " + action.Amount(a.Jobs, "job") + " of this cluster"
}

// market identifies the machines that nodes compete for.
type market struct{ region, machine string }

// inLine is a set of nodes in the order of requests.
type inLine struct {
	market
	nodeset     string
	job         uint32 // the job that waits for the nodes; 0: none
	nodes, jobs int
	request     string // the live request, unique in the cluster; empty: none
	requested   time.Time
}

// Line returns the queue positions of all waiting jobs, by job ID. Live requests come first, oldest
// first. Then come the nodes that slurmflex requests next, in the order of Plan.Waits, and last the
// pending jobs without nodes, by Slurm's rank. Nodes in one request share a position. Line leaves
// out unread regions and unknown machine types.
func Line(s *scene.Scene, p Plan) map[uint32][]Ahead {
	line := slices.Concat(waitsInLine(s, p.Waits), pendingInLine(s, p.Held))
	slices.SortStableFunc(line, byRequest)
	ahead, crowds := map[uint32][]Ahead{}, map[market]*crowd{}
	for len(line) > 0 {
		n := 1
		for line[0].request != "" && n < len(line) && line[n].request == line[0].request {
			n++
		}
		for _, q := range line[:n] {
			if crowds[q.market] == nil {
				crowds[q.market] = &crowd{of: map[uint32]inLine{}}
			}
			known := slices.ContainsFunc(ahead[q.job], func(a Ahead) bool { return a.NodeSet == q.nodeset })
			if q.job != 0 && q.machine != "" && s.Seen.Unseen[q.region] == nil && !known {
				nodes, jobs := crowds[q.market].without(q.job)
				ahead[q.job] = append(ahead[q.job], Ahead{q.nodeset, q.region, q.machine, nodes, jobs})
			}
		}
		for _, q := range line[:n] {
			crowds[q.market].add(q)
		}
		line = line[n:]
	}
	return ahead
}

// byRequest orders nodes by their live request, oldest first and those of a request together. Nodes
// without a request are last, and keep their order.
func byRequest(a, b inLine) int {
	last := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return cmp.Or(last(a.request == "")-last(b.request == ""), last(a.requested.IsZero())-last(b.requested.IsZero()),
		a.requested.Compare(b.requested), strings.Compare(a.request, b.request))
}

// crowd counts the nodes of a market from the front of the line to some point.
type crowd struct {
	nodes, jobs int
	of          map[uint32]inLine // the part of each job
}

// without returns the counts without a job's own part.
func (c *crowd) without(job uint32) (nodes, jobs int) {
	return c.nodes - c.of[job].nodes, c.jobs - c.of[job].jobs
}

func (c *crowd) add(q inLine) {
	own := c.of[q.job]
	c.nodes += q.nodes
	if q.job == 0 {
		return
	}
	c.jobs += max(q.jobs-own.jobs, 0)
	own.nodes, own.jobs = own.nodes+q.nodes, max(own.jobs, q.jobs)
	c.of[q.job] = own
}

// marketOf returns the market of a nodeset's machines.
func marketOf(s *scene.Scene, set *config.NodeSet) market {
	return market{set.Region, s.Seen.Templates[set.Template].MachineType}
}

// waitsInLine returns the nodes that Slurm or slurmflex has chosen and that lack a machine.
func waitsInLine(s *scene.Scene, waits []demand.Wait) (line []inLine) {
	markets := map[string]market{}
	for _, set := range s.Config.FlexSets() {
		markets[set.Name] = marketOf(s, set)
	}
	for _, w := range waits {
		if w.Stage == demand.Returning {
			continue
		}
		q := inLine{market: market{w.Region, markets[w.NodeSet].machine}, nodeset: w.NodeSet, job: w.Job, nodes: len(w.Nodes), jobs: 1, requested: w.Requested}
		if w.Request != "" {
			q.request = w.Region + "/" + w.Group + "/" + w.Request
		}
		line = append(line, q)
	}
	return line
}

// pendingInLine returns the pending jobs that lack only nodes and have none yet: first each job in
// its first nodeset, then the further nodesets in which it may wait at once.
func pendingInLine(s *scene.Scene, held []demand.Wait) (line []inLine) {
	out, covers := map[uint32]bool{}, s.Covered()
	for _, w := range held {
		out[w.Job] = out[w.Job] || w.Barred
	}
	for _, d := range s.Doors {
		if d.Taker != nil {
			out[d.Taker.ID] = true
		}
	}
	rounds := make([][]inLine, demand.MostPlaces)
	for _, j := range s.Queue() {
		if out[j.ID] || !j.LacksNodes() {
			continue
		}
		for i, set := range s.PlacesOf(nil, j) {
			if i < len(rounds) && (i == 0 || covers[set]) {
				tasks := tasksOf(s, j)
				rounds[i] = append(rounds[i], inLine{market: marketOf(s, set), nodeset: set.Name, job: j.ID, nodes: tasks * j.NodeCount, jobs: tasks})
			}
		}
	}
	return slices.Concat(rounds...)
}

// tasksOf returns how many jobs of a row in Slurm's queue may run at once.
func tasksOf(s *scene.Scene, j *slurm.Job) int {
	switch throttle := s.Throttle(j); {
	case !j.IsTasks():
		return 1
	case throttle > 0:
		return min(len(j.Tasks()), throttle)
	}
	return len(j.Tasks())
}
