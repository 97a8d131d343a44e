package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// cause returns the one cause of the row's state, which all outputs show; empty without a cause.
func (r Row) cause() string {
	switch {
	case r.failing():
		return scene.FailingText(r.Cause, r.Brief)
	case r.Failed > 0 && r.Cause != "" && !r.NextAt.IsZero():
		return fmt.Sprintf("attempt %d failed: %s", r.Failed, cmp.Or(r.Brief, string(r.Cause)))
	case r.Obstacle != "":
		return r.Obstacle
	case r.State == Queued && r.Error != "":
		return cmp.Or(r.Brief, string(r.Cause))
	}
	return ""
}

// byWeight orders the states of a job's rows: the first one is the job's.
var byWeight = []State{Lost, Returning, Waiting, Requesting, Queued, Cancelling, Booting, Starting, Running, Idle, Down, Deleting, Orphaned}

// byPlace orders the states of rows in several places, of which one is enough.
var byPlace = []State{Returning, Starting, Booting, Queued, Requesting, Waiting, Cancelling}

// rows fills in the fields about a job's, a node's or a group's rows. The first of them in that order
// of states is the state.
func (e *explainer) rows(rows []Row, order []State) {
	if len(rows) == 0 {
		return
	}
	first := slices.MinFunc(rows, func(a, b Row) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	e.State, e.Cause = e.stateOf(first), e.causeOfRow(first)
	e.Next, e.YouCan = e.nextOf(first), ""
	var requests, machines []string
	for _, r := range rows {
		if text := e.requestOf(r); text != "" && !slices.Contains(requests, text) {
			requests = append(requests, text)
		}
		if text := e.machinesOf(r); text != "" {
			machines = append(machines, text)
		}
		if r.Estimate != nil && e.Estimate == "" {
			e.Estimate = r.Estimate.String()
		}
		e.attempts(r)
	}
	e.Request, e.Machines = listed(requests), listed(machines)
	if first.State == Queued && e.Estimate == "" && e.isLease(first) && first.Cause != mig.CauseQuota {
		e.Estimate = "too few past requests for an estimate"
	}
}

// shownParts is how many requests or rows of machines a field names.
const shownParts = 3

func listed(parts []string) string {
	if more := len(parts) - shownParts; more > 0 {
		parts = append(slices.Clone(parts[:shownParts]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}

// stateOf returns the row's state in capitals, and since when.
func (e *explainer) stateOf(r Row) string {
	_, requested := e.Wanted(r)
	switch r.State {
	case Requesting:
		return "REQUESTING machines" + e.since(r.RequestedAt)
	case Queued:
		return "QUEUED at Google" + e.since(requested)
	case Waiting:
		return "WAITS" + e.since(r.Since) + ", without a request"
	case Returning:
		return strings.ToUpper(becomes(r.Then)) + " now: " + r.one("its node is", "its nodes are") + " returned to Slurm"
	case Cancelling:
		return "CANCELLING the request"
	case Lost:
		return "LOST " + r.one("its machine", "its machines")
	case Booting:
		return "BOOTING" + e.since(r.Since)
	case Orphaned:
		return "ORPHANED " + r.one("machine", "machines")
	case Deleting:
		return "DELETING " + r.one("the machine", "the machines")
	}
	return strings.ToUpper(string(r.State))
}

// causeOfRow returns the cause of the row's state with what only an explanation says: an unread
// region, and a missing daemon, come first.
func (e *explainer) causeOfRow(r Row) string {
	unread := e.unreadText(r.Region)
	isPassive := r.State == Waiting || r.State == Requesting || r.State == Returning
	switch text := r.cause(); {
	case isPassive && e.inactive() != "":
		return e.inactive()
	case unread != "" && !r.KnownAt.IsZero():
		return e.brief(unread) + "; last known at " + e.at(r.KnownAt)
	case unread != "" && r.Waits():
		return e.brief(unread)
	case r.State == Queued && r.Obstacle == "" && (text == "" || r.Cause == mig.CauseCapacity):
		return "no capacity in " + e.zones(r)
	default:
		return e.brief(text)
	}
}

// requestOf describes the request for the row's nodes, or the one that will be made.
func (e *explainer) requestOf(r Row) string {
	text := e.machines(r)
	if e.isLease(r) && r.Lease > 0 {
		text += " for " + Span(time.Duration(r.Lease))
	}
	switch {
	case !r.Waits() && r.State != Cancelling || r.State == Returning:
		return ""
	case r.Request == "":
		return text + ", not made yet"
	case r.State == Requesting:
		return text + ", which Google has not accepted yet"
	}
	return fmt.Sprintf("%s since %s, %s/%s", text, e.at(r.RequestedAt), r.Group, r.Request)
}

// machines describes the machines that the row's nodes have or lack.
func (e *explainer) machines(r Row) string {
	set, _ := e.NodeSet(r.NodeSet)
	return fmt.Sprintf("%d × %s (%s)", r.Count, cmp.Or(set.Machine, "machine"), r.Nodes)
}

// isLease reports whether the row's capacity has a queue and a lease. Other capacity is created at
// once or refused.
func (e *explainer) isLease(r Row) bool {
	set, known := e.NodeSet(r.NodeSet)
	return !known || !set.Capacity.AtOnce()
}

// machinesOf describes the row's machines; empty if it has none.
func (e *explainer) machinesOf(r Row) string {
	if r.Waits() || r.State == Cancelling || r.State == Lost {
		return ""
	}
	text := e.machines(r)
	if r.Zone != "" {
		text += " in " + r.Zone
	}
	if !r.Since.IsZero() {
		text += " since " + e.at(r.Since)
	}
	return text
}

// nextOf returns what happens next to the row's nodes.
func (e *explainer) nextOf(r Row) string {
	switch r.State {
	case Requesting, Waiting:
		return e.nextRequest(r)
	case Queued, Booting:
		return joined(e.starts(r), e.givesUp(r))
	case Lost:
		return e.afterLoss(r)
	case Running, Starting, Idle, Down:
		return e.untilEnd(r)
	case Orphaned:
		return e.afterOrphan(r)
	}
	return ""
}

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(keep(texts, func(text string) bool { return text != "" }), "; ")
}

// nextRequest returns when a request follows.
func (e *explainer) nextRequest(r Row) string {
	set, _ := e.NodeSet(r.NodeSet)
	switch {
	case e.Daemon == nil:
		return "an admin restarts it: systemctl restart slurmflex"
	case e.inactive() != "":
		return ""
	case e.unreadText(r.Region) != "":
		return "each pass tries to read the region again"
	case r.failing():
		return joined(r.retries(e.now), e.givesUp(r))
	case r.Failed > 0 && !r.NextAt.IsZero():
		return joined("requested again at "+e.on(r.NextAt), e.givesUp(r))
	case r.State == Waiting && set.Block != nil && set.Block.Failed == 0:
		return "its request follows once the block has ended"
	case r.State == Waiting && set.Block != nil:
		return "its request follows at " + e.on(set.Block.Until) + ", or when a machine of the nodeset joins Slurm"
	case r.State == Waiting:
		return joined("its request follows when that has changed", e.givesUp(r))
	case !e.isLease(r):
		return "Google creates the " + r.one("machine", "machines") + " within a minute or so, or refuses"
	}
	return "Google checks the request, which takes a minute or two, and queues it"
}

// starts describes when the row's job starts. Jobs that share a request wait for the machines of all.
func (e *explainer) starts(r Row) string {
	const ready = "once all machines have registered"
	if len(r.Jobs) == 0 || r.Obstacle != "" {
		return ""
	}
	if size, _ := e.Wanted(r); size > r.Count {
		return fmt.Sprintf("starts %s; all %d machines of the request, which other jobs share, come together", ready, size)
	}
	return "starts " + ready
}

// givesUp describes when the wait or the boot ends, and what happens to the job.
func (e *explainer) givesUp(r Row) string {
	switch {
	case r.GiveUpAt.IsZero():
		return ""
	case r.GiveUpBy == demand.ByDeadline && r.Then == action.Cancel:
		return "cancelled at " + e.at(r.GiveUpAt) + " unless it starts by then (--deadline)"
	case r.GiveUpBy == demand.ByDeadline:
		return "Slurm ends it at " + e.at(r.GiveUpAt) + " unless it starts by then (--deadline)"
	case r.State == Booting:
		return fmt.Sprintf("powered down at %s unless registered by then (%s)", e.at(r.GiveUpAt), r.GiveUpBy)
	}
	return fmt.Sprintf("%s at %s unless served by then (%s)", becomes(r.Then), e.at(r.GiveUpAt), r.GiveUpBy)
}

// zones names the possible zones of a row's machines, or the region if the zones are unknown.
func (e *explainer) zones(r Row) string {
	set, _ := e.NodeSet(r.NodeSet)
	if len(set.Zones) == 0 {
		return r.Region
	}
	last := len(set.Zones) - 1
	if last == 0 {
		return set.Zones[0]
	}
	return strings.Join(set.Zones[:last], ", ") + " or " + set.Zones[last]
}

// attempts adds the failed attempts for the row's nodes and Google's error messages to the details.
func (e *explainer) attempts(r Row) {
	g, _ := e.find(r.Group)
	recorded := false
	for _, request := range g.Requests {
		if request.State == mig.Failed && request.Name != r.Request {
			recorded = recorded || request.Error == r.Error
			e.detail("Request %s/%s, made at %s, failed (%s): %s.", g.Name, request.Name,
				e.at(request.CreatedAt), request.Cause, strings.TrimSuffix(request.Error, "."))
		}
	}
	if r.Error != "" && !recorded {
		e.detail("Google's last error message: %s.", strings.TrimSuffix(strings.TrimSpace(r.Error), "."))
	}
}

// afterLoss explains how the job leaves its lost machines: through the daemon, which knows after two
// passes, or through Slurm alone.
func (e *explainer) afterLoss(r Row) string {
	const requeues = "Slurm requeues the job, or ends it if it cannot be requeued"
	if e.Daemon == nil {
		return "after SlurmdTimeout, " + requeues
	}
	return "the next pass sets the " + r.one("node", "nodes") + " down (drained: after SlurmdTimeout); " + requeues
}

// untilEnd describes how long machines that are up stay.
func (e *explainer) untilEnd(r Row) string {
	end := ""
	switch {
	case !r.Maintain.IsZero():
		end = fmt.Sprintf("Google maintains the %s from %s on, and then stops the %s: no job starts that would not be done by then",
			r.one("host", "hosts"), e.on(r.Maintain), r.one("machine", "machines"))
	case !r.EndsAt.IsZero():
		end = "its lease ends at " + e.on(r.EndsAt)
	case e.isLease(r):
		end = "Compute does not show yet when the lease ends"
	}
	switch {
	case r.State == Idle && !r.KeptTo.IsZero():
		return joined("kept for the next job until "+e.on(r.KeptTo)+" (keep_idle)", end)
	case r.State == Idle && !r.Static:
		return joined("used by the next job, or powered down after SuspendTime", end)
	}
	return end
}

// afterOrphan describes what happens to machines without a node: Slurm or the configuration lacks it. They
// are deleted only if the configuration does, and not while a job runs on them.
func (e *explainer) afterOrphan(r Row) string {
	switch {
	case r.NodeSet != "":
		e.Cause = fmt.Sprintf("Slurm's list of nodes lacks %s of nodeset %s", r.Nodes, r.NodeSet)
		e.YouCan = "as an admin, add the node to slurm.conf (slurmflex config slurm-conf) or delete the machine: slurmflex deletes neither"
		return ""
	case len(r.Jobs) > 0:
		e.Cause = fmt.Sprintf("job %s uses %s, but the configuration has no such node", strings.Join(r.ShownAs, ","), r.Nodes)
		return "deleted once no job has " + r.one("it", "them")
	}
	e.Cause = r.Nodes.String() + " is no node that slurmflex knows"
	return "deleted ten minutes after creation"
}

// one returns the first word for one node, the second for several.
func (r Row) one(one, several string) string {
	if r.Count == 1 {
		return one
	}
	return several
}

// becomes describes what happens to a job when it loses its nodes.
func becomes(then action.Then) string {
	switch then {
	case action.Hold:
		return "held"
	case action.Cancel:
		return "cancelled"
	}
	return "requeued"
}
