package view

import (
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
)

// node explains a node, and reports whether a node or machine of that name exists.
func (t *teller) node(name string) bool {
	if holds(t.OtherNodes, name) {
		t.subject("node %s", name)
		t.lead("slurmflex does not manage this node: no nodeset with dws_flex contains it.")
		t.strays(name)
		return true
	}
	for _, set := range t.NodeSets {
		for _, n := range set.States {
			if holds(n.Nodes, name) {
				t.flexNode(name, set, n)
				return true
			}
		}
	}
	return t.strays(name)
}

// strays explains the machines and requests of a node that is not in a nodeset or not in Slurm, and
// reports whether there are any.
func (t *teller) strays(name string) bool {
	rows := t.rowsWith(name)
	if len(rows) == 0 {
		return false
	}
	t.nodes = []string{name}
	t.subject("node %s", name)
	for _, r := range rows {
		if r.Group != "" {
			t.groups = append(t.groups, r.Group)
		}
		t.row(r)
	}
	return true
}

// rowsWith returns the rows that contain a node.
func (t *teller) rowsWith(name string) []Row {
	return keep(t.Rows, func(r Row) bool { return holds(r.Nodes, name) })
}

func (t *teller) flexNode(name string, set NodeSet, n Nodes) {
	t.nodes = []string{name}
	t.subject("node %s of nodeset %s", name, set.Name)
	if n.State == notUnderstood {
		t.lead("Slurm shows it as %s, a state that this version of slurmflex does not know; slurmflex leaves the node alone.", n.Slurm)
	} else {
		t.lead("Slurm shows it as %s (%s).", n.State, n.Slurm)
	}
	if n.Static {
		t.fact("It is a static node, which slurmflex keeps running.")
	}
	rows := t.rowsWith(name)
	for _, r := range rows {
		if r.Group != "" {
			t.groups = append(t.groups, r.Group)
		}
		if jobs := r.JobList(); jobs != "" && r.State != Leaving {
			has := "allocated to"
			if slices.ContainsFunc(t.Jobs, func(j Job) bool { return j.Awaits != "" && holds(j.Awaits, name) }) {
				has = "reserved for"
			}
			t.fact("It is %s job %s%s.", has, jobs, ofUsers(r.Users))
		}
	}
	t.outOfService(name, n)
	for _, r := range rows {
		t.row(r)
	}
	t.soFar(rows)
	if len(rows) == 0 {
		t.withoutMachine(set, n)
	}
}

// outOfService explains who took a node out of service, and how it returns to service.
func (t *teller) outOfService(name string, n Nodes) {
	reason := n.Reason
	switch {
	case reason == "":
		reason = "no reason was given"
	case n.ReasonBy != "":
		reason = "reason given by " + n.ReasonBy + ": " + reason
	default:
		reason = "reason: " + reason
	}
	switch n.State {
	case drained, draining, failing:
		t.fact("It was taken out of service; %s.", t.brief(reason))
		t.fact("slurmflex leaves that to the admin. To return it to service: `scontrol update nodename=%s state=resume`.", name)
	case down:
		t.fact("Slurm has set it down; %s.", t.brief(reason))
		if !memo.IsOurReason(n.Reason) {
			t.fact("If neither Slurm nor slurmflex brings it back: `scontrol update nodename=%s state=resume`.", name)
		}
	default:
		if memo.IsOurReason(n.Reason) {
			t.fact("Reason for slurmflex's last change to it: %s.", t.brief(memo.ReasonText(n.Reason)))
		}
	}
}

// withoutMachine describes a node without a machine and a request.
func (t *teller) withoutMachine(set NodeSet, n Nodes) {
	at := slices.IndexFunc(t.Regions, func(r Region) bool { return r.Name == set.Region && r.ReadFail != "" })
	switch {
	case at >= 0:
		t.fact("It is unknown whether it has a machine, because region %s could not be read: %s.", set.Region, t.brief(t.Regions[at].ReadFail))
	case n.State == poweredDown && n.Static:
		t.fact("It has no machine; slurmflex powers it up in the next reconcile pass.")
	case n.State == poweredDown:
		t.fact("It has no machine and none is requested, because no job is using it. Slurm powers it up when it allocates it to a job.")
	case n.State == poweringDown:
		t.fact("Its machine is gone. Jobs can use the node again within a minute or two.")
	case n.State == poweringUp:
		t.fact("It is powering up, but no job has it and no machine is requested. slurmflex powers it down again unless a job turns up.")
	case n.State == inUse || n.State == idle || n.State == notResponding:
		t.fact("It has no machine. Once Slurm gets no answer from it and has no job on it, slurmflex powers it down, and jobs can use it again.")
	default:
		t.fact("It has no machine.")
	}
	if set.Block != nil {
		t.fact("Nodeset %s is %s.", set.Name, set.Blocked(t.now))
	}
}

func ofUsers(users []string) string {
	if len(users) == 0 {
		return ""
	}
	return " (" + strings.Join(users, ", ") + ")"
}
