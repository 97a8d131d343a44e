package demand

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// DoorStage is the progress of a job that waits pending.
type DoorStage uint8

// The stages of a door.
const (
	DoorUnsure DoorStage = iota // something could not be read: slurmflex does nothing
	// The job runs, has left the queue, or must not start: slurmflex deletes the door.
	DoorEnded
	// A node of the door is no longer available to the job: slurmflex deletes the door.
	DoorBroken
	// The array task still shares one record with others; slurmflex must address it separately
	// first.
	DoorSingle
	DoorBooting  // machines are requested or booting
	DoorReady    // all machines have registered
	DoorStarting // the job should start within lateAfter of the start of the door
	DoorLate     // the job has not started, so it lacks something other than machines
	// The job was changed and may not fit the nodes any more: it leaves the door until Slurm has
	// planned it again. The live request for the nodes is kept meanwhile.
	DoorChanged
)

// StageOf returns the stage of a door's job, and why.
func StageOf(s *scene.Scene, d *scene.Door) (DoorStage, string) {
	switch {
	case d.Doubted:
		return DoorUnsure, ""
	case d.Job == nil:
		return DoorEnded, "its job has left the queue"
	case len(d.Nodes) == 0:
		return DoorEnded, "slurmctld has lost it"
	case lateOf(s, d.Job).Unusable && isLate(s, d.Job) && d.Job.State.Waits() && d.Job.Reservation == "" && !d.Named:
		return DoorEnded, "slurmctld does not let its job use it"
	case d.Job.IsTasks():
		return DoorSingle, ""
	case d.Lost:
		return DoorEnded, "its job uses other nodes of the partition"
	case d.Stray && d.Job.State.Waits():
		return DoorEnded, "its job may not use these nodes any more"
	case d.Taker == nil && !d.Changed && !d.Job.State.HoldsNodes():
		return DoorEnded, "its job has ended"
	case d.Taker == nil && !d.Changed:
		return DoorEnded, "its job has nodes"
	case d.Job.Priority == 0 && d.Job.Reason != "BadConstraints":
		return DoorEnded, "its job is held"
	case d.Job.Reservation != "" && !d.Named && !slices.ContainsFunc(d.Rivals, func(r *scene.Door) bool { return r.Named }):
		return DoorEnded, "its job uses another reservation"
	case !d.Opened && d.Job.WaitsForJobs():
		return DoorEnded, "its job waits for other jobs"
	case s.StartsLater(d.Job, beginAhead):
		return DoorEnded, "its job must start later"
	case d.Job.HetID != 0 && lacksDoor(s, d.Job.HetID, s.Covered()):
		return DoorEnded, "another component of its job has lost its nodes"
	case misfit(d.Job, d.Nodes) != "":
		return DoorEnded, misfit(d.Job, d.Nodes)
	case d.Changed && keepsRequest(s, d):
		return DoorChanged, changedJob
	case d.Changed:
		return DoorEnded, changedJob
	case isCut(s, d):
		return DoorBroken, "slurmctld has taken nodes from it that slurm.conf lacks"
	}
	up, queued := 0, isQueued(s, d)
	for _, name := range d.Nodes {
		m := s.Node(name)
		switch {
		case m == nil || m.Doubted || m.Power == scene.Unclear:
			return DoorUnsure, ""
		case m.Door != d || len(m.Holders) > 1 || (m.State.Has(slurm.PoweringDown) && !hasNothing(m) || m.IsWithdrawn() && !queued) && !m.IsChecked:
			return DoorBroken, "node " + name + " can be used no more"
		case !d.Opened && !queued && IsForOthers(s, m, d.Job):
			return DoorBroken, "node " + name + " is reserved for others before its job would end"
		case m.State.IsUp():
			up++
		}
	}
	switch {
	case !d.Opened && isClosed(s, d.Job, s.Node(d.Nodes[0]).Set):
		return DoorEnded, "its partition starts no jobs now"
	case up < len(d.Nodes) && keptTooLong(s, d) != "":
		return DoorBroken, keptTooLong(s, d)
	case s.StartsLater(d.Job, 0), !areUp(s, s.Together(d)):
		return DoorBooting, ""
	case d.Opened && d.Named && s.IsOld(lastStart(s, d), lateAfter):
		return DoorLate, fmt.Sprintf("its job has not started for %s with all its machines: %s", slurm.Clock(lateAfter), d.Job.Reason)
	case d.Opened && d.Named:
		return DoorStarting, ""
	default:
		return DoorReady, ""
	}
}

// isCut reports whether slurmctld has taken nodes from the door that slurm.conf lacks (tried on 22.05 and
// 26.05): the job's request still names them. The number of nodes that squeue shows does not tell; see misfit.
func isCut(s *scene.Scene, d *scene.Door) bool {
	return slices.ContainsFunc(s.Named(d.Nodes[0]).Requests, func(r scene.Live) bool {
		names := r.Request.Instances
		return !r.Group.Stamp.Shared() && len(d.Nodes) < len(names) && len(s.NodesNamed(names)) < len(names)
	})
}

// isQueued reports whether requests for all nodes of the door wait for capacity. Its job then keeps its
// place in Google's queue although a node is withdrawn or reserved for others: this may be over before
// the machines exist.
func isQueued(s *scene.Scene, d *scene.Door) bool {
	return !s.AnyPresent(d.Nodes) && !slices.ContainsFunc(d.Nodes, func(name string) bool { return len(s.Named(name).Requests) == 0 })
}

// Withdrawn returns the nodes of the door that an admin has withdrawn, or reserved for others, while its job
// waits for them at Google.
func Withdrawn(s *scene.Scene, d *scene.Door) (names []string) {
	for _, m := range s.NodesNamed(d.Nodes) {
		if (m.IsWithdrawn() || d.Job != nil && IsForOthers(s, m, d.Job)) && isQueued(s, d) {
			names = append(names, m.Name)
		}
	}
	return names
}

// changedJob is why a job leaves its door, and the door and its request end later.
const changedJob = "its job was changed, and Slurm has not planned it on these nodes since"

// keepsRequest reports whether the door of a changed job is kept: a request for its nodes is live and
// has created no machine, or Slurm may still show the plan from before the change.
func keepsRequest(s *scene.Scene, d *scene.Door) bool {
	isReplaced := slices.ContainsFunc(d.Rivals, func(r *scene.Door) bool { return !r.Changed })
	return !isReplaced && !s.AnyPresent(d.Nodes) && (isQueued(s, d) || !s.IsOld(d.At, planAge))
}

// isKept reports whether the door is kept for its changed job.
func isKept(s *scene.Scene, d *scene.Door) bool {
	stage, _ := StageOf(s, d)
	return stage == DoorChanged
}

// changedDoor returns a door that is kept for the changed job with that address; nil if there is none.
func (h *handout) changedDoor(address string) *scene.Door {
	for _, d := range h.Doors {
		if d.Changed && d.Address == address && isKept(h.Scene, d) {
			return d
		}
	}
	return nil
}

// lastStart returns the latest start among the doors that the job needs together.
func lastStart(s *scene.Scene, d *scene.Door) (last time.Time) {
	for _, other := range s.Together(d) {
		last = scene.Later(last, other.Start)
	}
	return last
}

// areUp reports whether the machines behind all the doors have registered, and none of them is lost.
func areUp(s *scene.Scene, doors []*scene.Door) bool {
	return !slices.ContainsFunc(doors, func(d *scene.Door) bool {
		return s.AnyNode(d.Nodes, func(m *scene.Node) bool { return !m.State.IsUp() || m.IsLost })
	})
}

// hasNothing reports whether the node lacks both a request and a machine that works. Its machine is requested
// once it is powered down.
func hasNothing(m *scene.Node) bool {
	return len(m.Requests) == 0 && !slices.ContainsFunc(m.Machines, func(in scene.Machine) bool { return !in.Lost() })
}
