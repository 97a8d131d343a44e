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

// Purge returns after how long without a job Slurm deletes the reservation; 0: never. Slurm counts
// from the reservation's start, or from its own start if that was later.
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
	Start time.Time     // of a reservation with Maint or a User, to the second; others start now
	Lasts time.Duration // in whole minutes; 0: without end, which needs Purge
	Maint bool          // for the end of a lease: with Slurm's flag maint
	User  string        // whose jobs may use it, on nodes that no job has; empty: nobody's, also on nodes that jobs have
	Purge time.Duration // in whole minutes, after which Slurm deletes it when no job uses it; 0: never
}

// ErrReservationStarted says that the start of a reservation cannot be moved any more.
var ErrReservationStarted = errors.New("reservation has started")

// ErrUserUnknown says that slurmctld makes no reservation for a user: it does not know the user, or
// from 26.05 on the user is nobody.
var ErrUserUnknown = errors.New("slurmctld makes no reservation for the user")

// ReservationChange describes what changes of a reservation; zero fields stay.
type ReservationChange struct {
	Nodes []string
	Start time.Time // not before now, and only of one that has not started
	End   time.Time
	Purge time.Duration // as in ReservationSpec
}

// ParseReservations reads what scontrol show reservation -o printed under
// TZ=UTC. Rows that cannot be read are Unread, an error that comes with the
// reservations. Output without a reservation record is another error.
func ParseReservations(out []byte) ([]Reservation, error) {
	return readShown("scontrol show reservation", out, "No reservations in the system", "ReservationName", parseReservation)
}

// parseReservation reads one line. A name may hold spaces, so it ends where
// the start begins.
func parseReservation(line string) (reservation Reservation, known UnreadRow, err error) {
	known = UnreadRow{Kind: ReservationRow}
	text, found := strings.CutPrefix(line, "ReservationName=")
	if !found {
		return Reservation{}, known, errors.New("not a reservation record")
	}
	name, _, found := cutKey(text, "StartTime")
	if !found {
		known.Name, _, _ = strings.Cut(text, " ")
		return Reservation{}, known, errors.New("it has no StartTime=")
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
		return Reservation{}, known, errors.New("it has no Nodes=")
	}
	if reservation.Nodes, err = Expand(wordAfter(fields, "Nodes")); err != nil {
		return Reservation{}, known, err
	}
	return reservation, known, nil
}
