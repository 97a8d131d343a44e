package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// rows returns the waiting nodes and the existing machines.
func (b *builder) rows() []Row {
	all := []Row{}
	for _, w := range b.plan.Waits {
		all = append(all, b.waiting(w))
	}
	all = append(all, b.unserved()...)
	lost := map[string]bool{}
	for _, l := range b.plan.Losses {
		row := b.row(l.Nodes)
		row.NodeSet, row.Region, row.State, row.Obstacle, row.EndsAt = l.NodeSet, l.Region, Lost, l.String(), second(l.Ended)
		all = append(all, row)
		for _, name := range l.Nodes {
			lost[name] = true
		}
	}
	all = append(all, b.leases(lost)...)
	for i := range all {
		all[i].KnownAt = b.knownAt(all[i].Region)
	}
	return sorted(all)
}

// sorted sorts rows by nodeset, state and time.
func sorted(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.NodeSet, b.NodeSet), cmp.Compare(rank(a.State), rank(b.State)),
			a.Since.Compare(b.Since), slices.Compare(a.Jobs, b.Jobs), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Request, b.Request), slices.Compare(a.Nodes, b.Nodes))
	})
	return rows
}

// rank sorts waiting rows before running ones, and rows that are being deleted last.
func rank(s State) int {
	return slices.Index([]State{
		Waiting, Requesting, Queued, Returning, Pending, Lost, Booting, Starting, Running, Idle, Down, Cancelling, Deleting, Orphaned,
	}, s)
}

// row returns a row for these nodes with the jobs that hold them.
func (b *builder) row(names []string) Row {
	r := Row{Nodes: names, Count: len(names), Jobs: []uint32{}, ShownAs: []string{}, Users: []string{}}
	for _, name := range names {
		for _, j := range b.scene.Named(name).Holders {
			if !slices.Contains(r.Jobs, j.ID) {
				r.Jobs = append(r.Jobs, j.ID)
				r.ShownAs = append(r.ShownAs, j.Name())
			}
			if user := userOf(b.scene, j); user != "" && !slices.Contains(r.Users, user) {
				r.Users = append(r.Users, user)
			}
		}
	}
	if len(names) > 0 {
		set, index, ok := b.scene.Config.Find(names[0])
		r.Static = ok && set.IsStatic(index)
	}
	return r
}

// waiting returns the row of nodes without machines.
func (b *builder) waiting(w demand.Wait) Row {
	row := b.row(w.Nodes)
	row.NodeSet, row.Region, row.Group, row.Request = w.NodeSet, w.Region, w.Group, w.Request
	row.Lease, row.Since, row.Obstacle = Seconds(w.Lease), second(w.Since), w.Obstacle
	row.State, row.RequestedAt = State(w.Stage), second(w.Requested)
	row.Failed, row.NextAt = w.Failed, second(w.Next)
	row.trouble(w.Trouble)
	row.FailingSince, row.RetryEvery = second(w.Failing.Since), Seconds(w.Failing.Every())
	row.GiveUpAt, row.GiveUpBy, row.Then = second(w.Until), w.By, w.Then
	return row
}

// trouble records why the row's last attempt, or its current request, has not created machines.
func (r *Row) trouble(t mig.Trouble) {
	r.Cause, r.Brief, r.Quota, r.Error = t.Cause, t.Brief(), t.Quota, t.Message
}

// arrived reports whether each instance of the request exists.
func arrived(s *scene.Scene, r mig.Request) bool {
	for _, name := range r.Instances {
		if !slices.ContainsFunc(s.Named(name).Machines, func(in scene.Machine) bool { return in.Belongs }) {
			return false
		}
	}
	return len(r.Instances) > 0
}

// unserved returns the rows of live requests for which no nodes wait, and which have not created all
// their machines yet.
func (b *builder) unserved() (all []Row) {
	for _, g := range b.scene.Groups {
		for _, r := range g.Requests {
			if !r.State.Live() || arrived(b.scene, r) || slices.ContainsFunc(b.plan.Waits, func(w demand.Wait) bool { return serves(g, r, w) }) {
				continue
			}
			row := b.row(r.Instances)
			row.NodeSet, row.Region, row.Group, row.Request, row.State = g.Stamp.NodeSet, g.Region, g.Name, r.Name, Queued
			if r.State == mig.Creating {
				row.State = Requesting
			}
			for _, a := range b.plan.Actions {
				if a, ok := a.(action.CancelRequest); ok && a.Group == g.ID() && a.Request == r.Name {
					row.State, row.Obstacle = Cancelling, a.Because()
				}
			}
			row.Lease, row.Since, row.RequestedAt = Seconds(r.Duration), second(r.Created), second(r.Created)
			row.trouble(r.Trouble)
			all = append(all, row)
		}
	}
	return all
}

// serves reports whether the wait's nodes wait for the request, or for a call that fails.
func serves(g *mig.Group, r mig.Request, w demand.Wait) bool {
	return w.Request == r.Name && w.Group == g.Name && w.Region == g.Region ||
		w.Failing.Times > 0 && slices.ContainsFunc(r.Instances, func(name string) bool { return slices.Contains(w.Nodes, name) })
}

// leases returns the rows of machines, except those of lost nodes. Machines that differ only in their
// names and their times of creation are one row.
func (b *builder) leases(lost map[string]bool) []Row {
	all, at := []Row{}, map[string]int{}
	for _, in := range b.scene.Machines {
		if lost[in.Name] || !in.Belongs {
			continue
		}
		one := b.leased(in)
		like := fmt.Sprintln(one.NodeSet, one.Region, one.Zone, one.Group, one.State, one.EndsAt, one.Maintain, one.Lease, one.Jobs, one.Static)
		i, known := at[like]
		if !known {
			at[like], all = len(all), append(all, one)
			continue
		}
		row := &all[i]
		row.Nodes, row.Count = append(row.Nodes, in.Name), row.Count+1
		row.Since, row.KeptTo, row.GiveUpAt = scene.Earlier(row.Since, one.Since), scene.Earlier(row.KeptTo, one.KeptTo), scene.Earlier(row.GiveUpAt, one.GiveUpAt)
	}
	return all
}

// leased returns the row of a machine.
func (b *builder) leased(in scene.Machine) Row {
	row := b.row([]string{in.Name})
	row.Region, row.Zone, row.Group, row.State = in.Region, in.Zone, in.Group, StateOf(in)
	row.Since, row.EndsAt, row.Lease = second(in.Created), second(in.Until()), Seconds(in.Requested())
	if !in.Until().Equal(in.Terminates) {
		row.Maintain = row.EndsAt
	}
	set := b.scene.Config.FlexSetOf(in.Name)
	if set == nil {
		return row
	}
	row.NodeSet = set.Name
	if in.Node != nil {
		row.Obstacle = suspended(in.Node.Holders)
	}
	if row.State == Idle && !row.Static {
		row.KeptTo = second(in.Node.KeptUntil(in.Until()))
	}
	if row.State == Booting && !row.Since.IsZero() && set.Flex.BootTimeout > 0 {
		row.GiveUpAt, row.GiveUpBy = row.Since.Add(set.Flex.BootTimeout), "boot_timeout"
		switch {
		case in.Node.Owner == nil:
			row.Then = "power down"
		case b.scene.WouldEnd(in.Node.Holders):
			row.Then = "replace"
		default:
			row.Then = action.Requeue
		}
	}
	return row
}

// suspended states which of a node's jobs are suspended; empty if none is.
func suspended(jobs []*slurm.Job) string {
	var names []string
	for _, j := range jobs {
		if j.State == slurm.JobSuspended {
			names = append(names, j.Name())
		}
	}
	switch len(names) {
	case 0:
		return ""
	case len(jobs):
		return "suspended (scontrol suspend), while its machines are billed"
	case 1:
		return "job " + names[0] + " is suspended (scontrol suspend)"
	}
	return "jobs " + strings.Join(names, ", ") + " are suspended (scontrol suspend)"
}

// StateOf returns the state of a machine of the cluster.
func StateOf(in scene.Machine) State {
	switch {
	case in.Leaving():
		return Deleting
	case in.Node == nil:
		return Orphaned
	}
	state, holders := stateOf(Word(in.Node.State)), in.Node.Holders
	waited := len(holders) > 0 && !slices.ContainsFunc(holders, func(j *slurm.Job) bool { return j.State.AtWork() })
	switch {
	// If the job waits pending, Slurm shows the node as powered down.
	case waited && in.Node.Power == scene.Rising:
		return Booting
	case waited && (state == Running || state == Idle):
		return Starting
	case len(holders) > 0 && state == Idle: // its job is suspended
		return Running
	case state == Deleting && len(holders) == 0 && in.Node.Cover && in.Node.Power == scene.Off && !in.Node.IsPoweredDown(in) && !in.Stopped() && in.Origin.ForJobs():
		return Booting // its job has left it, and another may get it
	}
	return state
}
