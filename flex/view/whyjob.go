package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// job explains a job or an array.
func (e *explainer) job(subject string, n number) {
	switch jobs := e.numbered(n); {
	case len(jobs) == 0:
		e.gone(subject, n)
	case len(jobs) > 1:
		e.array(n.id, jobs)
	case n.isRaw():
		e.oneJob(jobs[0], jobs[0].Name())
	default:
		e.oneJob(jobs[0], subject)
	}
}

// array sums up an array with several tasks in the queue. Its cause is that of the first task that
// waits.
func (e *explainer) array(id uint32, tasks []Job) {
	e.Subject = "job " + tasks[0].owned(fmt.Sprint(id)) + ", array"
	e.disown(tasks[0])
	run, get, wait := 0, 0, 0
	var first *Job
	for i, j := range tasks {
		of := j.inSlurm()
		switch count := max(len(of.Tasks()), 1); {
		case j.State.AtWork():
			run += count
		case !j.isUnplaced():
			get += count
		default:
			wait += count
			if first == nil {
				first = &tasks[i]
			}
		}
	}
	e.rows(keep(e.Rows, func(r Row) bool {
		return slices.ContainsFunc(tasks, func(j Job) bool { return slices.Contains(r.Jobs, j.ID) })
	}), byWeight)
	var states []string
	for _, s := range []struct {
		n            int
		one, several string
	}{{run, "1 task runs", "%d tasks run"}, {get, "1 task gets machines", "%d tasks get machines"}, {wait, "1 task waits", "%d tasks wait"}} {
		switch {
		case s.n == 1:
			states = append(states, s.one)
		case s.n > 1:
			states = append(states, fmt.Sprintf(s.several, s.n))
		}
	}
	e.State = strings.Join(states, ", ")
	if first != nil {
		e.Cause = e.brief(e.causeOf(*first))
		e.Next = e.nextOfPending(*first)
	}
	e.YouCan = "ask about one task, such as " + tasks[0].example(id)
}

// example returns a number with which users can ask about a task of an array.
func (j Job) example(array uint32) string {
	first := strings.FieldsFunc(j.ArrayTask, func(r rune) bool { return r < '0' || r > '9' })
	return fmt.Sprintf("%d_%s", array, strings.Join(first[:min(1, len(first))], ""))
}

// gone describes a job that is not in the queue. The raw id of a former task or component is
// unknown, and groups are named after the raw id.
func (e *explainer) gone(subject string, n number) {
	id := uint32(0) // none
	if n.isRaw() {
		id = n.id
	}
	e.Subject = "job " + subject
	for _, row := range e.Skipped {
		if row.Kind == slurm.JobRow && n.isRaw() && row.Name == fmt.Sprint(n.id) {
			e.State, e.Cause = "UNKNOWN", e.brief("Slurm's row of it cannot be read: "+row.Error)
			e.Next = "slurmflex requests no machines for it, and leaves its nodes alone"
			return
		}
	}
	if e.Past != nil {
		id = e.Past.Job.ID
		e.Subject = "job " + e.Past.Job.owned(e.Past.Job.Name())
		e.ended(e.Past)
	} else {
		e.State = "NOT IN SLURM'S QUEUE: it has ended or never existed"
		e.YouCan = "sacct -j " + subject + ", if accounting is enabled"
		if e.Daemon != nil && e.Daemon.Says() == "" {
			e.State = "NOT IN SLURM'S QUEUE at " + e.at(e.View.SeenAt) + ": it was submitted later, has ended or never existed"
			e.Next = fmt.Sprintf("the daemon looks again within %s", Span(time.Duration(e.Daemon.Interval)))
		}
	}
	for _, g := range e.Groups {
		if id != 0 && g.Job == id {
			e.Machines = joined(e.Machines, g.remains())
		}
	}
	if unread := e.butUnread(); unread != "" {
		e.Machines = joined(e.Machines, "unknown: "+strings.TrimPrefix(unread, "; "))
	} else if e.Machines == "" && id != 0 {
		e.Machines = "none left, and no requests"
	}
}

// remains describes what is left of a group without its job.
func (g Group) remains() string {
	if g.Instances != "" {
		return fmt.Sprintf("%s, deleted once Slurm powers down the nodes", g.Instances)
	}
	return fmt.Sprintf("none; group %s is deleted once it is empty", g.Name)
}

// ended describes the record of a job that has left Slurm's queue.
func (e *explainer) ended(p *Past) {
	if p.EndedAt.IsZero() {
		p.EndedAt = e.View.SeenAt
	}
	if n := len(p.Events); n == 0 || p.Events[n-1].Kind != EventEnded {
		p.Events = append(p.Events, Event{At: p.EndedAt, Kind: EventEnded})
	}
	e.State = "ENDED at " + e.at(p.EndedAt)
	if ran, start := p.ran(); ran == "" {
		e.State += ", no run recorded"
	} else {
		e.State += fmt.Sprintf(", after running for %s %s", Span(p.EndedAt.Sub(start)), ran)
	}
	if done, ok := memo.DoneOf(p.Job.Told); ok {
		e.Cause = e.brief(done.String())
	} else if p.Job.Told != "" {
		e.detail("Last message to the owner: %s.", memo.Text(p.Job.Told))
	}
	e.YouCan = "sacct -j " + p.Job.Name() + ", if accounting is enabled"
}

// oneJob explains a job in the queue.
func (e *explainer) oneJob(j Job, name string) {
	e.Subject = "job " + j.owned(name)
	e.disown(j)
	var ahead []string
	for _, a := range j.Ahead {
		text := a.String()
		if len(j.Ahead) > 1 {
			text = a.NodeSet + ": " + text
		}
		ahead = append(ahead, text)
	}
	e.Ahead = listed(ahead)
	rows := e.rowsOf(j)
	switch {
	case j.isUnplaced():
		e.pending(j)
	case len(rows) == 0:
		e.elsewhere(j)
	default:
		e.placed(j, rows)
	}
	if j.HetID != 0 {
		e.components(j)
	}
	if done, ok := memo.DoneOf(j.Told); ok && j.isUnplaced() && !strings.Contains(e.Cause, done.Reason) {
		e.detail("Earlier: %s.", done)
	}
}

// disown drops the story if it is of an earlier job with the number of this job, which is in the queue.
func (e *explainer) disown(j Job) {
	past := e.Past
	if past != nil && (!past.EndedAt.IsZero() || past.Job.User != "" && j.User != "" && past.Job.User != j.User) {
		e.Past = nil
	}
}

// components names the other components of a heterogeneous job.
func (e *explainer) components(j Job) {
	var others []string
	for _, other := range e.Jobs {
		if other.HetID == j.HetID && other.ID != j.ID {
			others = append(others, other.Name()+" is "+string(other.State))
		}
	}
	if text := "the components of a heterogeneous job start together"; len(others) > 0 && !j.State.AtWork() {
		e.Next = joined(e.Next, text+": "+strings.Join(others, ", "))
	}
}

// setsOf returns the flex nodesets of a partition, or of several partitions joined by commas.
func (v View) setsOf(partition string) []NodeSet {
	return keep(v.NodeSets, func(set NodeSet) bool { return slices.ContainsFunc(set.Partitions, Job{Partition: partition}.mayUse) })
}

// isUnplaced reports whether the job waits in the queue without nodes chosen by Slurm or slurmflex.
func (j Job) isUnplaced() bool { return j.State.Waits() && j.Awaits == "" }

// placed explains a job that has nodes, or for which machines are requested.
func (e *explainer) placed(j Job, rows []Row) {
	order := byWeight
	if j.Places > 1 {
		order = byPlace
	}
	e.rows(rows, order)
	lost := slices.ContainsFunc(rows, func(r Row) bool { return r.State == Lost })
	switch {
	case lost:
	case j.State == slurm.JobRunning:
		e.State = "RUNNING" + e.since(j.StartAt)
		e.early(j, rows)
	case j.State == slurm.JobCompleting:
		e.State, e.Next = "ENDING (COMPLETING)", "its nodes are available again when Slurm has finished with it"
	case e.begins(j):
		e.Cause, e.Next = "", "Slurm starts it at "+e.on(j.StartAt)+" at the earliest (BeginTime)"
	case isReady(j, rows) && j.State.Waits() && !slurm.LacksNodes(j.Reason) && !slices.Contains([]string{"", "None", "Reservation"}, j.Reason):
		e.State, e.Cause, e.Next = "WAITS, all its nodes are up", slurmsCause(j.Reason), "Slurm starts it once that has changed; others may use the machines before"
	case e.State == "STARTING" && j.HetID != 0 && j.State.Waits():
		e.State = "READY, all its nodes are up"
	case isReady(j, rows) && j.Awaits != "":
		e.State, e.Next = "STARTING, all its nodes are up", "Slurm starts it within seconds"
	case isReady(j, rows):
		e.State, e.Next = "STARTING, all its nodes are up", "Slurm starts it within half a minute"
	default:
		e.YouCan = e.advice(j, rows)
	}
	if j.Places > 1 && strings.HasPrefix(e.Next, "starts ") {
		e.Next = fmt.Sprintf("starts in the first of its %d places with all machines registered", j.Places)
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.GiveUpAt.IsZero() || r.State == Booting }) { // its wait ends with its last place
			e.Next = joined(e.Next, e.givesUp(slices.MaxFunc(rows, func(a, b Row) int { return a.GiveUpAt.Compare(b.GiveUpAt) })))
		}
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.State == Returning && r.Then == action.Hold }) {
		e.Next = "once the cause is fixed, an admin releases it: scontrol release " + j.address()
	}
}

// begins reports whether Slurm ignores the pending job, which has a request, until a certain time.
func (e *explainer) begins(j Job) bool {
	return j.Reason == slurm.BeginTime && j.Awaits != "" && !j.StartAt.IsZero()
}

// isReady reports whether all nodes of a job that has not started are up. slurmctld checks such a job
// every 30 seconds, and a job that waits pending sooner. It returns false for a component, because
// only Slurm knows whether the component waits for the others.
func isReady(j Job, rows []Row) bool {
	up, lacks := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		place := ""
		if j.Places > 1 {
			place = r.NodeSet
		}
		if r.State == Starting || r.State == Running {
			up[place] += r.Count
		} else {
			lacks[place] = true
		}
	}
	for place, n := range up {
		if n >= j.NodeCount && !lacks[place] {
			return j.HetID == 0 && (j.State == slurm.JobConfiguring || j.Awaits != "")
		}
	}
	return false
}

// elsewhere explains a job on nodes for which slurmflex has neither a machine nor a wait.
func (e *explainer) elsewhere(j Job) {
	e.State = string(j.State)
	if len(j.Nodes) > 0 {
		e.State += " on " + j.Nodes.String()
	}
	sets := e.setsOf(j.Partition)
	unread, isUnread := first(sets, func(set NodeSet) bool { return e.unreadText(set.Region) != "" })
	switch {
	case len(j.Nodes) == 0 || e.OtherNodes.has(j.Nodes[0]):
		e.State += ", which slurmflex does not manage"
	case isUnread:
		e.Cause = e.brief(e.unreadText(unread.Region))
	default:
		e.Cause = "slurmflex finds no machine and no request there"
		if e.Next = "the next pass looks again"; j.State == slurm.JobRunning {
			e.Next = "after SlurmdTimeout, Slurm requeues the job, or ends it if it cannot be requeued"
		}
	}
}

// early states when a running job's nodes end, and advises to save before if that is noticeably before
// its time limit.
func (e *explainer) early(j Job, rows []Row) {
	rows = keep(rows, func(r Row) bool { return r.State != Lost && !r.EndsAt.IsZero() })
	if len(rows) == 0 || j.StartAt.IsZero() {
		return
	}
	first := slices.MinFunc(rows, func(a, b Row) int { return a.EndsAt.Compare(b.EndsAt) })
	e.Next = e.untilEnd(first)
	end := j.StartAt.Add(time.Duration(j.Limit))
	switch {
	case j.Limit == 0:
		e.Next += ", and the job with it at the latest"
	case end.After(first.EndsAt.Add(config.CloseEnough)):
		e.Next += ", before the job's time limit (" + e.at(end) + ")"
	default:
		return
	}
	e.YouCan = "checkpoint before then"
	n, _ := e.NodeSet(first.NodeSet)
	if at := first.EndsAt.Add(-time.Duration(n.Requeues)); n.Requeues > 0 && at.After(e.View.SeenAt) {
		e.Next += "; requeued at " + e.at(at) + ", if Slurm may requeue it"
	}
}

// advice suggests how the owner of a job could shorten its wait; empty if nothing helps. It suggests
// nothing if an admin has to fix the cause first, because no job avoids such a cause.
func (e *explainer) advice(j Job, rows []Row) string {
	row, waits := first(rows, func(r Row) bool { return r.State == Queued || r.State == Waiting })
	if !waits || slices.ContainsFunc(rows, func(r Row) bool { return r.State == Starting || r.State == Booting }) {
		return "" // a resubmitted job would lose the machines that it has
	}
	set, ok := e.NodeSet(row.NodeSet)
	switch {
	case !ok || row.State == Waiting && e.inactive() != "":
		return ""
	case row.Cause.NeedsAdmin() && e.unreadText(row.Region) != "": // the cause may be over
		return ""
	case row.Cause.NeedsAdmin():
		return "ask an admin to fix the cause (" + string(row.Cause) + "); another submission does not help"
	}
	var could []string
	// Otherwise a smaller job would not start sooner.
	short := row.State == Queued || row.Failed > 0
	capacity := short && (row.Cause == "" || row.Cause == mig.CauseCapacity)
	if capacity && set.mayShorten(row.Lease) {
		could = append(could, "a shorter --time (its lease: "+Span(time.Duration(row.Lease))+")")
	}
	if (capacity || short && row.Cause == mig.CauseQuota) && set.ByJob && row.Count > 1 {
		could = append(could, fmt.Sprintf("fewer nodes (now %d)", row.Count))
	}
	if others := e.otherPartitions(set, j, row.Count); len(others) > 0 && (short || set.Block != nil) && row.Cause != mig.CauseQuota {
		could = append(could, "partition "+strings.Join(others, " or "))
	}
	if len(could) == 0 {
		return ""
	}
	return "submit it again with " + strings.Join(could, " or ") + ": it may start sooner, but loses its place"
}

// mayShorten reports whether a shorter time limit would make a lease a tenth shorter.
func (s NodeSet) mayShorten(lease Seconds) bool {
	return s.JobLease && lease-lease/10 >= max(Seconds(mig.MinDuration), s.Margin+Seconds(time.Minute))
}

// otherPartitions returns the alternatives to a nodeset that have as many nodes to request as the
// job has, allow its time limit, and may have other capacity.
func (v View) otherPartitions(set NodeSet, j Job, nodes int) []string {
	var names []string
	for _, other := range set.Alternatives {
		if !j.mayUse(other.Partition) && max(nodes, j.NodeCount) <= other.Size && j.Limit > 0 && j.Limit <= other.Longest && slices.ContainsFunc(v.setsOf(other.Partition), set.differs) {
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
