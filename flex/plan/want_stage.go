package plan

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// doorStage is the progress of a job that waits pending.
type doorStage uint8

const (
	unsure doorStage = iota // something could not be read: slurmflex does nothing
	// The job runs, has left the queue, or must not start: slurmflex deletes the door.
	ended
	// A node of the door is no longer available to the job: slurmflex deletes the door.
	broken
	// The array task still shares one record with others; slurmflex must address it separately
	// first.
	single
	booting  // machines are requested or booting
	ready    // all machines have registered
	starting // the door has started, and the job should start within lateAfter
	late     // the job has not started, so it lacks something other than machines
)

// stageOf returns the stage of a door's job, and why.
func stageOf(s *scene.Scene, d *scene.Door) (doorStage, string) {
	switch {
	case d.Doubted:
		return unsure, ""
	case d.Job == nil:
		return ended, "its job has left the queue"
	case d.Cold && d.Job.State.Waits() && (d.Job.Priority > 0 || d.Job.Reason == "BadConstraints"):
		if s.IsOld(d.Start, lateAfter) || d.Job.Priority == 0 {
			return late, fmt.Sprintf("its job has not started on any of these nodes: %s", d.Job.Reason)
		}
		return starting, ""
	case d.Cold && d.Job.State.Waits():
		return ended, "its job is held"
	case d.Job.IsTasks():
		return single, ""
	case d.Lost(s.Seen.Now):
		return ended, "its job starts in another place"
	case d.Stray && d.Job.State.Waits():
		return ended, "its job may not use these nodes any more"
	case d.Taker == nil && !d.Job.State.HoldsNodes():
		return ended, "its job has ended"
	case d.Taker == nil:
		return ended, "its job has nodes"
	case d.Job.Priority == 0 && d.Job.Reason != "BadConstraints":
		return ended, "its job is held"
	case d.Job.Reservation != "" && !d.Named() && !slices.ContainsFunc(d.Rivals, (*scene.Door).Named):
		return ended, "its job uses another reservation"
	case startsLater(s, d.Job, beginAhead):
		return ended, "its job must start later"
	case d.Job.NodeCount != len(d.Nodes):
		return ended, fmt.Sprintf("its job asks for %d nodes now", d.Job.NodeCount)
	}
	up := 0
	for _, name := range d.Nodes {
		m := s.Node(name)
		switch {
		case m == nil || m.Doubted || m.Power == scene.Unclear:
			return unsure, ""
		case m.Door != d || len(m.Holders) > 1 || m.State.Base == slurm.Down || m.State.Has(slurm.Drain) || m.State.Has(slurm.Fail) || m.State.Has(slurm.PoweringDown):
			return broken, "node " + name + " can be used no more"
		case m.Power == scene.On && !m.State.Has(slurm.NotResponding):
			up++
		}
	}
	switch opened := d.Opened(s.Seen.Now); {
	case up < len(d.Nodes) && keptTooLong(s, d) != "":
		return broken, keptTooLong(s, d)
	case up < len(d.Nodes), startsLater(s, d.Job, 0):
		return booting, ""
	case opened && d.Named() && s.IsOld(d.Start, lateAfter):
		return late, fmt.Sprintf("its job has not started for %s with all its machines: %s", slurm.Clock(lateAfter), d.Job.Reason)
	case opened && d.Named():
		return starting, ""
	default:
		return ready, ""
	}
}
