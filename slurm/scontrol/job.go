package scontrol

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"slurmflex/slurm"
)

// The methods below change the one job with a raw job id. Slurm's commands take
// the id that an array's last task has for all of the array, so the methods
// first ask squeue for the job's address (slurm.ParseJobAddress); but for its
// AdminComments, a heterogeneous job they change as a whole, whichever component
// is named. The error is ErrUnknownJob for a job that slurmctld no longer knows,
// and ErrJobEnded for one that is over. What they do was tried on 22.05,
// 24.11 and 26.05.

// SetAdminComment sets the comment that scontrol show job shows to the job's
// owner; "" clears it. Each component of a heterogeneous job has one of its own.
// Control characters become spaces, and the text is cut to 500 bytes.
func (c *Client) SetAdminComment(ctx context.Context, job uint32, text string) error {
	address, err := c.address(ctx, job)
	if err != nil {
		return fmt.Errorf("set the admin comment: %w", err)
	}
	_, err = c.run(ctx, "scontrol", "update", "jobid="+address.Own, "admincomment="+plain(text, maxText))
	return err
}

// HoldJob keeps a job from being started until an admin releases it; its owner
// cannot. squeue gives JobHeldAdmin as the reason, the words are for the
// AdminComment.
//
// A job that has nodes, CONFIGURING or RUNNING, keeps them and goes on, whether
// it is from sbatch, salloc or srun: it is held once it is requeued. So to take
// the nodes from a CONFIGURING job and hold it, hold it first and then power
// its nodes down by force: it goes from CONFIGURING to held, and Slurm cannot
// start it in between.
func (c *Client) HoldJob(ctx context.Context, id uint32) error {
	address, err := c.address(ctx, id)
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	_, err = c.run(ctx, "scontrol", "hold", address.Whole)
	return err
}

// RequeueJob takes a CONFIGURING or RUNNING batch job back to PENDING, one
// restart later. It leaves jobs alone that are PENDING or have ended: without
// "Incomplete", Slurm starts cancelled and completed jobs again. A job from
// salloc or srun, and one with --no-requeue, is refused by Slurm.
//
// The job may start again after 121 s, but before 24.11 one that was
// CONFIGURING at once, and on the same nodes. The nodes of a CONFIGURING job
// stay POWERING_UP: powering them down by force is the requeue that gives them
// back.
func (c *Client) RequeueJob(ctx context.Context, id uint32) error {
	return c.requeue(ctx, "requeue", id)
}

// RequeueHoldJob does what RequeueJob does and holds the job, with "job
// requeued in held state" for a reason. A PENDING job it does not hold: that is
// HoldJob's. Before 24.11 squeue goes on to show the former nodes of a job that
// was CONFIGURING.
func (c *Client) RequeueHoldJob(ctx context.Context, id uint32) error {
	return c.requeue(ctx, "requeuehold", id)
}

func (c *Client) requeue(ctx context.Context, verb string, id uint32) error {
	address, err := c.address(ctx, id)
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	_, err = c.run(ctx, "scontrol", verb, "Incomplete", address.Whole)
	return err
}

// SignalJob sends a signal, such as "USR1", to the script of a running batch job, and
// not to its steps. A script that does not catch it ends there, and its job fails. For
// a heterogeneous job it is the script of the whole.
func (c *Client) SignalJob(ctx context.Context, id uint32, signal string) error {
	address, err := c.address(ctx, id)
	if err != nil {
		return fmt.Errorf("signal: %w", err)
	}
	_, err = c.run(ctx, "scancel", "--signal="+signal, "--batch", address.Whole)
	return err
}

// CancelJob cancels a job of any state and kind; salloc and srun say so to
// no matter who waits in them. Nodes that were POWERING_UP for it stay so. A job that
// is over, or gone, is as good as cancelled.
func (c *Client) CancelJob(ctx context.Context, id uint32) error {
	address, err := c.address(ctx, id)
	if errors.Is(err, ErrUnknownJob) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	_, err = c.run(ctx, "scancel", address.Whole)
	return err
}

// SetJobReservation has a job, also one that is CONFIGURING or RUNNING, use the
// reservation of that name, or none if it is empty. One that no job uses can be
// deleted; a job that is over, or gone, uses none.
func (c *Client) SetJobReservation(ctx context.Context, id uint32, name string) error {
	address, err := c.address(ctx, id)
	if name == "" && errors.Is(err, ErrUnknownJob) {
		return nil
	}
	if err == nil && name != "" {
		err = checkReservationName(name)
	}
	if err != nil {
		return fmt.Errorf("set the reservation: %w", err)
	}
	_, err = c.run(ctx, "scontrol", "update", "jobid="+address.Whole, "reservationname="+name)
	if name == "" && errors.Is(err, ErrJobEnded) {
		return nil
	}
	return err
}

// SetReservationOf has a pending job use the reservation of that name, or none if it is empty. The
// job is named by its address, such as "5_2" for a task of an array that is no record of its own yet, or
// "7+1" for one component of a heterogeneous job: "7" is all of them.
// A job that is over, or gone, uses none.
func (c *Client) SetReservationOf(ctx context.Context, address, name string) error {
	var err error
	if !jobAddress.MatchString(address) {
		err = fmt.Errorf("%q is not the address of a job", plain(address, maxCall))
	}
	if err == nil && name != "" {
		err = checkReservationName(name)
	}
	if err != nil {
		return fmt.Errorf("set the reservation: %w", err)
	}
	_, err = c.run(ctx, "scontrol", "update", "jobid="+address, "reservationname="+name)
	if name == "" && (errors.Is(err, ErrJobEnded) || errors.Is(err, ErrUnknownJob)) {
		return nil
	}
	return err
}

// jobAddress is a job's id, a task of an array, or a component of a heterogeneous job.
var jobAddress = regexp.MustCompile(`^[1-9][0-9]*([_+][0-9]+)?$`)

// NotifyJob prints text on the terminal of the salloc or srun that waits for a
// job, PENDING or CONFIGURING. For a PENDING batch job Slurm refuses; a
// CONFIGURING one nobody sees it for, so the AdminComment is the place.
// Control characters become spaces, and the text is cut to 500 bytes.
func (c *Client) NotifyJob(ctx context.Context, id uint32, text string) error {
	address, err := c.address(ctx, id)
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	// Without -- a text that begins with a dash would be options.
	_, err = c.run(ctx, "scontrol", "--", "notify", address.Whole, plain(text, maxText))
	return err
}

// address asks how Slurm's commands call this one job.
func (c *Client) address(ctx context.Context, id uint32) (slurm.JobAddress, error) {
	number := strconv.FormatUint(uint64(id), 10)
	out, err := c.run(ctx, "squeue", "-h", "-a", "-t", "all", "-j", number, "-o", slurm.JobAddressFormat)
	if err != nil {
		return slurm.JobAddress{}, err
	}
	address, err := slurm.ParseJobAddress(id, out)
	if err == nil && address == (slurm.JobAddress{}) {
		err = fmt.Errorf("job %d: %w", id, ErrUnknownJob)
	}
	return address, err
}
