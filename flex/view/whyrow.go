package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// row explains what the nodes of a row are doing, why, and what follows.
func (t *teller) row(r Row) {
	if !r.KnownAt.IsZero() {
		t.sayLastKnown(r)
	}
	switch r.State {
	case Asking:
		t.asking(r)
	case Queued:
		t.queued(r)
	case Waiting:
		t.waiting(r)
	case Returned:
		t.returned(r)
	case Cancelling:
		t.lead("Request %s/%s for %s is being cancelled: %s.", r.Group, r.Request, r.Nodes, r.Obstacle)
	case Lost:
		t.lost(r)
	case Booting:
		t.booting(r)
	case Starting, Running, Idle, Down:
		t.machine(r)
	case Leaving:
		t.lead("%s being deleted.", r.machines("is", "are"))
	case Orphaned:
		t.orphaned(r)
	}
}

// orphaned describes machines without a node: Slurm or the configuration lacks it. They are deleted
// only if the configuration does, and not while a job runs on them.
func (t *teller) orphaned(r Row) {
	if r.NodeSet != "" {
		t.lead("%s, but Slurm's list of nodes lacks %s of nodeset %s, so slurmflex does not delete %s. If slurm.conf lacks the %s, an admin adds %s (`slurmflex config slurm-conf`) or deletes the %s.",
			r.machines("exists", "exist"), r.one("this node", "these nodes"), r.NodeSet, r.one("it", "them"),
			r.one("node", "nodes"), r.one("it", "them"), r.one("machine", "machines"))
		return
	}
	if len(r.Jobs) > 0 {
		t.lead("%s in use by job %s, but the configuration has no such %s: a nodeset is smaller than before. slurmflex deletes %s once no job has %s.",
			r.machines("is", "are"), r.JobList(), r.one("node", "nodes"), r.one("it", "them"), r.one("it", "them"))
		return
	}
	t.lead("%s to no node that slurmflex knows, and %s deleted ten minutes after creation.", r.machines("belongs", "belong"), r.one("is", "are"))
}

// lost explains how the job leaves its lost machines: through the daemon, which knows after two
// passes, or through Slurm alone.
func (t *teller) lost(r Row) {
	what := strings.ToUpper(r.Obstacle[:1]) + t.brief(r.Obstacle[1:])
	if t.Daemon == nil {
		t.lead("%s. After SlurmdTimeout without an answer, Slurm requeues the job, or ends it if it cannot be requeued.", what)
		return
	}
	t.lead("%s. slurmflex sets the %s down in its next pass; Slurm then requeues the job, or ends it if it cannot be requeued. If an admin drains the %s, Slurm does so after SlurmdTimeout.",
		what, r.one("node", "nodes"), r.one("node", "nodes"))
}

// one returns the first word for one node, the second for several.
func (r Row) one(one, several string) string {
	if r.Count == 1 {
		return one
	}
	return several
}

// machines returns the start of a sentence about the machines of a row.
func (r Row) machines(one, several string) string {
	if r.Count == 1 {
		return "The machine of " + r.Nodes + " " + one
	}
	return "The machines of " + r.Nodes + " " + several
}

// sayLastKnown announces that the following statements are from an earlier time.
func (t *teller) sayLastKnown(r Row) {
	for _, region := range t.Regions {
		if region.Name == r.Region {
			t.lead("Region %s cannot be read; what follows was last known at %s. slurmflex tries again in each reconcile pass.", r.Region, t.on(r.KnownAt))
			t.detail("Region %s could not be read: %s.", r.Region, sentence(region.ReadFail))
		}
	}
}

// asked describes what was or will be requested from Google.
func (t *teller) asked(r Row) string {
	machine := "machine"
	if set, ok := t.NodeSet(r.NodeSet); ok && set.Machine != "" {
		machine = set.Machine + " machine"
	}
	lasts := "for " + r.Lease.Limit()
	if t.atOnce(r) {
		lasts = "without a lease"
	}
	return fmt.Sprintf("%s (%s) %s", Count(r.Count, machine), r.Nodes, lasts)
}

// requested describes a row's live request and when it was created.
func (t *teller) requested(r Row) {
	t.fact("Requested at %s: %s, in request %s/%s.", t.on(r.RequestedAt), t.asked(r), r.Group, r.Request)
}

// atOnce reports whether the row's capacity is created immediately or rejected, without a lease.
func (t *teller) atOnce(r Row) bool {
	set, known := t.NodeSet(r.NodeSet)
	return known && set.Capacity.AtOnce()
}

func (t *teller) asking(r Row) {
	switch {
	case t.atOnce(r):
		t.lead("slurmflex is requesting %s. Google creates them within about a minute or rejects the request.", t.asked(r))
	case r.Request == "":
		t.lead("slurmflex is about to request %s. Google then checks the request, which takes a minute or two, and queues it.", t.asked(r))
		t.fact("The request will be in group %s.", r.Group)
	default:
		t.lead("Google is checking the request, which takes a minute or two, and then queues it.")
		t.requested(r)
	}
	t.earlier(r)
}

func (t *teller) queued(r Row) {
	lacks := "no capacity in " + t.zones(r) + " yet"
	next := "Google keeps retrying; " + t.arrive(r) + " once it has capacity."
	if r.Estimate == nil {
		next += " Too few past requests are known for an estimate."
	}
	if r.Cause == mig.CauseQuota.String() {
		lacks, next = r.Brief, "Google keeps retrying; "+t.arrive(r)+" once enough of the quota is free or an admin has it raised."
	}
	t.lead("Queued at Google for %s: %s. %s", t.since(r.RequestedAt), lacks, next)
	t.requested(r)
	if r.Estimate != nil {
		t.fact("Estimated remaining wait: %s.", r.Estimate)
	}
	t.givesUp(r)
	t.earlier(r)
	if r.Error != "" {
		t.detail("Google's last error message: %s.", sentence(r.Error))
	}
}

// arrive says which machines Google grants together. Jobs that share a request wait for the machines
// of all.
func (t *teller) arrive(r Row) string {
	if size, _ := t.Wanted(r); size > r.Count {
		return fmt.Sprintf("all %d machines of the request, which other jobs share, arrive together", size)
	}
	return r.one("the node arrives", "all the nodes arrive together")
}

// givesUp explains when the wait ends, and what happens to the job.
func (t *teller) givesUp(r Row) {
	switch {
	case r.GiveUpAt.IsZero():
	case r.GiveUpBy == string(demand.ByDeadline):
		ends := "Slurm ends it"
		if r.Then == string(action.Cancel) {
			ends = "slurmflex cancels it"
		}
		t.fact("If %s not arrived by %s, the job cannot end by its --deadline any more, and %s.", r.one("it has", "they have"), t.on(r.GiveUpAt), ends)
	default:
		t.fact("If %s not arrived by %s, the job is %s (%s).", r.one("it has", "they have"), t.on(r.GiveUpAt), becomes(r.Then), r.GiveUpBy)
	}
}

// zones names the possible zones of a row's machines, or the region if the zones are unknown.
func (t *teller) zones(r Row) string {
	set, _ := t.NodeSet(r.NodeSet)
	if len(set.Zones) == 0 {
		return r.Region
	}
	last := len(set.Zones) - 1
	if last == 0 {
		return set.Zones[0]
	}
	return strings.Join(set.Zones[:last], ", ") + " or " + set.Zones[last]
}

func (t *teller) waiting(r Row) {
	if known, unread := t.lastKnown(r.Region); unread {
		if known.IsZero() {
			t.lead("It is unknown whether machines for %s are requested: %s. slurmflex tries again in each reconcile pass.", r.Nodes, t.brief(r.Obstacle))
		} else {
			t.fact("No request for %s was queued at Google then. slurmflex makes none until it can read the region.", r.Nodes)
		}
		return
	}
	switch set, _ := t.NodeSet(r.NodeSet); {
	case r.failing():
		t.lead("The request is %s.", r.failure(t.at(r.FailingSince)))
		t.fact("It is for %s.", t.asked(r))
	case r.Failed > 0 && !r.NextAt.IsZero():
		t.lead("Attempt %d failed: %s. slurmflex retries at %s.", r.Failed, cmp.Or(r.Brief, mig.CauseUnknown.String()), t.on(r.NextAt))
		t.fact("It will request %s.", t.asked(r))
	case set.Block != nil:
		t.lead("Nodeset %s is %s.", set.Name, set.BlockedForUsers(t.now))
		if set.Block.Failed > 0 {
			t.fact("slurmflex then requests %s, or sooner if a machine of the nodeset joins Slurm.", t.asked(r))
		} else {
			t.fact("slurmflex requests %s once the block has ended.", t.asked(r))
		}
	default:
		t.lead("No request yet: %s. slurmflex then requests %s.", t.brief(r.Obstacle), t.asked(r))
	}
	t.givesUp(r)
	t.earlier(r)
	if r.Failed > 0 && !t.records(r) {
		t.detail("The last attempt: %s.", sentence(r.Error))
	}
}

// records reports whether a failed request on record has the row's last error.
func (t *teller) records(r Row) bool {
	g, _ := t.find(r.Group)
	return slices.ContainsFunc(g.Requests, func(request Request) bool { return request.State == "FAILED" && request.Error == r.Error })
}

// earlier describes the failed attempts.
func (t *teller) earlier(r Row) {
	g, _ := t.find(r.Group)
	for _, request := range g.Requests {
		if request.State == "FAILED" && request.Name != r.Request {
			t.detail("Request %s/%s, made at %s, failed (%s): %s.", g.Name, request.Name,
				t.on(request.CreatedAt), request.Cause, sentence(request.Error))
		}
	}
}

// returned explains why a job loses its nodes, and how it starts again.
func (t *teller) returned(r Row) {
	t.lead("%s being returned to Slurm, and the job is %s: %s.", r.one("Node "+r.Nodes+" is", "Nodes "+r.Nodes+" are"), becomes(r.Then), t.brief(r.Obstacle))
	if r.Error != "" {
		t.detail("Google's last error message: %s.", sentence(r.Error))
	}
	if r.Then != string(action.Hold) || len(r.Jobs) == 0 {
		return
	}
	for _, j := range t.Jobs {
		if j.ID == r.Jobs[0] {
			t.fact("Once an admin has fixed the cause: `scontrol release %s`.", j.address())
		}
	}
}

func (t *teller) booting(r Row) {
	next := ""
	if len(r.Jobs) > 0 {
		next = " The job starts once " + r.one("it has", "all have") + "."
	}
	t.lead("%s created at %s%s and %s booting; slurmd has not registered with Slurm yet.%s",
		r.machines("was", "were"), t.on(r.Since), inZone(r.Zone), r.one("is", "are"), next)
	if !r.GiveUpAt.IsZero() {
		t.fact("%s not registered by %s %s powered down (boot_timeout).", r.one("If it has", "Those that have"), t.on(r.GiveUpAt), r.one("it is", "are"))
	}
}

// machine describes machines that are up.
func (t *teller) machine(r Row) {
	state := "Slurm is not using " + r.one("it", "them")
	switch r.State {
	case Starting:
		state = r.one("is", "are") + " up; Slurm has not started the job yet"
	case Running:
		state = r.one("is", "are") + " in use"
	case Idle:
		state = r.one("is", "are") + " idle"
	}
	text := fmt.Sprintf("%s created at %s%s and %s", r.machines("was", "were"), t.on(r.Since), inZone(r.Zone), state)
	if r.State == Down {
		text = strings.Replace(text, " and Slurm", ", and Slurm", 1)
	}
	t.lead("%s.", text)
	if r.EndsAt.IsZero() && !t.atOnce(r) {
		t.fact("Compute does not show yet when the lease ends.")
		return
	}
	switch {
	case r.EndsAt.IsZero():
	case !r.Maintain.IsZero():
		t.fact("Google maintains the %s from %s on, and then stops the %s, even if jobs are still running. No job is started that would not be done by then.",
			r.one("host", "hosts"), t.on(r.Maintain), r.one("machine", "machines"))
	case !r.EndsAt.Equal(t.ends):
		t.fact("The lease ends at %s. Google then deletes the %s, even if jobs are still running.", t.on(r.EndsAt), r.one("machine", "machines"))
	}
	switch {
	case r.State == Idle && !r.KeptTo.IsZero():
		t.fact("%s kept for the next job until %s (keep_idle), then powered down.", r.one("It is", "They are"), t.on(r.KeptTo))
	case r.State == Idle && !r.Static:
		t.fact("Slurm gives %s to the next job, or powers %s down after SuspendTime.", r.one("it", "them"), r.one("it", "them"))
	}
}

// soFar adds up the machine time and cost of rows. Machines that were created for the story's job
// count from their creation, other machines from the start of the job, so not while it waits.
func (t *teller) soFar(rows []Row) {
	var machineHours, gpuHours, money float64
	currency, unpriced, shared := "", false, false
	for _, r := range rows {
		if r.State != Starting && r.State != Running {
			continue
		}
		hours := float64(r.Count) * max(t.SeenAt.Sub(t.paidSince(r)), 0).Hours()
		if hours == 0 {
			continue
		}
		machineHours += hours
		set, _ := t.NodeSet(r.NodeSet)
		machine, _ := mig.KnownMachine(set.Machine)
		gpuHours += hours * float64(machine.GPUs)
		if set.Price == nil {
			unpriced = true
		} else {
			money, currency = money+hours*set.Price.Hour, set.Price.Currency
		}
		shared = shared || len(r.Jobs) > 1
	}
	if machineHours == 0 {
		return
	}
	text := fmt.Sprintf("%.1f machine hours", machineHours)
	if gpuHours > 0 {
		text += fmt.Sprintf(", %.1f GPU hours", gpuHours)
	}
	switch {
	case currency != "" && unpriced:
		text += fmt.Sprintf(", at least %.2f %s", money, currency)
	case currency != "":
		text += fmt.Sprintf(", %.2f %s", money, currency)
	}
	if shared && t.id != 0 {
		text += ", shared with other jobs"
	}
	t.fact("So far: %s.", text)
}

// paidSince returns when a row's machines started to count toward the story's cost.
func (t *teller) paidSince(r Row) time.Time {
	for _, j := range t.Jobs {
		switch {
		case j.ID != t.id || r.MadeFor == t.id:
		case slurm.JobState(j.State).Waits():
			return t.SeenAt
		case j.StartAt.After(r.Since):
			return j.StartAt
		}
	}
	return r.Since
}

func inZone(zone string) string {
	if zone == "" {
		return ""
	}
	return " in " + zone
}

// becomes describes what happens to a job when it loses its nodes.
func becomes(then string) string {
	switch then {
	case "hold":
		return "held"
	case "cancel":
		return "cancelled"
	}
	return "requeued"
}
