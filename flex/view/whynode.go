package view

import (
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
)

// node tells the story of a node, and reports whether there is one of that name.
func (t *teller) node(name string) bool {
	if holds(t.OtherNodes, name) {
		t.subject("node %s", name)
		t.say("slurmflex does not look after it: no nodeset with dws_flex has a node of that name.")
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
	return false
}

func (t *teller) flexNode(name string, set NodeSet, n Nodes) {
	t.nodes = []string{name}
	t.subject("node %s of nodeset %s", name, set.Name)
	if n.Static {
		t.say("It is a static node, which is always wanted.")
	}
	if n.State == notUnderstood {
		t.say("Slurm shows it as %s: slurmflex does not understand that, and leaves it alone.", n.Slurm)
	} else {
		t.say("Slurm shows it as %s (%s).", n.State, n.Slurm)
	}
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return !holds(r.Nodes, name) })
	for _, r := range rows {
		if r.Group != "" {
			t.groups = append(t.groups, r.Group)
		}
		if jobs := r.JobList(); jobs != "" && r.State != Leaving {
			t.say("It is allocated to job %s%s.", jobs, ofUsers(r.Users))
		}
	}
	t.outOfService(name, n)
	for _, r := range rows {
		t.row(r)
	}
	if len(rows) == 0 {
		t.withoutMachine(set, n)
	}
}

// outOfService tells who has taken a node out of service, and how it comes back.
func (t *teller) outOfService(name string, n Nodes) {
	reason := n.Reason
	switch {
	case reason == "":
		reason = "no reason is given"
	case n.ReasonBy != "":
		reason = "the reason given by " + n.ReasonBy + " is: " + reason
	default:
		reason = "the reason given is: " + reason
	}
	switch n.State {
	case drained, draining, failing:
		t.say("It was taken out of service; %s.", reason)
		t.say("slurmflex leaves that to the admin. Next: `scontrol update nodename=%s state=resume` puts it back.", name)
	case down:
		t.say("Slurm has it down; %s.", reason)
		if !strings.HasPrefix(n.Reason, memo.ReasonPrefix) {
			t.say("Next: unless Slurm or slurmflex brings it back by itself, `scontrol update nodename=%s state=resume` does.", name)
		}
	default:
		if strings.HasPrefix(n.Reason, memo.ReasonPrefix) {
			t.say("slurmflex last changed it with these words: %s.", strings.TrimPrefix(n.Reason, memo.ReasonPrefix))
		}
	}
}

// withoutMachine tells of a node that has no machine and waits for none.
func (t *teller) withoutMachine(set NodeSet, n Nodes) {
	at := slices.IndexFunc(t.Regions, func(r Region) bool { return r.Name == set.Region && r.ReadFail != "" })
	switch {
	case at >= 0:
		t.say("Whether it has a machine is not known: region %s could not be read (%s).", set.Region, t.Regions[at].ReadFail)
	case n.State == poweredDown && n.Static:
		t.say("It has no machine. Next: slurmflex powers it up in the next round.")
	case n.State == poweredDown:
		t.say("It has no machine, and none is asked for: no job has been given it. Next: it is powered up when Slurm gives it to a job.")
	case n.State == poweringDown:
		t.say("Its machine is gone. Next: it is free for jobs again within a minute or two.")
	case n.State == poweringUp:
		t.say("It is powering up, no machine is asked for, and no job has it. Next: slurmflex powers it down again unless a job shows.")
	case n.State == inUse || n.State == idle || n.State == notResponding:
		t.say("It has no machine in the cloud. Next: when Slurm gets no answer from it and has no job there, slurmflex powers it down, and it is free again.")
	default:
		t.say("It has no machine in the cloud.")
	}
	if set.Block != nil {
		t.say("Nodeset %s is %s.", set.Name, set.Blocked(t.now))
	}
}

func ofUsers(users []string) string {
	if len(users) == 0 {
		return ""
	}
	return " of " + strings.Join(users, ", ")
}
