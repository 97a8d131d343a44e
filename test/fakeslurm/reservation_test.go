package fakeslurm

import (
	"time"

	"slurmflex/slurm"
)

// reserveFrom creates a maintenance reservation of nodes, starting after in.
func (w *world) reserveFrom(name string, in time.Duration, nodes ...string) error {
	return w.CreateReservation(w.t.Context(), slurm.ReservationSpec{Name: name, Nodes: nodes, Start: w.now.Add(in), Lasts: time.Hour, Maint: true})
}
