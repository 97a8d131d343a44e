package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// salvageGrace is how long the reservation outlasts salvage_timeout: slurmflex returns the
// machines first, so that Slurm gives them to nobody in between.
const salvageGrace = 5 * time.Minute

// salvageGangs holds the machines of jobs that have lost others, has these jobs start again
// on them, and ends what is held for nothing.
func salvageGangs(w *wanted, _ []verdict) (s step) {
	for _, id := range slices.Sorted(maps.Keys(w.salvages)) {
		w.salvages[id].goOn(w, &s)
	}
	for _, id := range slices.Sorted(maps.Keys(w.scene.Salvages())) {
		if w.salvages[id] == nil {
			w.endSalvage(id, &s)
		}
	}
	return s
}

// goOn plans the next step of a salvage. A process may have died after any.
func (v *salvage) goOn(w *wanted, s *step) {
	j := v.job
	a := SalvageJob{
		OfJob: OfJob{j.ID}, Name: j.Name(), User: j.User, Reservation: w.reservationOf(v), Reserves: !v.begun,
		Lasts: v.set.Flex.SalvageTimeout + salvageGrace, Nodes: v.nodes(), Lost: v.lost, Limit: limitOn(w.scene, j, v.survivors),
		Why: Why(fmt.Sprintf("salvage: %s are left", slurm.Fold(v.survivors))),
	}
	if j.State == slurm.JobConfiguring {
		return // its cohort says what it waits for
	}
	s.expect = append(s.expect, fmt.Sprintf("job %s to start again on %s", j.Name(), slurm.Fold(v.survivors)))
	if j.State == slurm.JobCompleting {
		return
	}
	held := w.scene.Salvages()[j.ID]
	if v.begun && !slices.Equal(slices.Sorted(slices.Values(a.Nodes)), slices.Sorted(slices.Values(held.Nodes))) {
		s.actions = append(s.actions, SetReservation{OfReservation{a.Reservation}, slurm.ReservationChange{Nodes: slices.Sorted(slices.Values(a.Nodes))}, a.Why})
	}
	text := memo.Held + slurm.Fold(v.survivors)
	if lost := lossText(w.scene, j, w.scene.Losses()); lost != "" && len(v.lost) > 0 {
		text = memo.Done{Deed: memo.Loss, Reason: lost}.String()
	}
	s.actions = append(append(s.actions, before(w.scene, j.ID, text, "")...), a)
}

// endSalvage ends a salvage whose job runs, is gone, is held, or has waited for too long:
// the machines that wait for it go, unless keep_idle keeps them, then the reservation.
func (w *wanted) endSalvage(id uint32, s *step) {
	m := w.scene.Salvages()[id]
	if m.Job == nil && w.scene.IsQueued(id) || isUnsure(w.scene, m) || w.salvageIsLate(m.Job) {
		return
	}
	end := DeleteReservation{OfReservation: OfReservation{m.Name}, Why: "its job has left the queue"}
	if m.Job != nil {
		end.Job, end.Why = id, "its job needs it no longer"
		if m.Job.State.Waits() {
			var idle []string
			for _, n := range membersNamed(w.scene, m.Nodes) {
				if until := keptUntil(w.scene, n); survives(w.scene, n, m.Job) && (until.IsZero() || w.scene.IsOld(until, 0)) {
					idle = append(idle, n.Name)
				}
			}
			slices.Sort(idle)
			if len(idle) > 0 {
				const why = "the job that it was held for cannot start again on it"
				s.actions = append(s.actions, SetNodes{Nodes: idle, State: "power_down", Reason: memo.ReasonPrefix + why, Why: why})
				return
			}
		}
	}
	s.actions = append(s.actions, end)
}
