// Package takedown decides how to tear down a cluster or a nodeset: which actions are due now,
// which must wait, and what is kept. Compute is a pure function of one observation, without memory:
// for a half torn down cluster, it returns the remaining steps.
package takedown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Jobs selects how to handle jobs that hold nodes.
type Jobs string

// These are the ways to handle jobs.
const (
	Requeue Jobs = "requeue" // requeue jobs that Slurm can requeue; other jobs keep their nodes
	// Drain lets running jobs continue until they end, and requeues jobs that wait for machines.
	Drain Jobs = "drain"
	Now   Jobs = "now" // requeue jobs that Slurm can requeue; cancel other jobs
)

// Options select what to tear down.
type Options struct {
	NodeSet string // tear down only this nodeset; empty: the whole cluster
	Jobs    Jobs
	NoSlurm bool // slurmctld does not answer, and the takedown does not wait for slurmctld

	// WereUp lists the partitions that could start jobs in an earlier look; false: the partition
	// was in DRAIN.
	WereUp map[string]bool
	Told   map[uint32]bool // jobs with owners that were notified
}

// reason is the reason in Slurm of nodes that a takedown drains.
const reason = memo.ReasonPrefix + "taken down"

// Plan describes how to tear things down, according to one observation.
type Plan struct {
	Steps []action.Stage // in order of execution
	Waits []string       // transitions under way that the takedown waits for
	Left  Left           // what still exists
	Kept  []string       // what the takedown keeps, and why
	Undo  []string       // commands that undo the closing of partitions and nodes

	// UndoEarlier lists the commands that open partitions that every look found closed. An earlier
	// takedown or an admin has closed them.
	UndoEarlier []string
}

// Due returns the actions to execute now.
func (p Plan) Due() (due []action.Action) {
	for _, s := range p.Steps {
		if s.Once == "" {
			due = append(due, s.Action)
		}
	}
	return due
}

// Done reports whether the takedown is complete.
func (p Plan) Done() bool { return len(p.Steps)+len(p.Waits)+len(p.Kept) == 0 && p.Left.none() }

// Left counts what the takedown still has to remove.
type Left struct {
	Instances int `json:"instances"`
	Groups    int `json:"groups"`
	Requests  int `json:"requests"` // active ones only
	Policies  int `json:"policies"`
	// Reservations is nil if the number is unknown, because slurmctld does not answer.
	Reservations *int `json:"reservations,omitempty"`
}

func (l Left) none() bool {
	return l.Instances+l.Groups+l.Requests+l.Policies == 0 && (l.Reservations == nil || *l.Reservations == 0)
}

// String formats all counts, as in "0 instances, 1 group".
func (l Left) String() string {
	text := strings.Join([]string{
		count(l.Instances, "instance", "instances"), count(l.Groups, "group", "groups"),
		count(l.Requests, "request", "requests"), count(l.Policies, "policy", "policies"),
	}, ", ")
	if l.Reservations == nil {
		return text + "; reservations unknown"
	}
	return text + ", " + count(*l.Reservations, "reservation", "reservations")
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// Compute plans the takedown of what the scene shows.
func Compute(s *scene.Scene, o Options) Plan {
	d := look(s, o)
	if !o.NoSlurm {
		d.closeAll()
		d.endJobs()
		d.powerDown()
	}
	d.clear()
	if !o.NoSlurm {
		d.deleteReservations()
		d.nameUndo()
	}
	slices.Sort(d.plan.Waits)
	slices.Sort(d.plan.Kept)
	d.plan.Waits, d.plan.Kept = slices.Compact(d.plan.Waits), slices.Compact(d.plan.Kept)
	return d.plan
}

// draft is an incomplete plan with its inputs.
type draft struct {
	scene *scene.Scene
	o     Options
	nodes []node       // to tear down, by nodeset and index
	jobs  []*slurm.Job // holding any of the nodes, in order of id
	lost  bool         // an unreadable row may belong to any node
	plan  Plan
}

// node is a node that the takedown powers down.
type node struct {
	*scene.Node
	doubt string // why it is unknown whether a job holds the node; empty if known
}

// isOurs reports whether the takedown covers a nodeset.
func (d *draft) isOurs(nodeset string) bool { return d.o.NodeSet == "" || nodeset == d.o.NodeSet }

// takes reports whether the takedown covers a node that Slurm shows under that name.
func (d *draft) takes(name string) bool {
	n := d.scene.Node(name)
	return n != nil && d.isOurs(n.Set.Name)
}

// look finds the nodes and the jobs that hold them.
func look(s *scene.Scene, o Options) *draft {
	d := &draft{scene: s, o: o}
	for _, n := range s.Nodes {
		if d.isOurs(n.Set.Name) {
			d.nodes = append(d.nodes, node{n, d.doubt(n.Node)})
		}
	}
	for i := range s.Seen.Jobs {
		if j := &s.Seen.Jobs[i]; j.State.HoldsNodes() && slices.ContainsFunc(j.Nodes, d.takes) {
			d.jobs = append(d.jobs, j)
		}
	}
	slices.SortFunc(d.jobs, func(a, b *slurm.Job) int { return cmp.Compare(a.ID, b.ID) })
	for _, row := range s.Seen.Unread {
		switch {
		case row.Kind == slurm.NodeRow && row.Name == "":
			d.lost = true
			d.keep("%s", row)
		case row.Kind == slurm.ReservationRow && d.isOwn(row.Name):
			d.keep("%s", row)
		}
	}
	for _, n := range d.nodes {
		if n.doubt != "" {
			d.keep("%s", n.doubt)
		}
	}
	return d
}

// isOwn reports whether a reservation belongs to the cluster.
func (d *draft) isOwn(reservation string) bool {
	return memo.ParseHold(d.scene.Config.Cluster, reservation).Kind != memo.NoHold
}

// doubt returns why it is unknown whether a job holds a node; empty if known. A job with an
// unreadable row may hold the nodes of that row. If those are unknown too, it may hold every node
// that Slurm does not show as powered down.
func (d *draft) doubt(n *slurm.Node) (why string) {
	if n.State.Power() == slurm.Unclear {
		why = fmt.Sprintf("node %s: state %s is not understood", n.Name, n.State)
	}
	for _, row := range d.scene.Seen.Unread {
		if row.Kind != slurm.JobRow || row.State != "" && !row.State.HoldsNodes() {
			continue
		}
		if slices.Contains(row.Nodes, n.Name) || !row.NodesKnown && (n.State.Power() != slurm.Off || n.State.Held()) {
			why = row.String()
		}
	}
	return why
}

// do adds a step.
func (d *draft) do(a action.Action, once string) {
	d.plan.Steps = append(d.plan.Steps, action.Stage{Action: a, Once: once})
}

func (d *draft) await(format string, args ...any) {
	d.plan.Waits = append(d.plan.Waits, fmt.Sprintf(format, args...))
}

func (d *draft) keep(format string, args ...any) {
	d.plan.Kept = append(d.plan.Kept, fmt.Sprintf(format, args...))
}

// isClosed returns the condition for taking anything from jobs; empty once no job can start.
func (d *draft) isClosed() string {
	if slices.ContainsFunc(d.plan.Steps, func(s action.Stage) bool {
		_, closes := s.Action.(action.ClosePartition)
		return closes || action.About(s).Kind == "set_nodes"
	}) {
		return "no job can start any more"
	}
	return ""
}

// inUse returns why a node's machine is still in use. It is empty if Slurm has powered the node
// down and no job holds it, or if Slurm does not know the node.
func (d *draft) inUse(name string) string {
	n := d.scene.Named(name).Node
	switch {
	case d.o.NoSlurm:
		return ""
	case n == nil && d.lost:
		return "all nodes can be read"
	case n == nil:
		return ""
	case d.doubt(n) != "":
		return "it is known whether a job has " + name
	}
	if jobs := d.scene.Named(name).Holders; len(jobs) > 0 {
		return fmt.Sprintf("job %s has left %s", jobs[0].Name(), name)
	}
	if n.State.Power() != slurm.Off || n.State.Held() {
		return name + " is powered down"
	}
	return ""
}

// anyInUse returns the result of inUse for the first node in use.
func (d *draft) anyInUse(names []string) string {
	for _, name := range names {
		if once := d.inUse(name); once != "" {
			return once
		}
	}
	return ""
}
