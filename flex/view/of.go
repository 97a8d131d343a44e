package view

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Of returns the view of what a reconcile pass saw and decided. The daemon adds its own state and
// the actions.
func Of(seen *scene.Scene, p plan.Plan) View {
	b := &builder{scene: seen.Recalled, seen: seen, plan: p, line: plan.Line(seen, p)}
	snap := b.scene.Seen
	v := View{
		Envelope: EnvelopeOf("status"), Cluster: b.scene.Config.Cluster, SeenAt: second(snap.Now),
		Regions: b.regions(), NodeSets: b.nodeSets(), Rows: b.rows(), Groups: b.groups(), Jobs: b.jobs(), Limits: b.limits(),
		Skipped: []Skipped{}, Problems: append([]string{}, p.Problems.Texts()...), Listed: append([]scene.Problem{}, p.Problems...), Actions: []Action{},
	}
	for _, row := range snap.Unread {
		v.Skipped = append(v.Skipped, Skipped{row.Kind, row.Name, row.Why})
	}
	for _, n := range snap.Nodes {
		if b.scene.Config.FlexSetOf(n.Name) == nil {
			v.OtherNodes = append(v.OtherNodes, n.Name)
		}
	}
	return v
}

// builder makes the parts of a view.
type builder struct {
	scene *scene.Scene // shows unread regions as last known
	seen  *scene.Scene // does not show them
	plan  plan.Plan
	line  map[uint32][]plan.Ahead
}

func (b *builder) regions() []Region {
	all := []Region{}
	for _, name := range b.scene.Regions {
		r := Region{Name: name, Most: b.scene.Config.Options.MaxActiveRequests}
		for _, g := range b.scene.Groups {
			if g.Region == name {
				r.Active += len(g.Live())
			}
		}
		if err := b.seen.Seen.Unseen[name]; err != nil {
			r.ReadFail, r.KnownAt = err.Error(), b.knownAt(name)
		}
		all = append(all, r)
	}
	return all
}

func (b *builder) nodeSets() []NodeSet {
	all := []NodeSet{}
	uncovered := b.scene.Uncovered()
	for _, set := range b.scene.Config.FlexSets() {
		n := NodeSet{
			Name: set.Name, Capacity: set.Flex.Capacity, Block: b.seen.Sets[set].Block, Region: set.Region, Zones: set.Zones, Machine: b.machineType(set),
			Partitions: b.partitions(set.Name), Static: set.Static, Size: set.Size(),
			JobLease: set.Flex.UseJobDuration, Margin: Seconds(set.Flex.JobDurationMargin), ByJob: set.Flex.Provisioning == config.Queued,
			Pends:  b.scene.Config.Options.Waiting == config.Pending && uncovered[set] == "",
			States: b.states(set), Alternatives: b.alternatives(set),
		}
		if set.Flex.OnLeaseEnd == config.RequeueFirst {
			n.Requeues = Seconds(b.scene.Config.RequeueLead())
		}
		for _, g := range b.scene.Groups {
			if g.Stamp.NodeSet == set.Name {
				n.Active += len(g.Live())
			}
		}
		all = append(all, n)
	}
	return all
}

// knownAt returns when an unread region was last read; zero if it was read now, or never.
func (b *builder) knownAt(region string) time.Time { return second(b.scene.Seen.LastKnown[region].At) }

func (b *builder) partitions(nodeset string) []string {
	names := []string{}
	for _, p := range b.scene.Config.Partitions {
		if slices.Contains(p.NodeSets, nodeset) {
			names = append(names, p.Name)
		}
	}
	return names
}

// alternatives returns the partitions that are up and could also serve a nodeset's jobs. An unknown
// machine type matches no other.
func (b *builder) alternatives(set *config.NodeSet) []Alternative {
	all := []Alternative{}
	machine := b.machineType(set)
	for _, p := range b.scene.Config.Partitions {
		sets := b.scene.Config.SetsOf(p)
		unlike := func(other *config.NodeSet) bool {
			return other == set || other.Flex == nil || machine == "" || b.machineType(other) != machine
		}
		is, up := first(b.scene.Seen.Partitions, func(is slurm.Partition) bool { return is.Name == p.Name && is.Up && is.Restricts == "" })
		if !up || len(sets) == 0 || slices.ContainsFunc(sets, unlike) {
			continue
		}
		other := Alternative{Partition: p.Name, Longest: Seconds(cmp.Or(b.scene.Config.LongestJob(p), config.NoLease))}
		if is.MaxTime.Kind == slurm.LimitSet {
			other.Longest = min(other.Longest, Seconds(is.MaxTime.Duration))
		}
		for _, s := range sets {
			other.Size += s.Size()
		}
		if is.MaxNodes > 0 {
			other.Size = min(other.Size, is.MaxNodes)
		}
		all = append(all, other)
	}
	return all
}

// machineType returns the machine type of a nodeset's template; empty while the template cannot be
// read.
func (b *builder) machineType(set *config.NodeSet) string {
	return b.scene.Seen.Templates[set.Template].MachineType
}

// states groups the nodeset's nodes by the state that Slurm shows.
func (b *builder) states(set *config.NodeSet) []Nodes {
	type look struct {
		static     bool
		state      slurm.State
		reason, by string
	}
	alike := map[look][]string{}
	for _, n := range b.scene.Nodes {
		if n.Set == set {
			key := look{set.IsStatic(n.Index), n.State, n.Reason, n.ReasonBy}
			alike[key] = append(alike[key], n.Name)
		}
	}
	all := []Nodes{}
	for key, names := range alike {
		all = append(all, Nodes{
			Nodes: names, Count: len(names), Static: key.static,
			State: Word(key.state), Slurm: key.state.String(), Reason: key.reason, ReasonBy: key.by,
		})
	}
	slices.SortFunc(all, func(a, b Nodes) int {
		return cmp.Or(cmp.Compare(a.State, b.State), slices.Compare(a.Nodes, b.Nodes))
	})
	return all
}

func (b *builder) groups() []Group {
	names := map[mig.GroupID][]string{} // names of each group's instances
	for _, in := range b.scene.Machines {
		names[in.GroupID()] = append(names[in.GroupID()], in.Name)
	}
	all := []Group{}
	for _, g := range b.scene.Groups {
		group := Group{
			Name: g.Name, Region: g.Region, NodeSet: g.Stamp.NodeSet, Job: g.Stamp.Job, Array: g.Stamp.Array, Node: g.Stamp.Node,
			CreatedAt: second(g.Created), Requests: []Request{},
		}
		if g.Stamp.User != "" && !b.scene.Seen.Private {
			group.User = cmp.Or(b.scene.UserOf(g.Stamp), g.Stamp.User) // the key stays when the jobs have ended
		}
		group.Instances = slurm.Fold(names[g.ID()])
		for _, r := range g.Requests {
			request := Request{
				Name: r.Name, State: r.State, Nodes: slurm.Fold(r.Instances), Count: len(r.Instances),
				Lease: Seconds(r.Duration), CreatedAt: second(r.Created), Cause: r.Cause, Error: r.Message,
			}
			group.Requests = append(group.Requests, request)
		}
		all = append(all, group)
	}
	return all
}

func (b *builder) jobs() []Job {
	all := []Job{}
	unheld := demand.Unheld(b.scene)
	for _, j := range b.scene.Seen.Jobs {
		job := JobOf(b.scene, &j)
		job.StartAt, job.Unused = second(b.start(&j)), b.unused(&j)
		if w, held := first(b.plan.Held, func(w demand.Wait) bool { return w.Job == j.ID }); held {
			job.Obstacle, job.NextAt, job.FreesAt = w.Obstacle, second(w.Next), second(w.Frees)
		} else {
			why, frees := unheld(&j)
			job.Obstacle, job.FreesAt = why, second(frees)
		}
		var awaited []string
		for _, d := range b.scene.DoorsOf(j.ID) {
			awaited, job.Places = append(awaited, d.Nodes...), job.Places+1
		}
		job.Awaits, job.Ahead = slurm.Fold(awaited), b.line[j.ID]
		all = append(all, job)
	}
	slices.SortFunc(all, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// JobOf returns a job as Slurm shows it, with its AdminComment from slurmflex. The start that Slurm
// plans for a waiting job is left out.
func JobOf(s *scene.Scene, j *slurm.Job) Job {
	job := Job{
		ID: j.ID, ArrayID: j.Array(), ArrayTask: j.ArrayTask, HetID: j.HetID, HetOffset: j.HetOffset, Partition: j.Partition, State: j.State, User: userOf(s, j),
		Nodes: j.Nodes, NodeCount: j.NodeCount, GPUs: j.GPUs(),
	}
	if j.State.Waits() {
		job.Reason = j.Reason
	} else {
		job.StartAt = second(j.Start)
	}
	if j.Limit.Kind == slurm.LimitSet {
		job.Limit = Seconds(j.Limit.Duration)
	}
	if told := s.Seen.Told[j.ID]; memo.IsOurs(told) {
		job.Told = told
	}
	for _, other := range s.Seen.Jobs { // Slurm holds all components, and one of them is told why
		if told := s.Seen.Told[other.ID]; j.HetID != 0 && other.HetID == j.HetID && memo.ExplainsHold(told) {
			job.Told = told
		}
	}
	return job
}

// farthestStart is the latest expected start that is shown. Slurm assumes that a job without a time
// limit ends in a year.
const farthestStart = 30 * 24 * time.Hour

// coverLag is how much earlier than the end of the cover over cold nodes a plan for these nodes may
// show: passes move the end on, and backfill plans again later.
const coverLag = 15 * time.Minute

// start returns when a job started, or when Slurm expects it to start. It returns zero for a held
// job. It also returns zero if a reservation of the cluster on nodes of the job's partitions makes the
// expected start wrong: the nodes will be powered down by then, or are closed until then, so that
// Slurm plans the job for that end until its machines are requested.
func (b *builder) start(j *slurm.Job) time.Time {
	if j.State.Waits() && (j.Priority == 0 || strings.HasPrefix(j.Reason, "JobHeld")) {
		return time.Time{}
	}
	if !j.State.Waits() || j.Reason == slurm.BeginTime {
		return j.Start
	}
	if j.Start.Sub(b.scene.Seen.Now) > farthestStart {
		return time.Time{}
	}
	// A job that waits CONFIGURING for its machines ends later than Slurm expects.
	if !j.Start.IsZero() && slices.ContainsFunc(b.scene.Nodes, func(m *scene.Node) bool {
		return m.Power == scene.Rising && m.Door == nil && len(m.Holders) > 0 && b.mayUse(j, []string{m.Name})
	}) {
		return time.Time{}
	}
	for _, h := range b.scene.Holds {
		ends := h.Kind == memo.LeaseHold && !h.Start.After(j.Start)
		opens := h.Over == memo.ColdCover && !j.Start.Before(h.End.Add(-coverLag))
		if (ends || opens) && b.mayUse(j, h.Nodes) {
			return time.Time{}
		}
	}
	return j.Start
}

// mayUse reports whether one of the job's partitions has one of the nodes.
func (b *builder) mayUse(j *slurm.Job, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(name string) bool {
		set := b.scene.Config.FlexSetOf(name)
		return set != nil && slices.ContainsFunc(b.partitions(set.Name), Job{Partition: j.Partition}.mayUse)
	})
}

// unused returns how many GPUs per node a job does not request while other jobs cannot use them
// either; 0 also if that is unknown.
func (b *builder) unused(j *slurm.Job) int {
	gpus := j.GPUs()
	if gpus == 0 || !b.scene.Config.Exclusive(j.Partition) {
		return 0
	}
	least := math.MaxInt
	for _, set := range b.scene.Config.NodeSets {
		if slices.Contains(b.partitions(set.Name), j.Partition) {
			machine, _ := mig.KnownMachine(b.machineType(set))
			least = min(least, machine.GPUs)
		}
	}
	return max(0, least-gpus)
}

// userOf returns the owner of the job, or "" if Slurm hides the owner.
func userOf(s *scene.Scene, j *slurm.Job) string {
	if s.Seen.Private {
		return ""
	}
	return j.User
}

// second returns a time as shown: in UTC, to the second.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
