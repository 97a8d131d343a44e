package scontrol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"slurmflex/slurm"
)

// reservationName matches a valid reservation name. Slurm accepts more names, but invents a name if
// none is given.
var reservationName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CreateReservation creates a reservation with an end. It returns ErrReservationExists if the name
// is taken, and ErrUnknownNode if Slurm does not know one of the nodes; it then creates nothing.
// Slurm rejects a start more than 600 s ago.
//
// Reservations with Maint may overlap each other, even on the same nodes. Their start cannot be
// moved, because Slurm rejects that once the reservation has started. Instead, create a reservation
// under another name first and then delete the old one, so that the nodes are always covered.
//
// Without Maint, Slurm does not show the nodes as out of service. The flag overlap lets the
// reservation cover nodes of other reservations (tested on 22.05, 24.11 and 26.05).
//
// With a User, Slurm rejects the whole reservation ("Requested nodes are busy") if one of the nodes
// has a job that does not end before the start.
func (c *Client) CreateReservation(ctx context.Context, spec slurm.ReservationSpec) error {
	hostlist, err := reserved(spec.Name, spec.Nodes)
	switch {
	case err != nil:
	case (spec.Maint || spec.User != "") && spec.Start.Unix() <= 0:
		err = errors.New("no start")
	case spec.Lasts < time.Minute && spec.Purge < time.Minute:
		err = errors.New("no end")
	case spec.User != "" && !userName.MatchString(spec.User):
		err = fmt.Errorf("%s: the name of the user has a comma or another character that Slurm does not allow here: %w", spec.Name, slurm.ErrUserUnknown)
	}
	if err != nil {
		return fmt.Errorf("create reservation: %w", err)
	}
	// Slurm requires a user, and lets that user use the nodes.
	start, lasts, flags := "now", "infinite", "ignore_jobs,overlap"
	if !spec.Start.IsZero() {
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

// purge returns the flag that makes Slurm delete a reservation after this time without a job.
func purge(after time.Duration) string { return fmt.Sprintf("purge_comp=%d", after/time.Minute) }

// userName matches the user names that Slurm reads as one user. Names of a directory may contain
// characters such as @, \ and spaces (tested on 22.05, 24.11 and 26.05). A comma separates users,
// and a name after a minus is excluded.
var userName = regexp.MustCompile(`^[^-+=,[:cntrl:]][^,[:cntrl:]]{0,99}$`)

// uts formats a time so that scontrol reads it the same way in every time zone.
func uts(t time.Time) string { return "uts" + strconv.FormatInt(t.Unix(), 10) }

// SetReservation changes a reservation, even after it has started, except for its start. If a node
// is unknown, 22.05 fails with ErrUnknownNode; 24.11 leaves the node out, and fails with
// ErrUnknownReservation if no node remains. One command makes the changes of calls that wait at the
// same time.
func (c *Client) SetReservation(ctx context.Context, name string, change slurm.ReservationChange) error {
	args := []string{"update", "reservationname=" + name}
	err := checkReservationName(name)
	if err == nil && (change.Nodes != nil || change.Start.IsZero() && change.End.IsZero() && change.Purge == 0) { // for Slurm, no nodes are any nodes
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
	failed, err := c.changes.ask(ctx, args, maxTogether, c.update)
	return cmp.Or(err, failed)
}

// maxTogether is the maximum number of changes in one command. 24.11.5 stops for 10 s after about
// 60 requests in a row, from one command or from several.
const maxTogether = 50

// update runs scontrol for the arguments of one update, or scontrol with one update per line of its
// input, which takes a tenth of the time. scontrol runs all lines, but does not show which of them
// failed: update then runs each of them alone. All updates must therefore be repeatable, and
// scontrol must read each argument as one word. Tested on 22.05, 24.11 and 26.05.
func (c *Client) update(ctx context.Context, changes [][]string) []error {
	errs := make([]error, len(changes))
	if len(changes) > 1 {
		var lines strings.Builder
		for _, args := range changes {
			lines.WriteString(strings.Join(args, " ") + "\n")
		}
		_, err := c.runWith(ctx, lines.String(), "scontrol")
		var failed *failure
		if !errors.As(err, &failed) || errors.Is(err, ErrNoController) {
			for i := range errs {
				errs[i] = err
			}
			return errs
		}
	}
	for i, args := range changes {
		_, errs[i] = c.run(ctx, "scontrol", args...)
	}
	return errs
}

// DeleteReservation deletes a reservation. The error is ErrUnknownReservation if the reservation
// does not exist.
func (c *Client) DeleteReservation(ctx context.Context, name string) error {
	if err := checkReservationName(name); err != nil {
		return fmt.Errorf("delete reservation: %w", err)
	}
	_, err := c.run(ctx, "scontrol", "delete", "reservationname="+name)
	return err
}

// reserved checks a reservation's name and nodes, and returns the nodes as a hostlist.
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
