package plan

import (
	"fmt"
	"time"

	"slurmflex/slurm"
)

// CreateReservation keeps jobs off nodes from the end of their lease on.
type CreateReservation struct {
	Name  string
	Nodes []string
	Start time.Time
	Why
}

// SetReservation gives a reservation of ours another list of nodes.
type SetReservation struct {
	Name  string
	Nodes []string
	Why
}

// DeleteReservation deletes a reservation of ours.
type DeleteReservation struct {
	Name string
	Why
}

func (a CreateReservation) String() string {
	return fmt.Sprintf("reserve %s from %s", slurm.Fold(a.Nodes), a.Start.UTC().Format(time.RFC3339))
}

func (a SetReservation) String() string {
	return fmt.Sprintf("change reservation %s to %s", a.Name, slurm.Fold(a.Nodes))
}

func (a DeleteReservation) String() string { return "delete reservation " + a.Name }

// Queue is each reservation's own: one that Slurm refuses stops nothing else.
func (a CreateReservation) Queue() string { return "reservation/" + a.Name }

func (a SetReservation) Queue() string { return "reservation/" + a.Name }

func (a DeleteReservation) Queue() string { return "reservation/" + a.Name }
