package slurm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Reservation is one record of scontrol show reservation.
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      []string
	Flags      []string // MAINT, IGNORE_JOBS, SPEC_NODES, …
	Users      []string
}

// ReservationSpec is a reservation to be made for the end of life of nodes:
// from Start on, without an end, they take no jobs, and jobs that could still
// run then are not started on them.
type ReservationSpec struct {
	Name  string
	Nodes []string
	Start time.Time // to the second
}

// ParseReservations reads what scontrol show reservation -o printed under
// TZ=UTC. A line that is no reservation record is an error.
func ParseReservations(out []byte) ([]Reservation, error) {
	var reservations []Reservation
	err := eachRecord("scontrol show reservation", out, "No reservations in the system", func(line string) error {
		reservation, err := parseReservation(line)
		reservations = append(reservations, reservation)
		return err
	})
	if err != nil {
		return nil, err
	}
	return reservations, nil
}

// parseReservation reads one line. A name may hold spaces, so it ends where
// the start begins.
func parseReservation(line string) (Reservation, error) {
	text, found := strings.CutPrefix(line, "ReservationName=")
	if !found {
		return Reservation{}, errors.New("not a reservation record")
	}
	name, _, found := cutKey(text, "StartTime")
	if !found {
		return Reservation{}, fmt.Errorf("reservation %s has no StartTime=", quote(name))
	}
	fields := text[len(name):]
	reservation := Reservation{
		Name:  name,
		Flags: splitList(wordAfter(fields, "Flags")),
		Users: splitList(wordAfter(fields, "Users")),
	}
	var err error
	if reservation.Start, err = timeOf(fields, "StartTime"); err != nil {
		return Reservation{}, fmt.Errorf("reservation %s: %w", name, err)
	}
	if reservation.End, err = timeOf(fields, "EndTime"); err != nil {
		return Reservation{}, fmt.Errorf("reservation %s: %w", name, err)
	}
	if countKey(fields, "Nodes") == 0 {
		return Reservation{}, fmt.Errorf("reservation %s has no Nodes=", name)
	}
	if reservation.Nodes, err = Expand(wordAfter(fields, "Nodes")); err != nil {
		return Reservation{}, fmt.Errorf("reservation %s: %w", name, err)
	}
	return reservation, nil
}
