package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// world is a snapshot with its cross-references, and the plan as it grows.
type world struct {
	cfg  *config.Config
	snap Snapshot

	nodes     map[string]*member    // flex nodes that Slurm shows
	members   []*member             // the same, in a stable order
	machines  []machine             // every instance, sorted by name and zone
	instances map[string][]machine  // the same, by name; a name is unique in a zone only
	groups    map[string]*mig.Group // by region/name
	inGroup   map[string]int        // how many instances, by region/group
	requests  map[string][]ref      // live requests, by the names they ask for
	mayShow   map[string]bool       // instances that a group may have though none of that name shows
	jobs      map[uint32]bool       // every job in the queue, whatever its state

	ahead map[string]bool // nodesets with a group whose request does not show yet

	held map[string]bool // other nodes that a job holds

	unread map[string]string // what could not be read, by the nodes that it may concern, and by region/group

	anyJob, anyNode bool // a job that could not be read may have any id, or hold any node

	plan    Plan
	changed map[string]bool // the nodes that the plan changes

	given      map[uint32]bool          // the jobs that the plan gives back
	active     map[string]int           // by region: live requests, those of this plan included
	activeOf   map[string]int           // the same by nodeset
	ousts      map[*config.NodeSet]bool // the nodesets for which the plan cancels another's request
	all        []*cohort                // by rank
	queue      map[string]int           // by region: cohorts that wait for their turn
	incomplete map[uint32]bool          // the heterogeneous jobs of which a component that is not the first waits for a machine
	turns      map[uint32]time.Time     // by heterogeneous job: when the last machine of those components was made
	blocked    map[*config.NodeSet]int  // where too many instances in a row did not come up
	recovered  []string                 // nodes whose record of failed boots is over

	spared int // deletions that the round may still make of its own accord
}

// member is a flex node that Slurm shows.
type member struct {
	*slurm.Node
	set      *config.NodeSet
	index    int
	power    power
	jobs     []*slurm.Job // that hold it, in the order of their claims
	machines []machine    // its instances
	doubted  bool         // a job that could not be read may hold it
	cohort   *cohort      // with whom it is to arrive; nil unless it is wanted and rising
}

// machine is an instance, the group of ours that made it, and the node of its
// name; each is nil if there is none.
type machine struct {
	*mig.Instance
	group  *mig.Group
	member *member
}

// ref is a live request and the group it is in.
type ref struct {
	group   *mig.Group
	request *mig.Request
}

func look(cfg *config.Config, snap Snapshot) *world {
	w := &world{
		cfg: cfg, snap: snap,
		nodes:      make(map[string]*member, len(snap.Nodes)),
		instances:  make(map[string][]machine, len(snap.Instances)),
		groups:     make(map[string]*mig.Group, len(snap.Groups)),
		inGroup:    make(map[string]int, len(snap.Groups)),
		requests:   map[string][]ref{},
		ahead:      map[string]bool{},
		mayShow:    map[string]bool{},
		jobs:       make(map[uint32]bool, len(snap.Jobs)),
		changed:    map[string]bool{},
		spared:     cfg.Options.MaxDeletions,
		given:      map[uint32]bool{},
		held:       map[string]bool{},
		unread:     map[string]string{},
		active:     map[string]int{},
		activeOf:   map[string]int{},
		ousts:      map[*config.NodeSet]bool{},
		queue:      map[string]int{},
		incomplete: map[uint32]bool{},
		turns:      map[uint32]time.Time{},
		blocked:    map[*config.NodeSet]int{},
	}
	w.addNodes()
	for i := range snap.Jobs {
		w.addJob(&snap.Jobs[i])
	}
	w.skipRows()
	for i := range snap.Groups {
		w.addGroup(&snap.Groups[i])
	}
	for _, m := range w.members {
		slices.SortFunc(m.jobs, w.byClaim(m))
	}
	w.addMachines()
	w.noteUnread()
	for _, g := range w.groups {
		w.noteHidden(g)
		if w.isAhead(g) {
			w.ahead[g.Stamp.NodeSet] = true
		}
	}
	return w
}

// addNodes takes the nodes in the order of the snapshot, which is Slurm's and
// most often the one wanted.
func (w *world) addNodes() {
	all := make([]member, len(w.snap.Nodes))
	w.members = make([]*member, 0, len(all))
	for i := range all {
		n := &w.snap.Nodes[i]
		set, index, ok := w.cfg.Find(n.Name)
		if !ok || set.Flex == nil || w.nodes[n.Name] != nil {
			continue
		}
		all[i] = member{Node: n, set: set, index: index, power: powerOf(n.State)}
		w.nodes[n.Name] = &all[i]
		w.members = append(w.members, &all[i])
	}
	slices.SortFunc(w.members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.set.Name, b.set.Name), cmp.Compare(a.index, b.index))
	})
}

func (w *world) addMachines() {
	w.machines = make([]machine, len(w.snap.Instances))
	for i := range w.machines {
		in := &w.snap.Instances[i]
		key := in.Region + "/" + in.Group
		w.machines[i] = machine{Instance: in, group: w.groups[key]}
		w.inGroup[key]++
	}
	slices.SortFunc(w.machines, func(a, b machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Zone, b.Zone))
	})
	for i := 0; i < len(w.machines); {
		next := i + 1
		for next < len(w.machines) && w.machines[next].Name == w.machines[i].Name {
			next++
		}
		same := w.machines[i:next]
		w.instances[same[0].Name] = same
		if m := w.nodes[same[0].Name]; m != nil {
			m.machines = same
			for j := range same {
				same[j].member = m
			}
		}
		i = next
	}
}

func (w *world) addJob(j *slurm.Job) {
	w.jobs[j.ID] = true
	if !holdsNodes(j.State) {
		return
	}
	for _, name := range j.Nodes {
		m := w.nodes[name]
		if m == nil {
			w.held[name] = true
			continue
		}
		m.jobs = append(m.jobs, j)
		if m.power == rising && atWork(j.State) {
			m.power = up // it has come up since the nodes were read
		}
	}
}

// atWork reports whether a job in that state has had all its nodes come up.
func atWork(s slurm.JobState) bool {
	return holdsNodes(s) && s != slurm.JobConfiguring && s != slurm.JobPowerUpNode
}

// holdsNodes reports whether a job in that state has its nodes still: any state
// but those in which Slurm has taken them back, so that a state that we do not
// know does.
func holdsNodes(s slurm.JobState) bool {
	switch s {
	case slurm.JobPending, slurm.JobExpediting, slurm.JobCompleted, slurm.JobCancelled, slurm.JobFailed, slurm.JobTimeout,
		slurm.JobNodeFail, slurm.JobPreempted, slurm.JobBootFail, slurm.JobDeadline, slurm.JobOutOfMemory,
		slurm.JobRequeued, slurm.JobRequeueHold, slurm.JobSpecialExit, slurm.JobRevoked:
		return false
	}
	return true
}

func (w *world) addGroup(g *mig.Group) {
	if g.Stamp.Cluster != w.cfg.Cluster {
		return // the reader leaves these out already; what is not ours is never touched
	}
	if g.Stamp.Newer() {
		w.problem(fmt.Sprintf("group %s in %s is left alone: a newer slurmflex has made it; run that version, or delete it when its jobs are done", g.Name, g.Region))
		return
	}
	if g.Unread != "" {
		return // see noteUnread
	}
	w.groups[g.Region+"/"+g.Name] = g
	for i := range g.Requests {
		r := &g.Requests[i]
		if !r.State.Live() {
			continue
		}
		w.countActive(g.Region, g.Stamp.NodeSet)
		one := []ref{{g, r}}
		for _, name := range r.Instances {
			if w.requests[name] == nil {
				w.requests[name] = one // which all names share: appending to it makes a copy
			} else {
				w.requests[name] = append(w.requests[name], one...)
			}
		}
	}
}

// stamp is its group's, or its own if no group made it.
func (in machine) stamp() mig.Stamp {
	if in.group != nil {
		return in.group.Stamp
	}
	return in.Stamp
}

// ours reports whether a group of ours made the instance, or we without one.
func (w *world) ours(in machine) bool {
	if in.Group == "" {
		return in.Stamp.Cluster == w.cfg.Cluster
	}
	return in.group != nil
}

func (w *world) add(a Action) { w.plan.Actions = append(w.plan.Actions, a) }

func (w *world) expect(what string) { w.plan.Expect = append(w.plan.Expect, what) }

// problem notes what an admin should know, and returns it.
func (w *world) problem(what string) string {
	w.plan.Problems = append(w.plan.Problems, what)
	return what
}

// unseen reports whether nothing is known of the region, so that nothing may
// be done in it.
func (w *world) unseen(region string) bool { return w.snap.Unseen[region] != nil }

// machine reports whether the node has an instance that is there to stay, and
// whether it has one that is on its way out.
func (w *world) machine(node string) (stays, leaves bool) {
	for _, in := range w.instances[node] {
		if in.Leaving() || in.member != nil && w.isLeftover(in.member, in) {
			leaves = true
		} else {
			stays = true
		}
	}
	return stays, leaves
}

// hasMachine reports whether the node has an instance of ours that is there to stay.
func (w *world) hasMachine(node string) bool {
	return slices.ContainsFunc(w.instances[node], func(in machine) bool {
		return w.ours(in) && !in.Leaving() && (in.member == nil || !w.isLeftover(in.member, in))
	})
}

// byClaim orders the jobs that hold a node: first one for which a live request
// asks for it already, so that no job which comes later tears that apart, then
// by importance.
func (w *world) byClaim(m *member) func(a, b *slurm.Job) int {
	asks := func(j *slurm.Job) int {
		if slices.ContainsFunc(w.requests[m.Name], func(r ref) bool { return r.group.Stamp.Job == j.ID }) {
			return 1
		}
		return 0
	}
	return func(a, b *slurm.Job) int { return cmp.Or(asks(b)-asks(a), ByImportance(a, b)) }
}

// ByImportance orders jobs by Slurm's priority, then by age.
func ByImportance(a, b *slurm.Job) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
}
