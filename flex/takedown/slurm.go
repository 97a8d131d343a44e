package takedown

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// closeAll prevents new jobs on the nodes. It closes partitions that consist of these nodes only,
// and drains the nodes of partitions that also have other nodes. It drains static nodes too,
// because Slurm would otherwise power them up again. A power-down ends a node's drain, so closeAll
// drains a node again while the node powers down.
func (d *draft) closeAll() {
	open := map[string]bool{} // nodes of partitions that remain open
	for _, row := range d.scene.Seen.Unread {
		if row.Kind != slurm.PartitionRow {
			continue
		}
		for _, n := range d.nodes { // any node may be in the partition
			open[n.Name] = true
		}
	}
	for _, p := range d.scene.Seen.Partitions {
		if d.isWhole(p) {
			if p.Begins {
				d.do(action.ClosePartition{Name: p.Name, Why: "all its nodes are taken down"}, "")
			}
			continue
		}
		for _, name := range p.Nodes {
			open[name] = true
		}
	}
	var drained []string
	for _, n := range d.nodes {
		if (open[n.Name] || n.Static) && n.doubt == "" && !n.State.Has(slurm.Drain) && (n.State.Base != slurm.Down || n.Reason == "" || memo.IsOurReason(n.Reason)) {
			drained = append(drained, n.Name)
		}
	}
	if len(drained) > 0 {
		d.do(action.SetNodes{Nodes: drained, State: "drain", Reason: reason, Why: "they are taken down, and their partitions are not"}, "")
	}
}

// isWhole reports whether the takedown covers all nodes of a partition that has at least one node.
func (d *draft) isWhole(p slurm.Partition) bool {
	return len(p.Nodes) > 0 && !slices.ContainsFunc(p.Nodes, func(name string) bool { return !d.takes(name) })
}

// endJobs requeues or cancels the jobs that hold nodes, or waits for those jobs to end.
func (d *draft) endJobs() {
	once := d.isClosed()
	for _, j := range d.jobs {
		of, on := action.OfJob{Job: j.ID}, slurm.Fold(j.Nodes)
		rec, known := d.scene.Seen.Records[j.ID]
		switch {
		case j.State == slurm.JobCompleting:
			d.await("job %s to leave %s", j.Name(), on)
		case d.o.Jobs == Drain && j.State.AtWork():
			d.await("job %s to end on %s", j.Name(), on)
		case !known:
			d.keep("job %s keeps %s: it could not be read whether Slurm would requeue it", j.Name(), on)
		case rec.Requeues():
			d.do(action.EndJob{OfJob: of, Name: j.Name(), Then: action.Requeue, Why: action.Why("its nodes are taken down")}, once)
		case d.o.Jobs == Now:
			d.do(action.EndJob{OfJob: of, Name: j.Name(), Then: action.Cancel, Why: action.Why("its nodes are taken down, and Slurm would not requeue it")}, once)
		case d.o.Jobs == Drain:
			d.await("job %s, which Slurm would not requeue, to end on %s", j.Name(), on)
		default:
			d.tell(j, "its nodes will be taken down, and Slurm would not requeue it", once)
			d.keep("job %s keeps %s, because Slurm would not requeue it; --drain waits for it, --now cancels it", j.Name(), on)
		}
	}
}

// tell notifies a job's owner, once. It reports whether an earlier look did so.
func (d *draft) tell(j *slurm.Job, why, once string) bool {
	if !d.o.Told[j.ID] {
		d.do(action.TellJob{OfJob: action.OfJob{Job: j.ID}, Name: j.Name(), Why: action.Why(why)}, once)
	}
	return d.o.Told[j.ID]
}

// powerDown powers down the nodes that no job holds.
func (d *draft) powerDown() {
	var idle, rising, held []string
	for _, n := range d.nodes {
		switch {
		// Powered-down nodes need no step: a job may hold nothing but their door.
		case n.State.Power() == slurm.Off && !n.State.Held() || n.doubt != "":
		case len(n.Holders) > 0:
			held = append(held, n.Name)
		case n.State.Held():
			d.await("node %s to lose or show its job", n.Name)
		case n.Power == slurm.On && n.State.IsIdle() && !n.State.Has(slurm.NotResponding):
			if n.State.Has(slurm.PowerDown) {
				d.await("node %s to power down", n.Name)
				continue
			}
			idle = append(idle, n.Name)
		default:
			rising = append(rising, n.Name)
		}
	}
	once := d.isClosed()
	for _, s := range []struct {
		nodes []string
		state string
		once  string
	}{
		{idle, "power_down", once}, {rising, "power_down_force", once}, {held, "power_down", "their jobs have left"},
	} {
		if len(s.nodes) > 0 {
			d.do(action.SetNodes{Nodes: s.nodes, State: s.state, Why: "they are taken down"}, s.once)
		}
	}
}

// deleteReservations deletes the cluster's reservations on nodes that are powered down. Jobs in
// such a reservation continue to wait without it. A reservation that also has other nodes keeps
// them.
func (d *draft) deleteReservations() {
	left := 0
	for _, row := range d.scene.Seen.Unread {
		if row.Kind == slurm.ReservationRow && d.isOwn(row.Name) {
			left++
		}
	}
	for _, r := range d.scene.Holds {
		if r.Kind == memo.CoverHold && !r.Abandoned {
			// The daemon would create the reservation again. Slurm deletes it after the daemon has
			// stopped.
			continue
		}
		var others, ours []string
		for _, name := range r.Nodes {
			if set, _, ok := d.scene.Config.Find(name); ok && !d.isOurs(set.Name) || !ok && d.o.NodeSet != "" {
				others = append(others, name)
			} else {
				ours = append(ours, name)
			}
		}
		if len(ours) == 0 && len(others) > 0 {
			continue
		}
		left++
		of := action.OfReservation{Name: r.Name}
		if r.Kind == memo.DoorHold {
			d.do(action.DeleteReservation{OfReservation: of, Address: r.Address, Why: "its nodes are taken down"}, d.unlessTold(r))
			continue
		}
		if len(others) > 0 {
			d.do(action.SetReservation{OfReservation: of, ReservationChange: slurm.ReservationChange{Nodes: others}, Why: "its other nodes are taken down"}, d.anyInUse(ours))
			continue
		}
		end := action.DeleteReservation{OfReservation: of, Why: "its nodes are taken down"}
		// Slurm keeps a reservation while a job uses it. The next look frees it of the next job.
		for _, j := range d.scene.Seen.Jobs {
			if j.Reservation == r.Name {
				end.Job, end.Address = j.ID, j.Address()
			}
		}
		d.do(end, d.anyInUse(ours))
	}
	d.plan.Left.Reservations = &left
}

// unlessTold notifies the owner of the job that waits pending for a door's nodes. It returns the
// condition for deleting the door; empty if the owner has been notified.
func (d *draft) unlessTold(r scene.Hold) string {
	for _, door := range d.scene.Doors {
		if door.Name == r.Name && door.Taker != nil && !d.tell(door.Taker, memo.TakenDown+"; it waits pending, and machines are requested again once the nodes are back", "") {
			return "the owner of job " + door.Taker.Name() + " is notified"
		}
	}
	return ""
}

// nameUndo lists the commands that reopen partitions and nodes.
func (d *draft) nameUndo() {
	for _, p := range d.scene.Seen.Partitions {
		open := fmt.Sprintf("scontrol update partitionname=%s state=up", p.Name)
		switch wasUp, began := d.o.WereUp[p.Name]; {
		case !d.isWhole(p) || p.Begins:
		case wasUp:
			d.plan.Undo = append(d.plan.Undo, open)
		case !began:
			d.plan.UndoEarlier = append(d.plan.UndoEarlier, open)
		}
	}
	var drained []string
	for _, n := range d.nodes {
		if n.State.Has(slurm.Drain) && n.Reason == reason {
			drained = append(drained, n.Name)
		}
	}
	if len(drained) > 0 {
		d.plan.Undo = append(d.plan.Undo, fmt.Sprintf("scontrol update nodename=%s state=resume", slurm.Fold(drained)))
	}
}
