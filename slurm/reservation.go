package slurm

import (
	"errors"
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

// Purge returns the time without a job after which Slurm deletes the reservation; 0 means never.
// Slurm counts from the reservation's start, or from slurmctld's start if that was later.
func (r Reservation) Purge() time.Duration {
	for _, flag := range r.Flags {
		if text, purges := strings.CutPrefix(flag, "PURGE_COMP="); purges {
			if limit := ParseLimit(text); limit.Kind == LimitSet {
				return limit.Duration
			}
		}
	}
	return 0
}

// ReservationSpec describes a reservation that keeps jobs off nodes. Slurm starts no job on a node
// that could still run when the node's reservation starts.
type ReservationSpec struct {
	Name  string
	Nodes []string
	Start time.Time     // to the second; zero, except with Maint or a User, means now
	Lasts time.Duration // in whole minutes; 0 means without end, which requires Purge
	Maint bool          // set for the end of a lease; adds Slurm's flag maint
	User  string        // the only user of the nodes, which must be free; empty: no user
	Purge time.Duration // in whole minutes without a job until Slurm deletes it; 0 means never
}

// ErrReservationStarted means that the start of a reservation can no longer be moved.
var ErrReservationStarted = errors.New("reservation has started")

// ErrUserUnknown means that slurmctld rejects a reservation for a user, because it does not know
// the user. Since 26.05 it also rejects the user nobody.
var ErrUserUnknown = errors.New("slurmctld makes no reservation for the user")

// ReservationChange describes an update of a reservation. Zero fields are left unchanged.
type ReservationChange struct {
	Nodes []string
	Start time.Time // not before now, and only for a reservation that has not started
	End   time.Time
	Purge time.Duration // as in ReservationSpec
}

// ParseReservations parses the output of scontrol show reservation -o under TZ=UTC. Unreadable rows
// are returned as the error Unread, together with the reservations. Output without a reservation
// record is another error.
func ParseReservations(out []byte) ([]Reservation, error) {
	return readShown("scontrol show reservation", out, "No reservations in the system", "ReservationName", parseReservation)
}

// parseReservation parses one line. A name may contain spaces, so the name ends at " StartTime=".
func parseReservation(line string) (reservation Reservation, known UnreadRow, err error) {
	known = UnreadRow{Kind: ReservationRow}
	text, found := strings.CutPrefix(line, "ReservationName=")
	if !found {
		return Reservation{}, known, errors.New("not a reservation record")
	}
	name, _, found := cutKey(text, "StartTime")
	if !found {
		known.Name, _, _ = strings.Cut(text, " ")
		return Reservation{}, known, errors.New("StartTime= is missing")
	}
	known.Name = name
	fields := text[len(name):]
	reservation = Reservation{
		Name:  name,
		Flags: splitList(wordAfter(fields, "Flags")),
		Users: splitList(wordAfter(fields, "Users")),
	}
	if reservation.Start, err = timeOf(fields, "StartTime"); err != nil {
		return Reservation{}, known, err
	}
	if reservation.End, err = timeOf(fields, "EndTime"); err != nil {
		return Reservation{}, known, err
	}
	if countKey(fields, "Nodes") == 0 {
		return Reservation{}, known, errors.New("without Nodes=")
	}
	if reservation.Nodes, err = Expand(wordAfter(fields, "Nodes")); err != nil {
		return Reservation{}, known, err
	}
	return reservation, known, nil
}
