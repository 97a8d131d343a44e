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
	whole := slurm.WholeOf(d.Address)
	return slices.ContainsFunc([]uint32{j.ID, j.ArrayID, j.HetID}, func(id uint32) bool { return strconv.FormatUint(uint64(id), 10) == whole })
}

// keepDoors moves each job that waits pending to its next stage. It makes the job use its door,
// moves the door ahead while machines boot, opens it when all have registered, and deletes it when
// the job runs or must wait again.
func keepDoors(s *Step) {
	promises, named, now := s.Seen.Promises, byReservation(s.Scene), s.Seen.Now
	for _, d := range s.Doors {
		of := action.OfReservation{Name: d.Name}
		uses := func(job uint32, address string, leave bool, why action.Why) {
			s.do(action.UseReservation{OfReservation: of, Job: job, Address: address, Leave: leave, Why: why})
		}
		for _, j := range named[d.Name] {
			if !d.Doubted && !isForDoor(d, j) {
				uses(j.ID, cmp.Or(j.Address(), strconv.FormatUint(uint64(j.ArrayID), 10)), true, action.Why("it is for job "+d.Address))
			}
		}
		var job uint32
		if d.Job != nil {
			job = d.Job.ID
		}
		moves := func(change slurm.ReservationChange, why action.Why) { s.changeReservation(d.Name, change, why) }
		switch stage, why := demand.StageOf(s.Scene, d); {
		case len(d.Nodes) == 0 && !s.AnyCover() && len(coverNodes(s.Wanted)) > 0: // slurmctld has lost them, too
			s.Soon = true // otherwise Slurm allocates it nodes at once, perhaps those that another job waits for
		case len(d.Nodes) == 0:
			uses(job, d.Address, true, action.Why(why))
		case stage == demand.DoorUnsure || !promises && stage != demand.DoorEnded && (stage != demand.DoorReady || !d.Named):
			// Slurm opens the door without an action of ours, but perhaps after it has powered down the machines.
		case stage == demand.DoorEnded || stage == demand.DoorBroken || stage == demand.DoorLate:
			end := action.DeleteReservation{OfReservation: of, Job: job, Address: d.Address, Unused: !d.Named, Why: action.Why(why)}
			if stage == demand.DoorLate {
				end.Late = cmp.Or(d.Job.Reason, "None")
			}
			s.do(end)
		case stage == demand.DoorChanged:
			// The job leaves the door only when Slurm may plan it on the same nodes: the door ends
			// before the horizon, and no other reservation closes the nodes from then on.
			switch start := now.Add(demand.KeptFor); {
			case d.End.After(d.Start.Add(demand.DoorPurge)):
				moves(slurm.ReservationChange{Start: start, End: start.Add(demand.DoorPurge)}, action.Why(why))
			case d.Named && !isBusy(s.Scene, d):
				uses(job, d.Address, true, action.Why(why))
			}
			s.Soon = true // Slurm plans the job again
		case !d.Opened && (s.Config.Options.Waiting != config.Pending || s.OpensAtOnce(d.Job)):
			moves(slurm.ReservationChange{Start: now}, "jobs are to wait configuring")
		case s.Handed.Inherits(d.Job):
			// The job uses another door from now on.
		case stage == demand.DoorBooting && s.Handed.Leaves[d] && d.Named:
			uses(job, d.Address, true, "idle machines fit the job")
		case !d.Named && isBest(s.Scene, d) && !s.Handed.Leaves[d]:
			uses(job, d.Address, false, "the machines are for this job")
			s.Soon = true // the job uses its reservation
		case stage == demand.DoorReady && d.Named:
			moves(slurm.ReservationChange{Start: now}, "all machines of its job have registered")
			s.Soon = true // the job starts
		case stage == demand.DoorStarting:
			s.Soon = true // the job starts
		case (stage == demand.DoorBooting || stage == demand.DoorReady) && !d.Opened:
			s.Soon = s.Soon || s.StartsLater(d.Job, 0) // Slurm lets the job start
			if start := pushed(s.Scene, d); start.Before(d.Start) || start.Sub(d.Start) >= pushEvery {
				moves(slurm.ReservationChange{Start: start}, "its machines are still to come")
			}
		}
	}
}

// isBusy reports whether the cover over busy nodes has a node of the door.
func isBusy(s *scene.Scene, d *scene.Door) bool {
	return s.AnyNode(d.Nodes, func(m *scene.Node) bool { return m.Busy })
}

// isBest reports whether the job should use this one of its doors: one that has only registered
// machines, otherwise one that has all its machines; of equals the one that it uses once the machines
// have registered, otherwise the first.
func isBest(s *scene.Scene, d *scene.Door) bool {
	ours := progressOf(s, d)
	return !slices.ContainsFunc(d.Rivals, func(r *scene.Door) bool {
		theirs := progressOf(s, r)
		if theirs == ours && ours == 2 && r.Named != d.Named {
			return r.Named
		}
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

// NearDoor is an unopened door that its job uses or will use, and that has all its machines.
type NearDoor struct {
	*scene.Door
	Awaits []string // its nodes, and those of the other components of its job; each may register at any time
}

// NearDoors returns the doors that may open at any time.
func NearDoors(s *scene.Scene) (near []NearDoor) {
	for _, d := range s.Doors {
		if stage, _ := demand.StageOf(s, d); stage != demand.DoorBooting || !isBest(s, d) || d.Opened || s.StartsLater(d.Job, 0) {
			continue
		}
		var nodes []string
		for _, other := range s.Together(d) {
			nodes = append(nodes, other.Nodes...)
		}
		if len(s.WithoutMachine(nodes)) == 0 {
			near = append(near, NearDoor{d, nodes})
		}
	}
	return near
}

// NodesInUse returns the nodes with running jobs that other jobs may use as soon as these jobs end:
// static nodes, and those that keep_idle applies to. Under a suspended job, a node is idle already.
func NodesInUse(s *scene.Scene) (names []string) {
	sets := s.Covered()
	for _, m := range s.Nodes {
		if sets[m.Set] && m.Power == scene.On && m.Busy && m.Door == nil && len(m.Holders) > 0 && !m.State.IsIdle() && (m.Set.Flex.KeepIdle > 0 || m.Static) {
			names = append(names, m.Name)
		}
	}
	return names
}

// pushed returns the new start of a door that still lacks machines: doorAhead from now, but before
// Slurm powers down the first machine that has registered, because SuspendTime also counts behind a
// door, though not for static nodes. Machines that a job keeps after a loss wait for the replacement
// until salvage_timeout.
func pushed(s *scene.Scene, d *scene.Door) time.Time {
	start := s.Seen.Now.Add(demand.DoorAhead).Truncate(time.Second)
	if mayHaveSurvivors(s, d) {
		return start
	}
	for _, m := range s.NodesNamed(d.Nodes) {
		if m.Power != scene.On || m.Static || s.Seen.SuspendTime == 0 || m.LastBusyTime.IsZero() {
			continue
		}
		if last := m.LastBusyTime.Add(s.Seen.SuspendTime - time.Minute); last.Before(start) {
			start = last
		}
	}
	return start
}

// mayHaveSurvivors reports whether the door has survivors, or may have some that could not be read:
// nodes that booted before the job lost others.
func mayHaveSurvivors(s *scene.Scene, d *scene.Door) bool {
	return len(s.Survivors(d)) > 0 || s.AnyNode(d.Nodes, func(m *scene.Node) bool {
		return m.Set.Flex.Salvage && m.IsUnread && m.Power == scene.On && m.BootTime.Before(d.At)
	})
}

// pushEvery is how long a door keeps its start before it is moved again. A move takes slurmctld 5 to
// 8 ms.
const pushEvery = 150 * time.Second

// makeDoors makes a door for each job that needs machines. The next pass requests them.
func makeDoors(s *Step) {
	for _, want := range s.Handed.Wants {
		now := s.Seen.Now
		first := memo.DoorFor(memo.DoorReservation(s.Config.Cluster, want.Address, now), want.Job.Digest())
		of := action.OfReservation{Name: first}
		for n := 1; slices.ContainsFunc(s.Doors, func(d *scene.Door) bool { return d.Name == of.Name }); n++ {
			of.Name = memo.FurtherDoor(first, n) // an earlier pass of the same second made the first one
		}
		why, start := action.Why(fmt.Sprintf("Slurm has planned job %s on %s", want.Address, slurm.Fold(want.Nodes))), now.Add(demand.DoorAhead)
		if want.Inherit {
			why = action.Why(fmt.Sprintf("job %s keeps its other machines after a loss", want.Address))
		}
		if want.Open {
			start = now
		}
		s.do(action.CreateReservation{OfReservation: of, Nodes: want.Nodes, Start: start, User: want.Job.User, Job: want.Job.ID, Purge: demand.DoorPurge, Why: why})
		if !want.Further {
			s.do(action.UseReservation{OfReservation: of, Job: want.Job.ID, Address: want.Address, Leave: false, Why: why})
		}
		s.Soon = true // the job has a reservation
	}
}

// The times of covers.
const (
	// Age at which a cover is replaced: after a restart, slurmctld counts purge_comp from its own
	// start.
	coverAge   = time.Hour
	coverRaise = time.Minute // how much of CoverGrace may pass before a pass raises purge_comp

	coverForgotten = time.Hour // how long after the last raise a cover is deleted

	horizonStep = 2 * time.Minute // how far the horizon moves before a pass moves the covers' times
)

// covers is what one pass wants of the covers.
var covers = []memo.Cover{memo.BusyCover, memo.ColdCover, memo.WarmCover}

// keepCovers maintains the reservations that let jobs wait pending, each over some nodes of covered
// nodesets. Slurm deletes them CoverGrace after the last pass that raised purge_comp. A
// replacement is made before the old reservation is deleted, so that the nodes are always closed.
//
//   - cold: nodes without a machine are closed until the horizon, for which backfill plans the jobs
//     that need machines. Each pass moves the horizon on.
//   - busy: nodes with a machine that is in use, and nodes behind a door, are closed without end, so
//     that backfill plans no job there.
//   - warm: idle machines are open to every job until the horizon and closed from then on, so that
//     no plan for the horizon has them.
func keepCovers(s *Step) {
	if !s.Seen.Promises {
		for _, h := range slices.Concat(s.Covers(memo.ColdCover), s.Covers(memo.BusyCover)) {
			if s.IsOld(h.Raised, coverForgotten) {
				s.deleteReservation(h.Name, "no daemon has kept this reservation up for an hour")
			}
		}
		return
	}
	if slices.ContainsFunc(s.Seen.Unread, func(r slurm.UnreadRow) bool { return r.Kind == slurm.ReservationRow }) {
		return
	}
	wanted := coverNodes(s.Wanted)
	for _, over := range covers {
		s.keepCover(over, wanted[over])
	}
}

// keepCover maintains one of the covers.
func (s *Step) keepCover(over memo.Cover, nodes []string) {
	now, horizon := s.Seen.Now, s.Horizon
	all := s.Covers(over)
	keep := len(all) - 1
	const why = "jobs wait pending for nodes"
	switch {
	case len(nodes) == 0:
		keep = -1
	case keep < 0, over == memo.WarmCover && !all[keep].Start.After(now), over == memo.ColdCover && !all[keep].End.After(now),
		over != memo.WarmCover && (s.IsOld(all[keep].At, coverAge) || !all[keep].At.After(s.Seen.SlurmctldSince)):
		a := action.CreateReservation{
			OfReservation: action.OfReservation{Name: memo.CoverReservation(s.Config.Cluster, over, now)}, Nodes: nodes, Purge: memo.CoverGrace, Why: why,
		}
		switch over {
		case memo.ColdCover:
			a.Lasts = horizon.Sub(now).Truncate(time.Minute)
		case memo.WarmCover:
			a.Start = horizon
		}
		s.do(a)
		s.Soon = true // the reservation shows
	default:
		live, change := all[keep], slurm.ReservationChange{}
		if !slices.Equal(slices.Sorted(slices.Values(nodes)), slices.Sorted(slices.Values(live.Nodes))) {
			change.Nodes = nodes
		}
		if ends := live.Start.Add(live.Purge()); over != memo.WarmCover && ends.Sub(now) < memo.CoverGrace-coverRaise {
			change.Purge = (now.Sub(live.Start) + memo.CoverGrace + time.Minute).Truncate(time.Minute)
		}
		switch {
		case over == memo.ColdCover && horizon.Sub(live.End).Abs() >= horizonStep:
			change.End = horizon
		case over == memo.WarmCover && horizon.Sub(live.Start).Abs() >= horizonStep:
			change.Start = horizon
		}
		if change.Nodes != nil || change.Purge > 0 || !change.End.IsZero() || !change.Start.IsZero() {
			s.changeReservation(live.Name, change, why)
		}
	}
	for i, old := range all {
		if i != keep && (keep < 0 || i < keep) {
			s.deleteReservation(old.Name, "another reservation closes the nodes, or none needs to")
		}
	}
}

// coverNodes returns the nodes of covered nodesets that each cover is to have, sorted. A node leaves
// a cover only after another one that closes it has it, so that no job starts there in between.
func coverNodes(w *demand.Wanted) map[memo.Cover][]string {
	s, sets, nodes := w.Scene, w.Covered(), map[memo.Cover][]string{}
	for _, m := range s.Nodes {
		if !sets[m.Set] || m.Foreign {
			continue
		}
		over := coverOf(w, m)
		if over != "" {
			nodes[over] = append(nodes[over], m.Name)
		}
		switch {
		case over == memo.BusyCover && m.Cold && !m.Busy:
			nodes[memo.ColdCover] = append(nodes[memo.ColdCover], m.Name)
		case over == memo.ColdCover && m.Busy && !m.Cold:
			nodes[memo.BusyCover] = append(nodes[memo.BusyCover], m.Name)
		}
	}
	for over := range nodes {
		slices.Sort(nodes[over])
	}
	return nodes
}

// coverOf returns the cover that is to have the node; empty: none. With keep_idle, and for machines
// offered to other jobs or powered up by an admin, idle machines are warm. Static nodes that are idle
// are open: Slurm may plan them together with cold nodes, for a job that needs both.
func coverOf(w *demand.Wanted, m *scene.Node) memo.Cover {
	s := w.Scene
	isIdle := m.Power == scene.On && m.Door == nil && len(m.Holders) == 0
	switch {
	case m.Static && (m.Taken() || m.Door != nil):
		return memo.BusyCover
	case m.Static:
		return ""
	case m.IsOpenToPlans():
		return memo.ColdCover
	case isIdle && w.Handed.Offered[m], isIdle && !w.IsKept(m) && w.Handed.Yields[m] == nil && (m.Set.Flex.KeepIdle > 0 || len(m.Machines) > 0 && !wasForAJob(m)) && !isOver(s, m):
		return memo.WarmCover
	}
	return memo.BusyCover
}

// isOver reports whether an idle node has been kept for long enough.
func isOver(s *scene.Scene, m *scene.Node) bool {
	end, _ := endingOf(m)
	until := m.KeptUntil(end)
	return !until.IsZero() && s.IsOld(until, 0)
}
