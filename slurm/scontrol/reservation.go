package scontrol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"slurmflex/slurm"
)

// reservationName is what a reservation may be called. Slurm takes more, but
// makes up a name when there is none.
var reservationName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CreateReservation makes a reservation that ends by itself. It returns ErrReservationExists when
// the name is taken, and ErrUnknownNode when Slurm does not know one of the nodes; then it makes
// nothing. Slurm refuses a start more than 600 s ago.
//
// Reservations with Maint may overlap others of their kind, even on the same nodes. Their start
// cannot be moved: Slurm refuses that once the reservation has started. Instead, make another
// reservation under another name first, then delete the old one, so that the nodes are always
// covered.
//
// Without Maint, Slurm does not show the nodes out of service, and overlap lets the reservation
// cover nodes of other reservations (tried on 22.05, 24.11 and 26.05).
//
// With a User, Slurm refuses all of it, with "Requested nodes are busy", if a job has one of the
// nodes that does not end before the start.
func (c *Client) CreateReservation(ctx context.Context, spec slurm.ReservationSpec) error {
	hostlist, err := reserved(spec.Name, spec.Nodes)
	switch {
	case err != nil:
	case (spec.Maint || spec.User != "") && spec.Start.Unix() <= 0:
		err = errors.New("no start")
	case spec.Lasts < time.Minute && spec.Purge < time.Minute:
		err = errors.New("no end")
	case spec.User != "" && !userName.MatchString(spec.User):
		err = fmt.Errorf("%s: user %q", spec.Name, plain(spec.User, maxCall))
	}
	if err != nil {
		return fmt.Errorf("create reservation: %w", err)
	}
	// To Slurm the user is who may use the nodes all the same; there has to be one.
	start, lasts, flags := "now", "infinite", "ignore_jobs,overlap"
	if spec.Maint || spec.User != "" {
		start = uts(spec.Start)
	}
	if spec.Lasts > 0 {
		lasts = strconv.Itoa(int(spec.Lasts / time.Minute))
	}
	switch {
	case spec.Maint:
		flags = "maint,ignore_jobs"
	case spec.User != "":
		flags = "overlap"
	}
	if spec.Purge > 0 {
		flags += ",no_hold_jobs_after," + purge(spec.Purge)
	}
	_, err = c.run(ctx, "scontrol", "create", "reservation", "reservationname="+spec.Name, "nodes="+hostlist,
		"starttime="+start, "duration="+lasts, "users="+cmp.Or(spec.User, "root"), "flags="+flags)
	return err
}

// purge is the flag of a reservation that Slurm deletes after so long without a job.
func purge(after time.Duration) string { return fmt.Sprintf("purge_comp=%d", after/time.Minute) }

// userName is what a user may be called; 26.05 refuses one that it does not know.
var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// uts formats a time so that scontrol reads it alike in every time zone.
func uts(t time.Time) string { return "uts" + strconv.FormatInt(t.Unix(), 10) }

// SetReservation changes a reservation, even after it has started, except for its start. For an
// unknown node, 22.05 refuses with ErrUnknownNode; 24.11 leaves the node out, and refuses with
// ErrUnknownReservation when none is left.
func (c *Client) SetReservation(ctx context.Context, name string, change slurm.ReservationChange) error {
	args := []string{"update", "reservationname=" + name}
	err := checkReservationName(name)
	if err == nil && (change.Nodes != nil || change.Start.IsZero() && change.End.IsZero() && change.Purge == 0) { // no nodes would be any nodes to Slurm
		var hostlist string
		hostlist, err = reserved(name, change.Nodes)
		args = append(args, "nodes="+hostlist)
	}
	if err != nil {
		return fmt.Errorf("update reservation: %w", err)
	}
	if !change.Start.IsZero() {
		args = append(args, "starttime="+uts(change.Start))
	}
	if !change.End.IsZero() {
		args = append(args, "endtime="+uts(change.End))
	}
	if change.Purge > 0 {
		args = append(args, "flags+="+purge(change.Purge))
	}
	_, err = c.run(ctx, "scontrol", args...)
	return err
}

// DeleteReservation deletes a reservation. The error is ErrUnknownReservation
// when there is none of this name.
func (c *Client) DeleteReservation(ctx context.Context, name string) error {
	if err := checkReservationName(name); err != nil {
		return fmt.Errorf("delete reservation: %w", err)
	}
	_, err := c.run(ctx, "scontrol", "delete", "reservationname="+name)
	return err
}

// reserved checks a reservation, and gives its nodes as a hostlist.
func reserved(name string, nodes []string) (string, error) {
	if err := checkReservationName(name); err != nil {
		return "", err
	}
	if len(nodes) == 0 {
		return "", fmt.Errorf("%s: no nodes", name)
	}
	if err := checkNodeNames(nodes); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return slurm.Fold(nodes), nil
}

func checkReservationName(name string) error {
	if !reservationName.MatchString(name) {
		return fmt.Errorf("name %q is not 1 to 100 letters, digits, dots, dashes and underscores", plain(name, maxCall))
	}
	return nil
}
