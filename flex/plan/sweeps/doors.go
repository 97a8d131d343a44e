package sweeps

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// byReservation returns the waiting jobs, by the reservation that they name.
func byReservation(s *scene.Scene) map[string][]*slurm.Job {
	named := map[string][]*slurm.Job{}
	for i := range s.Seen.Jobs {
		if j := &s.Seen.Jobs[i]; j.Reservation != "" && j.State.Waits() {
			named[j.Reservation] = append(named[j.Reservation], j)
		}
	}
	return named
}

// isForDoor reports whether the door was made for the job, or for a job or task that the job is
// part of.
func isForDoor(d *scene.Door, j *slurm.Job) bool {
	whole := demand.WholeOf(d.Address)
	return slices.ContainsFunc([]uint32{j.ID, j.ArrayID, j.HetID}, func(id uint32) bool { return strconv.FormatUint(uint64(id), 10) == whole })
}

// keepDoors moves each job that waits pending to its next stage. It makes the job use its door,
// moves the door ahead while machines boot, opens it when all have registered, and deletes it when
// the job runs or must wait again.
func keepDoors(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	promises, named := w.Scene.Seen.Promises, byReservation(w.Scene)
	for _, d := range w.Scene.Doors() {
		of := action.OfReservation{Name: d.Name}
		for _, j := range named[d.Name] {
			if !d.Doubted && !isForDoor(d, j) {
				s.Actions = append(s.Actions, action.UseReservation{OfReservation: of, Job: j.ID, Address: cmp.Or(j.Address(), strconv.FormatUint(uint64(j.ArrayID), 10)), Leave: true, Why: action.Why("it is for job " + d.Address)})
			}
		}
		var job uint32
		if d.Job != nil {
			job = d.Job.ID
		}
		opens := func(at time.Time, why action.Why) {
			s.Actions = append(s.Actions, action.SetReservation{OfReservation: of, ReservationChange: slurm.ReservationChange{Start: at}, Why: why})
		}
		switch stage, why := demand.StageOf(w.Scene, d); {
		case stage == demand.DoorUnsure || !promises && stage != demand.DoorEnded:
			// Slurm opens the door without an action of ours.
		case stage == demand.DoorEnded || stage == demand.DoorBroken || stage == demand.DoorLate:
			end := action.DeleteReservation{OfReservation: of, Job: job, Address: d.Address, Unused: !d.Named(), Why: action.Why(why)}
			if stage == demand.DoorLate {
				end.Late, end.NodeSet = cmp.Or(d.Job.Reason, "None"), nodesetOf(w.Scene, d)
			}
			s.Actions = append(s.Actions, end)
		case w.Scene.Config.Options.Waiting != config.Pending && !d.Opened(w.Scene.Seen.Now):
			opens(w.Scene.Seen.Now, "jobs are to wait configuring")
		case w.Handed.Inherits(d.Job):
			// The job uses another door from now on.
		case w.Handed.Ends[d] != "":
			s.Actions = append(s.Actions, action.DeleteReservation{OfReservation: of, Job: job, Address: d.Address, Unused: true, Why: action.Why(w.Handed.Ends[d])})
		case stage == demand.DoorBooting && w.Handed.Leaves[d] && d.Named():
			s.Actions = append(s.Actions, action.UseReservation{OfReservation: of, Job: job, Address: d.Address, Leave: true, Why: "idle machines fit the job"})
		case !d.Named() && isBest(w.Scene, d) && !w.Handed.Leaves[d]:
			s.Actions = append(s.Actions, action.UseReservation{OfReservation: of, Job: job, Address: d.Address, Leave: false, Why: "the machines are for this job"})
			s.Expect = append(s.Expect, "job "+d.Address+" to use its door")
		case stage == demand.DoorReady && d.Named():
			opens(w.Scene.Seen.Now, "all machines of its job have registered")
			s.Expect = append(s.Expect, "job "+d.Address+" to start")
		case stage == demand.DoorStarting && !d.Opened(w.Scene.Seen.Now):
			opens(w.Scene.Seen.Now, "a clock that was ahead set its start")
			s.Expect = append(s.Expect, "job "+d.Address+" to start")
		case stage == demand.DoorStarting:
			s.Expect = append(s.Expect, "job "+d.Address+" to start")
		case (stage == demand.DoorBooting || stage == demand.DoorReady) && !d.Opened(w.Scene.Seen.Now):
			if demand.StartsLater(w.Scene, d.Job, 0) {
				s.Expect = append(s.Expect, "Slurm to let job "+d.Address+" start")
			}
			if start := pushed(w.Scene, d); start.Before(d.Start) || start.Sub(d.Start) >= pushEvery(w.Scene) {
				opens(start, "its machines are still to come")
			}
		}
	}
	return s
}

// nodesetOf returns the name of the nodeset of a door's first node; empty if that node is not ours.
func nodesetOf(s *scene.Scene, d *scene.Door) string {
	if len(d.Nodes) > 0 {
		if set := s.Config.FlexSetOf(d.Nodes[0]); set != nil {
			return set.Name
		}
	}
	return ""
}

// isBest reports whether the job should use this one of its doors: the first that has only
// registered machines, otherwise the first that has all its machines, otherwise the first.
func isBest(s *scene.Scene, d *scene.Door) bool {
	return !slices.ContainsFunc(d.Rivals, func(r *scene.Door) bool {
		ours, theirs := progressOf(s, d), progressOf(s, r)
		return theirs > ours || theirs == ours && r.Place < d.Place
	})
}

// progressOf returns the progress of a door's machines: 0 if one does not exist, 1 if all exist, 2
// if all have registered.
func progressOf(s *scene.Scene, d *scene.Door) int {
	switch stage, _ := demand.StageOf(s, d); {
	case stage == demand.DoorReady || stage == demand.DoorStarting:
		return 2
	case stage == demand.DoorBooting && len(s.WithoutMachine(d.Nodes)) == 0:
		return 1
	}
	return 0
}

// NearDoors returns the unopened doors that their jobs use or will use and that have all their
// machines. Their nodes may register at any time.
func NearDoors(s *scene.Scene) (near []*scene.Door) {
	for _, d := range s.Doors() {
		if stage, _ := demand.StageOf(s, d); stage == demand.DoorBooting && isBest(s, d) && !d.Opened(s.Seen.Now) && !demand.StartsLater(s, d.Job, 0) && len(s.WithoutMachine(d.Nodes)) == 0 {
			near = append(near, d)
		}
	}
	return near
}

// pushed returns the new start of a door that still lacks machines: doorAhead from now, but before
// Slurm powers down the first machine that has registered, because SuspendTime also counts behind a
// door. Machines that a job keeps after a loss wait for the replacement until salvage_timeout.
func pushed(s *scene.Scene, d *scene.Door) time.Time {
	start := s.Seen.Now.Add(demand.DoorAhead).Truncate(time.Second)
	if demand.MayHaveSurvivors(s, d) {
		return start
	}
	for _, name := range d.Nodes {
		m := s.Node(name)
		if m.Power != scene.On || s.Seen.SuspendTime == 0 || m.LastBusyTime.IsZero() {
			continue
		}
		if last := m.LastBusyTime.Add(s.Seen.SuspendTime - time.Minute); last.Before(start) {
			start = last
		}
	}
	return start
}

// pushEvery returns how long a door keeps its start before it is moved again: half of doorAhead, or
// less if the next two passes would be too late.
func pushEvery(s *scene.Scene) time.Duration {
	return max(time.Minute, min(demand.DoorAhead/2, demand.DoorAhead-2*s.Config.Options.Interval))
}

// makeDoors makes a door for each job that needs machines. The next pass requests them.
func makeDoors(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	made := map[string]int{}
	for _, want := range w.Handed.Wants {
		now := w.Scene.Seen.Now
		of := action.OfReservation{Name: memo.DoorReservation(w.Scene.Config.Cluster, want.Address, now)}
		why, start := action.Why(fmt.Sprintf("job %s lacks %d nodes of %s", want.Address, len(want.Nodes), want.Set.Name)), now.Add(demand.DoorAhead)
		switch n := made[want.Address]; {
		case want.Cold:
			of, start = action.OfReservation{Name: memo.ColdReservation(w.Scene.Config.Cluster, want.Address, now)}, now
			why = action.Why(fmt.Sprintf("Slurm is to choose nodes of %s for job %s, which waits CONFIGURING then", want.Set.Name, want.Address))
		case n > 0:
			of.Name = memo.FurtherDoor(of.Name, n)
		case want.Inherit:
			why = action.Why(fmt.Sprintf("job %s gets machines that no other job has", want.Address))
		}
		made[want.Address]++
		if want.Open {
			start = now
		}
		s.Actions = append(s.Actions, action.CreateReservation{OfReservation: of, Nodes: want.Nodes, Start: start, User: want.Job.User, Job: cmp.Or(want.Job.HetID, want.Job.ID), Purge: demand.DoorPurge, Why: why})
		users := want.Users
		if users == nil && !want.Further {
			users = []string{want.Address}
		}
		for _, user := range users {
			s.Actions = append(s.Actions, action.UseReservation{OfReservation: of, Job: cmp.Or(want.Job.HetID, want.Job.ID), Address: user, Leave: false, Why: why})
		}
		s.Expect = append(s.Expect, "job "+want.Address+" to have a door")
	}
	return s
}

// The times of covers.
const (
	// Age at which a cover is replaced: after a restart, slurmctld counts purge_comp from its own
	// start.
	coverAge   = time.Hour
	coverRaise = time.Minute // how much of pending_grace may pass before a pass raises purge_comp

	coverForgotten = time.Hour // how long after the last raise a cover is deleted
)

// keepCover maintains one reservation over the powered-down nodes of covered nodesets, so that jobs
// wait pending. The reservation never ends: if it ended soon, backfill would plan jobs at its end
// and leave them idle machines. Slurm deletes it pending_grace after the last pass that raised
// purge_comp. The replacement is made before the old reservation is deleted, so that the nodes are
// always covered.
func keepCover(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	covers := w.Scene.Covers()
	if !w.Scene.Seen.Promises {
		for _, h := range covers {
			if w.Scene.IsOld(scene.RaisedAt(w.Scene, h), coverForgotten) {
				s.Actions = append(s.Actions, action.DeleteReservation{OfReservation: action.OfReservation{Name: h.Name}, Why: "no daemon has kept this cover up for an hour"})
			}
		}
		return s
	}
	if slices.ContainsFunc(w.Scene.Seen.Unread, func(r slurm.UnreadRow) bool { return r.Kind == slurm.ReservationRow }) {
		return s
	}
	nodes := coverNodes(w)
	now, grace := w.Scene.Seen.Now, w.Scene.Config.Options.PendingGrace
	keep := len(covers) - 1
	switch {
	case len(nodes) == 0:
		keep = -1
	case keep < 0, w.Scene.IsOld(covers[keep].At, coverAge), !covers[keep].At.After(w.Scene.Seen.SlurmctldSince):
		s.Actions = append(s.Actions, action.CreateReservation{
			OfReservation: action.OfReservation{Name: memo.CoverReservation(w.Scene.Config.Cluster, now)}, Nodes: nodes, Start: now, Purge: grace,
			Why: "jobs wait pending for these nodes",
		})
		s.Expect = append(s.Expect, "the cover to show")
	default:
		live, change := covers[keep], slurm.ReservationChange{}
		if !demand.SameSet(nodes, live.Nodes) {
			change.Nodes = nodes
		}
		if ends := live.Start.Add(live.Purge()); ends.Sub(now) < grace-coverRaise {
			change.Purge = (now.Sub(live.Start) + grace + time.Minute).Truncate(time.Minute)
		}
		if change.Nodes != nil || change.Purge > 0 {
			s.Actions = append(s.Actions, action.SetReservation{OfReservation: action.OfReservation{Name: live.Name}, ReservationChange: change, Why: "jobs wait pending for these nodes"})
		}
	}
	for i, old := range covers {
		if i != keep && (keep < 0 || i < keep) {
			s.Actions = append(s.Actions, action.DeleteReservation{OfReservation: action.OfReservation{Name: old.Name}, Why: "another cover closes the nodes, or none is to"})
		}
	}
	return s
}

// coverNodes returns the nodes that jobs are kept from, sorted. Without keep_idle these are all
// nodes, except running nodes that an admin powered up. With keep_idle they are the nodes without a
// machine, with a machine that is reserved for one job, or that have been idle for long enough.
func coverNodes(w *demand.Wanted) (nodes []string) {
	s, sets := w.Scene, demand.Covered(w.Scene)
	for _, m := range s.Nodes() {
		if !sets[m.Set] || m.Set.IsStatic(m.Index) || demand.IsForeign(s, m) || w.Opens(m) {
			continue
		}
		if m.Power != scene.On || m.Door != nil || w.IsKept(m) || m.Set.Flex.KeepIdle == 0 && !isAnybodys(m) || len(m.Holders) == 0 && isOver(s, m) {
			nodes = append(nodes, m.Name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// isAnybodys reports whether the node's machine was created for no job, because an admin powered up
// the node.
func isAnybodys(m *scene.Node) bool {
	return len(m.Machines) > 0 && !slices.ContainsFunc(m.Machines, func(in scene.Machine) bool { return in.Origin().ForJobs() })
}

// isOver reports whether an idle node has been kept for long enough.
func isOver(s *scene.Scene, m *scene.Node) bool {
	until := keptUntil(s, m)
	return !until.IsZero() && s.IsOld(until, 0)
}
