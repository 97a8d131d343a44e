// Package takedown decides how a cluster, or a nodeset, is taken down: what is to be
// done now, what once something else is over, and what stays. Compute is a pure function
// of what was seen, and remembers nothing: the steps of a cluster that is half down
// are the other half.
package takedown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Jobs says what becomes of the jobs that have nodes.
type Jobs string

// What may become of them.
const (
	Requeue Jobs = "requeue" // those that Slurm requeues are; the others keep their nodes
	Drain   Jobs = "drain"   // they go on until they end; those that wait for machines are requeued
	Now     Jobs = "now"     // those that Slurm requeues are; the others are cancelled
)

// Options say what is taken down.
type Options struct {
	NodeSet string // only this one; empty: all of the cluster
	Jobs    Jobs
	NoSlurm bool // slurmctld does not answer, and nobody waits for it

	WereUp map[string]bool // of the partitions that began jobs in an earlier look; false: in DRAIN
	Told   map[uint32]bool // the jobs whose owners have been notified
}

// reason is that of nodes that are taken down.
const reason = memo.ReasonPrefix + "taken down"

// Step is something to do.
type Step struct {
	plan.Action
	Once string // what has to be over before; empty: it is to be done now
}

// String is the action, and when it is done.
func (s Step) String() string {
	if s.Once == "" {
		return s.Action.String()
	}
	return s.Action.String() + ", once " + s.Once
}

// Plan is how things are taken down, as it follows from one look at them.
type Plan struct {
	Steps []Step   // in the order in which they are done
	Waits []string // what is on its way to be over, and is waited for
	Left  Left     // what is there
	Kept  []string // what stays, and why
	Undo  []string // the commands that open again what is closed

	// UndoEarlier are the commands that open partitions which were closed in every look: by
	// an earlier takedown, or by an admin.
	UndoEarlier []string
}

// Due are the actions to be done now.
func (p Plan) Due() (due []plan.Action) {
	for _, s := range p.Steps {
		if s.Once == "" {
			due = append(due, s.Action)
		}
	}
	return due
}

// Done reports whether all is down.
func (p Plan) Done() bool { return len(p.Steps)+len(p.Waits)+len(p.Kept) == 0 && p.Left.none() }

// Jobs says what becomes of how many jobs.
func (p Plan) Jobs() string {
	var requeued, cancelled, told int
	for _, s := range p.Steps {
		switch a := s.Action.(type) {
		case EndJob:
			if a.Then == plan.Requeue {
				requeued++
			} else {
				cancelled++
			}
		case TellJob:
			told++
		}
	}
	return fmt.Sprintf("%s to requeue, %s to cancel, %s to leave alone",
		count(requeued, "job", "jobs"), count(cancelled, "job", "jobs"), count(told, "job", "jobs"))
}

// Progress says what is there, and what is waited for.
func (p Plan) Progress() string {
	text := "there are " + p.Left.String()
	if len(p.Waits) > 0 {
		text += "; waiting for " + p.Waits[0]
		if more := len(p.Waits) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return text
}

// Left counts what is there of what is to be taken down.
type Left struct {
	Instances    int  `json:"instances"`
	Groups       int  `json:"groups"`
	Requests     int  `json:"requests"` // those that have not ended
	Policies     int  `json:"policies"`
	Reservations *int `json:"reservations,omitempty"` // absent: not known, because slurmctld does not answer
}

func (l Left) none() bool {
	return l.Instances+l.Groups+l.Requests+l.Policies == 0 && (l.Reservations == nil || *l.Reservations == 0)
}

// String counts all of it, as in "0 instances, 1 group".
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

// Compute says what is to be done.
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

// draft is the plan as it grows, and what it follows from.
type draft struct {
	scene *scene.Scene
	o     Options
	nodes []node       // those that are taken down, by nodeset and index
	jobs  []*slurm.Job // that hold any of them, in the order of their ids
	lost  bool         // a node that could not be read may be any
	plan  Plan
}

// node is one that is taken down.
type node struct {
	*scene.Node
	doubt string // why it is not known whether a job holds it; empty: it is
}

// isOurs reports whether something of a nodeset is to be taken down.
func (d *draft) isOurs(nodeset string) bool { return d.o.NodeSet == "" || nodeset == d.o.NodeSet }

// takes reports whether Slurm shows a flex node of that name that is to be taken down.
func (d *draft) takes(name string) bool {
	n := d.scene.Node(name)
	return n != nil && d.isOurs(n.Set.Name)
}

// look finds the nodes, and the jobs that hold them.
func look(s *scene.Scene, o Options) *draft {
	d := &draft{scene: s, o: o}
	for _, n := range s.Nodes() {
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

// isOwn reports whether a reservation of that name is one of the cluster's.
func (d *draft) isOwn(reservation string) bool {
	return memo.ParseHold(d.scene.Config.Cluster, reservation).Kind != memo.NoHold
}

// doubt says why it is not known whether a job holds a node; empty if it is. A job whose row could not
// be read may hold the nodes of its row, and if these are not known, every node that Slurm does not
// show to be off.
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
func (d *draft) do(a plan.Action, once string) {
	d.plan.Steps = append(d.plan.Steps, Step{a, once})
}

func (d *draft) await(format string, args ...any) {
	d.plan.Waits = append(d.plan.Waits, fmt.Sprintf(format, args...))
}

func (d *draft) keep(format string, args ...any) {
	d.plan.Kept = append(d.plan.Kept, fmt.Sprintf(format, args...))
}

// isClosed is what has to be over before anything is taken from jobs: empty once no
// job can begin any more.
func (d *draft) isClosed() string {
	if slices.ContainsFunc(d.plan.Steps, func(s Step) bool {
		_, closes := s.Action.(ClosePartition)
		return closes || s.About().Kind == "set_nodes"
	}) {
		return "no job can begin any more"
	}
	return ""
}

// inUse says what keeps a node's machine: empty if Slurm has powered the node down and no
// job holds it, or knows no such node.
func (d *draft) inUse(name string) string {
	n := d.scene.Shown(name)
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
	if jobs := d.scene.HoldersOf(name); len(jobs) > 0 {
		return fmt.Sprintf("job %s has left %s", jobs[0].Name(), name)
	}
	if n.State.Power() != slurm.Off || n.State.Held() {
		return name + " is powered down"
	}
	return ""
}

// anyInUse is inUse of the first of the nodes that is.
func (d *draft) anyInUse(names []string) string {
	for _, name := range names {
		if once := d.inUse(name); once != "" {
			return once
		}
	}
	return ""
}

// namesOf are the names of nodes.
func namesOf(nodes []node) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	return names
}

// isOwnReason reports whether a node's reason is ours, or there is none.
func isOwnReason(reason string) bool {
	return reason == "" || memo.IsOurReason(reason)
}
