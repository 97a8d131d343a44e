package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// job explains a job or an array.
func (t *teller) job(subject string, n number) {
	var tasks []Job
	for _, j := range t.Jobs {
		switch {
		case n.isRaw() && j.ID == n.id && j.ArrayID != n.id:
			t.oneJob(j, j.title())
			return
		case n.isOf(j):
			tasks = append(tasks, j)
		}
	}
	switch {
	case len(tasks) == 1 && !n.isRaw():
		t.oneJob(tasks[0], subject)
	case len(tasks) == 1:
		t.oneJob(tasks[0], tasks[0].title())
	case len(tasks) > 1:
		t.array(n.id, tasks)
	default:
		t.gone(subject, n)
	}
}

// array summarizes an array with several tasks in the queue.
func (t *teller) array(id uint32, tasks []Job) {
	t.subject("job array %d", id)
	t.disown(tasks[0])
	alike := map[string][]string{} // tasks by their description in Slurm
	for _, j := range tasks {
		set, _, _ := strings.Cut(j.ArrayTask, "%")
		shown := j.State + inBrackets(cmp.Or(j.Obstacle, j.Reason))
		alike[shown] = append(alike[shown], set)
	}
	for _, shown := range slices.Sorted(maps.Keys(alike)) {
		t.lead("%s %s.", tasksOf(alike[shown]), shown)
	}
	t.fact("Ask about one task for more, such as %s.", tasks[0].example(id))
}

// tasksOf names similar tasks of an array: "Tasks 0-3,7 are".
func tasksOf(sets []string) string {
	names, err := slurm.Expand("t[" + strings.Join(sets, ",") + "]")
	switch {
	case err != nil:
		return "Tasks " + strings.Join(sets, ",") + " are"
	case len(names) == 1:
		return "Task " + names[0][1:] + " is"
	}
	return "Tasks " + strings.Trim(slurm.Fold(names)[1:], "[]") + " are"
}

// example returns a number with which users can ask about a task of an array.
func (j Job) example(array uint32) string {
	first := strings.FieldsFunc(j.ArrayTask, func(r rune) bool { return r < '0' || r > '9' })
	return fmt.Sprintf("%d_%s", array, strings.Join(first[:min(1, len(first))], ""))
}

// gone describes a job that is not in the queue. The raw id of a former task or component is
// unknown, and groups are named after the raw id.
func (t *teller) gone(subject string, n number) {
	if n.isRaw() {
		t.id, t.groups = n.id, t.groupsOf(n.id)
	}
	t.subject("job %s", subject)
	for _, row := range t.Skipped {
		if row.Kind == slurm.JobRow && n.isRaw() && row.Name == fmt.Sprint(n.id) {
			t.lead("The job is in Slurm's queue, but slurmflex cannot read its row: %s.", t.brief(row.Error))
			t.fact("slurmflex requests no machines for it, and leaves its nodes alone.")
			return
		}
	}
	if past := t.story.Past; past != nil {
		t.id, t.groups = past.Job.ID, t.groupsOf(past.Job.ID)
		t.subject("job %s", past.Job.owned(past.Job.title()))
		t.ended(past)
	} else {
		t.lead("There is no such job in Slurm's queue; it has finished or never existed. Try `sacct -j %s` if accounting is enabled.", subject)
	}
	left := false
	for _, name := range t.groups {
		if g, ok := t.find(name); ok && g.Job == t.id {
			left = true
			t.remains(g)
		}
	}
	if !t.sayUnread() && !left && t.id != 0 {
		t.fact("It has no machines and no requests left.")
	}
}

// remains describes what is left of a group without its job.
func (t *teller) remains(g Group) {
	switch {
	case g.Instances != "":
		t.fact("Group %s still has %s, deleted once Slurm powers down the nodes.", g.Name, g.Instances)
	default:
		t.fact("Its group %s is deleted once it is empty.", g.Name)
	}
}

// oneJob explains a job in the queue.
func (t *teller) oneJob(j Job, name string) {
	t.id, t.groups = j.ID, t.groupsOf(j.ID)
	t.subject("job %s", j.owned(name))
	t.disown(j)
	if past := t.story.Past; past != nil {
		if state := slurm.JobState(j.State); state.Waits() || state.HoldsNodes() && !state.AtWork() {
			past.requeue()
		}
		past.EndedAt = time.Time{}
	}
	if j.isUnplaced() {
		t.pending(j)
	} else {
		t.placed(j)
	}
	for _, a := range j.Ahead {
		t.fact("%s.", a)
	}
	if j.Told != "" && j.isUnplaced() {
		if t.lastDone(j, nil) == "" {
			t.fact("Last message to the owner: %s.", t.brief(memo.Text(j.Told)))
		}
		if memo.HasKeptNone(j.Told) {
			t.fact("Its other machines are held if its time limit fits what is left of their lease: give it a shorter `--time`, or " +
				"have an admin make leases longer (`max_run_duration` or `job_duration_margin`).")
		}
	}
	t.fact("%s.", j.place())
	if j.Unused > j.GPUs {
		t.fact("It asks for %d of the %d GPUs of each node, and no other job can use the rest: run several such tasks as steps of one job (`srun --exact`).",
			j.GPUs, j.GPUs+j.Unused)
	}
	t.components(j)
}

// disown drops the record if it is of an earlier job with the number of this job, which is in the
// queue.
func (t *teller) disown(j Job) {
	if past := t.story.Past; past != nil && !past.isOf(j.User, t.SeenAt) {
		t.story.Past = nil
	}
}

// components describes the other components of a heterogeneous job.
func (t *teller) components(j Job) {
	if j.HetID == 0 {
		return
	}
	text := fmt.Sprintf("It is a component of heterogeneous job %d, whose components start together", j.HetID)
	for _, other := range t.Jobs {
		if other.HetID == j.HetID && other.ID != j.ID {
			text += fmt.Sprintf("; %s is %s", other.Name(), other.State)
		}
	}
	t.fact("%s.", text)
}

// setsOf returns the flex nodesets of a partition, or of several partitions joined by commas.
func (v View) setsOf(partition string) []NodeSet {
	var sets []NodeSet
	for _, set := range v.NodeSets {
		if slices.ContainsFunc(strings.Split(partition, ","), func(p string) bool { return slices.Contains(set.Partitions, p) }) {
			sets = append(sets, set)
		}
	}
	return sets
}

// isUnplaced reports whether the job waits in the queue without nodes chosen by Slurm or slurmflex.
func (j Job) isUnplaced() bool { return slurm.JobState(j.State).Waits() && j.Awaits == "" }

// placed describes a job that has nodes, or for which machines are requested.
func (t *teller) placed(j Job) {
	j.Nodes = cmp.Or(j.Nodes, j.Awaits)
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return !slices.Contains(r.Jobs, j.ID) })
	for _, r := range rows {
		names, _ := slurm.Expand(r.Nodes)
		t.nodes = append(t.nodes, names...)
	}
	if len(rows) == 0 {
		t.placedElsewhere(j)
		return
	}
	lost := slices.ContainsFunc(rows, func(r Row) bool { return r.State == Lost })
	switch {
	case slurm.JobState(j.State) == slurm.JobRunning && !j.StartAt.IsZero() && !lost:
		t.lead("It has been running since %s.", t.on(j.StartAt))
	case j.isReady(rows) && j.Awaits != "":
		t.lead("All its nodes are up. Slurm starts the job within seconds.")
	case j.isReady(rows):
		t.lead("All its nodes are up. Slurm starts the job within half a minute.")
	case slurm.JobState(j.State) == slurm.JobCompleting:
		t.lead("It is ending (COMPLETING). Its nodes are available again when Slurm has finished with it.")
	}
	t.ends = t.early(j, rows)
	for _, r := range rows {
		t.row(r)
	}
	t.soFar(rows)
	switch waits := slices.ContainsFunc(rows, Row.Waits); {
	case j.Places > 1:
		t.fact("It stays pending until all machines of one of its %d places have registered, and starts there then.", j.Places)
	case j.Awaits != "":
		t.fact("It stays pending until all machines of %s have registered, and starts on them then.", j.Awaits)
	case !j.StartAt.IsZero() && waits:
		t.fact("Slurm allocated %s at %s and is powering up the nodes that have no machine.", j.Nodes, t.on(j.StartAt))
		if j.Placed != "" {
			t.fact("It waits CONFIGURING and not PENDING, because %s.", j.Placed)
		}
	}
	if j.begins() {
		t.fact("Slurm starts it at %s at the earliest (Slurm reason: BeginTime).", t.on(j.StartAt))
	}
	t.advise(j, rows)
}

// begins reports whether Slurm ignores the pending job until a certain time.
func (j Job) begins() bool {
	return j.Reason == slurm.BeginTime && j.Awaits != "" && !j.StartAt.IsZero()
}

// isReady reports whether all nodes of a job that has not started are up, according to these rows.
// slurmctld checks such a job every 30 seconds, and a job that waits pending sooner. It returns
// false for a component, because only Slurm knows whether the component waits for the others.
func (j Job) isReady(rows []Row) bool {
	names, _ := slurm.Expand(j.Nodes)
	up := 0
	for _, r := range rows {
		if r.State == Starting || r.State == Running {
			up += r.Count
		}
	}
	waits := slurm.JobState(j.State) == slurm.JobConfiguring || j.Awaits != "" && !j.begins()
	return waits && j.HetID == 0 && up == len(names)
}

// placedElsewhere describes a job on nodes for which slurmflex has neither a machine nor a wait.
func (t *teller) placedElsewhere(j Job) {
	switch names, _ := slurm.Expand(j.Nodes); {
	case len(names) == 0:
		t.lead("Slurm shows it as %s, without nodes.", j.State)
	case !slices.ContainsFunc(names, func(n string) bool { return !holds(t.OtherNodes, n) }):
		t.lead("It is %s on %s, which slurmflex does not manage.", j.State, j.Nodes)
	default:
		t.withoutMachines(j)
	}
}

// withoutMachines describes a job on flex nodes without visible machines.
func (t *teller) withoutMachines(j Job) {
	for _, set := range t.setsOf(j.Partition) {
		if t.unread(set.Region) {
			t.lead("Slurm shows it as %s on %s.", j.State, j.Nodes)
			t.sayUnread()
			return
		}
	}
	next := "slurmflex looks again in the next reconcile pass"
	if slurm.JobState(j.State) == slurm.JobRunning {
		next = "After SlurmdTimeout, Slurm requeues the job (or ends it, if it cannot be requeued)"
	}
	t.lead("Slurm shows the job as %s on %s, but slurmflex finds no machine and no request there. %s.", j.State, j.Nodes, next)
}

// early reports that a job's nodes end noticeably before its time limit, and returns when; zero if
// they do not.
func (t *teller) early(j Job, rows []Row) time.Time {
	var first time.Time
	var set string
	ends := ""
	for _, r := range rows {
		if r.State != Lost && !r.EndsAt.IsZero() && (first.IsZero() || r.EndsAt.Before(first)) {
			first, set, ends = r.EndsAt, r.NodeSet, "The lease ends"
			if !r.Maintain.IsZero() {
				ends = "Maintenance of a host starts"
			}
		}
	}
	if first.IsZero() || slurm.JobState(j.State) != slurm.JobRunning || j.StartAt.IsZero() {
		return time.Time{}
	}
	end := j.StartAt.Add(time.Duration(j.Limit))
	switch {
	case j.Limit == 0:
		t.fact("%s at %s, and the job with it at the latest: checkpoint before then.", ends, t.on(first))
	case end.After(first.Add(config.CloseEnough)):
		t.fact("%s at %s, before the job's time limit (%s): checkpoint before then.", ends, t.on(first), t.at(end))
	default:
		return time.Time{}
	}
	if n, ok := t.NodeSet(set); ok && n.Requeues > 0 {
		t.fact("slurmflex requeues the job at %s, if Slurm may requeue it.", t.at(first.Add(-time.Duration(n.Requeues))))
	}
	return first
}

// advise suggests how the owner of a job could shorten its wait. It suggests nothing if an admin
// has to fix the cause first, because no job avoids such a cause.
func (t *teller) advise(j Job, rows []Row) {
	at := slices.IndexFunc(rows, func(r Row) bool { return r.State == Queued || r.State == Waiting })
	if at < 0 || slices.ContainsFunc(rows, func(r Row) bool { return r.State == Starting || r.State == Booting }) {
		return // a resubmitted job would lose the machines that it has
	}
	set, ok := t.NodeSet(rows[at].NodeSet)
	if !ok {
		return
	}
	cause := rows[at].Cause
	if needsAdmin(cause) {
		t.fact("An admin has to fix the cause (%s); submitting the job differently does not help.", cause)
		return
	}
	var could []string
	// Otherwise a smaller job would not start sooner.
	short := rows[at].State == Queued || rows[at].Failed > 0
	capacity := short && (cause == "" || cause == mig.CauseCapacity.String())
	if capacity && set.mayShorten(rows[at].Lease) {
		could = append(could, fmt.Sprintf("a shorter --time (the machines are requested for %s)", rows[at].Lease.Limit()))
	}
	if (capacity || short && cause == mig.CauseQuota.String()) && set.ByJob && rows[at].Count > 1 {
		could = append(could, fmt.Sprintf("fewer nodes (now %d)", rows[at].Count))
	}
	if others := t.otherPartitions(set, j); len(others) > 0 && cause != mig.CauseQuota.String() {
		could = append(could, "partition "+strings.Join(others, " or "))
	}
	if len(could) > 0 {
		t.fact("It may start sooner with %s, but resubmitting loses the job's place.", strings.Join(could, " or "))
	}
}

// mayShorten reports whether a shorter time limit would make a lease a tenth shorter.
func (s NodeSet) mayShorten(lease Seconds) bool {
	return s.JobLease && lease-lease/10 >= max(Seconds(mig.MinDuration), s.Margin+Seconds(time.Minute))
}

// otherPartitions returns the alternatives to a nodeset that have as many nodes to request as the
// job has, allow its time limit, and may have other capacity.
func (t *teller) otherPartitions(set NodeSet, j Job) []string {
	nodes, _ := slurm.Expand(j.Nodes)
	var names []string
	for _, other := range set.Alternatives {
		if len(nodes) <= other.Size && j.Limit > 0 && j.Limit <= other.Longest && slices.ContainsFunc(t.setsOf(other.Partition), set.differs) {
			names = append(names, other.Partition)
		}
	}
	return names
}

// differs reports whether machines can be requested from another nodeset now, with capacity that
// this nodeset does not use: another kind, region or zone.
func (s NodeSet) differs(other NodeSet) bool {
	open := other.Block == nil && other.Size > other.Static
	elsewhere := slices.ContainsFunc(other.Zones, func(zone string) bool { return !slices.Contains(s.Zones, zone) })
	return open && (other.Capacity != s.Capacity || other.Region != s.Region || elsewhere)
}

func inBrackets(text string) string {
	if text == "" || text == "None" {
		return ""
	}
	return " (" + text + ")"
}
