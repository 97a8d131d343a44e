package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
)

// node explains a node, and reports whether a node or machine of that name exists.
func (e *explainer) node(name string) bool {
	e.Subject = "node " + name
	rows := keep(e.Rows, func(r Row) bool { return r.Nodes.has(name) })
	e.rows(rows, byWeight)
	for _, set := range e.NodeSets {
		for _, n := range set.States {
			if n.Nodes.has(name) {
				e.flexNode(name, set, n, rows)
				return true
			}
		}
	}
	if e.OtherNodes.has(name) && len(rows) == 0 {
		e.State = "NOT MANAGED by slurmflex: no nodeset with dws_flex contains it"
	}
	return e.State != ""
}

// flexNode explains a node of a nodeset.
func (e *explainer) flexNode(name string, set NodeSet, n Nodes, rows []Row) {
	e.Subject += " of nodeset " + set.Name
	machine := e.State
	e.State = strings.ToUpper(n.State)
	e.detail("Slurm's state: %s.", n.Slurm)
	if n.State == notUnderstood {
		e.State += " (" + n.Slurm + ")"
		e.Cause, e.Next = "this version of slurmflex does not know the state", "slurmflex leaves the node alone"
	}
	for _, r := range rows {
		if jobs := strings.Join(r.ShownAs, ","); jobs != "" && r.State != Deleting {
			has := "allocated to"
			if slices.ContainsFunc(e.Jobs, func(j Job) bool { return j.Awaits != "" && slices.Contains(r.Jobs, j.ID) }) {
				has = "reserved for"
			}
			e.State += fmt.Sprintf(", %s job %s%s", has, jobs, bracketed(strings.Join(r.Users, ", ")))
		}
	}
	if len(rows) > 0 && rows[0].Waits() {
		e.State += ": " + machine
	}
	if n.Static {
		e.State += ", static"
	}
	e.outOfService(name, n)
	if len(rows) == 0 {
		e.withoutMachine(set, n)
	}
}

// outOfService explains who took a node out of service, and how it returns to service.
func (e *explainer) outOfService(name string, n Nodes) {
	reason := e.brief(n.Reason)
	if n.ReasonBy != "" && reason != "" {
		reason += " (set by " + n.ReasonBy + ")"
	}
	resume := fmt.Sprintf("scontrol update nodename=%s state=resume", name)
	switch {
	case memo.IsOurReason(n.Reason) && !n.isOut():
		e.detail("Reason for slurmflex's last change to it: %s.", memo.ReasonText(n.Reason))
	case !n.isOut():
	case n.State == down && memo.IsOurReason(n.Reason):
		e.Cause = memo.ReasonText(n.Reason)
	case strings.Contains(n.Slurm, "REBOOT"):
		e.Cause, e.Next = reason, "Slurm returns it to service once it has rebooted"
	default:
		e.Cause, e.YouCan = reason, "as an admin, return it to service: "+resume
	}
}

// withoutMachine describes a node without a machine and a request.
func (e *explainer) withoutMachine(set NodeSet, n Nodes) {
	e.Machines = "none"
	switch unread := e.unreadText(set.Region); {
	case unread != "":
		e.Machines, e.Cause = "unknown", e.brief(unread)
	case n.State == poweredDown && n.Static:
		e.Next = "powered up in the next pass"
	case n.State == poweredDown:
		e.Machines = "none, and none is requested: no job is using it"
	case n.State == poweringDown:
		e.Next = "jobs can use the node again within a minute or two"
	case n.State == poweringUp:
		e.Machines, e.Next = "none, and none is requested: no job has it", "powered down again unless a job turns up"
	case n.State == inUse || n.State == idle || n.State == notResponding:
		e.Next = "powered down once Slurm gets no answer from it and has no job on it; jobs can then use it again"
	}
	if set.Block != nil && e.Cause == "" {
		e.Cause = "nodeset " + set.Name + " is " + set.blocked(e.now)
		e.YouCan = "as an admin: slurmflex unblock " + set.Name
	}
}

// nodeSet explains a nodeset, and reports whether it exists.
func (e *explainer) nodeSet(name string) bool {
	set, ok := e.NodeSet(name)
	if !ok {
		return false
	}
	e.Subject = "nodeset " + name
	_, e.State, _ = strings.Cut(e.SummaryOf(set), ": ")
	e.State = strings.ToUpper(e.State[:1]) + e.State[1:]
	rows := keep(e.Rows, func(r Row) bool { return r.NodeSet == name })
	waits := keep(rows, Row.Waits)
	switch unread := e.unreadText(set.Region); {
	case len(waits) > 0 && e.inactive() != "":
		e.Cause = e.inactive()
	case unread != "":
		e.Cause = e.brief(unread)
	case set.Block != nil:
		e.Cause = set.blocked(e.now)
		e.YouCan = "as an admin, once the cause is fixed: slurmflex unblock " + name
	case len(waits) > 0:
		e.Cause = e.causeOfRow(waits[0])
	}
	var requests []string
	for _, r := range waits {
		requests = append(requests, e.requestOf(r))
	}
	e.Request = listed(requests)
	e.Machines = fmt.Sprintf("%s in %s, %s", cmp.Or(set.Machine, "unknown machine type"), strings.Join(set.Zones, ", "), set.Capacity)
	if set.Price != nil {
		e.Machines += fmt.Sprintf(", %.2f %s an hour", set.Price.Hour, set.Price.Currency)
	}
	e.Next = "jobs wait CONFIGURING"
	if set.Pends && e.Daemon != nil {
		e.Next = "jobs wait PENDING until their machines have registered"
	}
	return true
}

// group explains a managed instance group, and reports whether anything is known about a group of
// that name.
func (e *explainer) group(name string) bool {
	g, exists := e.find(name)
	rows := keep(e.Rows, func(r Row) bool { return r.Group == name })
	if !exists && len(rows) == 0 {
		return false
	}
	e.Subject = "group " + name
	e.rows(rows, byWeight)
	if exists {
		e.Subject += " of " + e.ownerOf(g) + ", nodeset " + g.NodeSet
		e.ofGroup(g, len(rows) == 0)
	}
	return true
}

// ownerOf names whom a group was created for.
func (v View) ownerOf(g Group) string {
	switch {
	case g.Job != 0:
		return "job " + v.nameOf(g.Job)
	case g.Array != 0:
		return fmt.Sprintf("tasks of array %d", g.Array)
	case g.User != "":
		return "one-node jobs of user " + g.User
	case g.Node != "":
		return "node " + g.Node
	}
	return "shared requests"
}

// ofGroup describes a group itself. An empty group is without machines and live requests.
func (e *explainer) ofGroup(g Group, empty bool) {
	if empty {
		e.attempts(Row{Group: g.Name})
		e.State, e.Next = "EMPTY", "deleted in one of the next passes"
		if g.Job != 0 && slices.ContainsFunc(e.Jobs, func(j Job) bool { return j.ID == g.Job }) {
			e.Next = "deleted once its job has left the queue or its record of attempts no longer counts"
		}
	}
	if !g.CreatedAt.IsZero() {
		e.detail("Managed instance group in %s, created at %s.", g.Region, e.at(g.CreatedAt))
	}
}
