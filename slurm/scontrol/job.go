package scontrol

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"slurmflex/slurm"
)

// The methods below change exactly one job, given its raw id. Slurm's commands apply the id of an
// array's last task to the whole array. Therefore each method first asks squeue for the job's
// address (slurm.ParseJobAddress). Except for AdminComment, a heterogeneous job is always changed
// as a whole, whichever component is given. The error is ErrUnknownJob for a job that slurmctld no
// longer knows, and ErrJobEnded for a job that has ended. The behavior was tested on 22.05, 24.11
// and 26.05.

// SetAdminComment sets the comment that scontrol show job shows to the job's owner; "" clears it.
// Each component of a heterogeneous job has its own comment. Control characters become spaces, and
// the text is cut to 500 bytes. A job that has ended meanwhile keeps its comment.
func (c *Client) SetAdminComment(ctx context.Context, job uint32, text string) error {
	own, _, err := c.address(ctx, job, "set the admin comment")
	if err == nil {
		_, err = c.run(ctx, "scontrol", "update", "jobid="+own, "admincomment="+plain(text, maxText))
	}
	if errors.Is(err, ErrJobEnded) {
		return nil
	}
	return err
}

// HoldJob prevents a job from starting until an admin releases it. Its owner cannot release it.
// squeue shows JobHeldAdmin as the reason; the explanation belongs in the AdminComment.
//
// A CONFIGURING or RUNNING job keeps its nodes and continues, whether it is from sbatch, salloc or
// srun. It is held once it is requeued. To release the nodes of a CONFIGURING job and hold it, hold
// it first and then power down its nodes by force. The job then changes from CONFIGURING to held,
// and Slurm cannot start it in between.
func (c *Client) HoldJob(ctx context.Context, id uint32) error {
	return c.runFor(ctx, id, "hold", "scontrol", "hold")
}

// RequeueJob requeues a CONFIGURING or RUNNING batch job and increments its restart count. It does
// not change jobs that are PENDING or have ended: "Incomplete" prevents Slurm from starting
// cancelled and completed jobs again. Slurm rejects a job from salloc or srun, and one with
// --no-requeue.
//
// The job may start again after 121 s. Before 24.11, a job that was CONFIGURING may start again
// immediately, and on the same nodes. The nodes of a CONFIGURING job stay POWERING_UP: only
// powering them down by force both requeues the job and releases its nodes.
func (c *Client) RequeueJob(ctx context.Context, id uint32) error {
	return c.runFor(ctx, id, "requeue", "scontrol", "requeue", "Incomplete")
}

// SignalJob sends a signal, such as "USR1", to the script of a running batch job, but not to its
// steps. A script that does not catch the signal ends, and its job fails. A heterogeneous job has
// one script for all its components.
func (c *Client) SignalJob(ctx context.Context, id uint32, signal string) error {
	return c.runFor(ctx, id, "signal", "scancel", "--signal="+signal, "--batch")
}

// CancelJob cancels a job of any state and kind. salloc and srun print a message to a waiting user.
// Nodes that were POWERING_UP for the job stay POWERING_UP. A job that has ended or is unknown
// counts as cancelled.
func (c *Client) CancelJob(ctx context.Context, id uint32) error {
	err := c.runFor(ctx, id, "cancel", "scancel")
	if errors.Is(err, ErrUnknownJob) {
		return nil
	}
	return err
}

// SetReservationOf makes a job use the reservation of that name, or none if the name is empty. The job
// may also be CONFIGURING or RUNNING. A reservation that no job uses can be deleted. address is the
// job's address, such as "5_2" for an array task that shares a record with
// others, or "7+1" for one component of a heterogeneous job; "7" means all components. For a job
// that has ended or is unknown, there is nothing to do.
func (c *Client) SetReservationOf(ctx context.Context, address, name string) error {
	err := checkJobAddress(address)
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

func checkJobAddress(address string) error {
	if !slurm.IsJobAddress(address) {
		return fmt.Errorf("%q is not the address of a job", plain(address, maxCall))
	}
	return nil
}

// NotifyJob prints text on the terminal of the salloc or srun that waits for a PENDING or
// CONFIGURING job. Slurm rejects a PENDING batch job. For a CONFIGURING batch job the text is lost,
// so use the AdminComment. Control characters become spaces, and the text is cut to 500 bytes.
func (c *Client) NotifyJob(ctx context.Context, id uint32, text string) error {
	_, whole, err := c.address(ctx, id, "notify")
	if err == nil {
		// Without --, scontrol would parse a text that starts with a dash as options.
		_, err = c.run(ctx, "scontrol", "--", "notify", whole, plain(text, maxText))
	}
	return err
}

// runFor runs a command for a job, with the address of the whole job as its last argument. what
// names the change, for the error.
func (c *Client) runFor(ctx context.Context, id uint32, what, program string, args ...string) error {
	_, whole, err := c.address(ctx, id, what)
	if err == nil {
		_, err = c.run(ctx, program, append(args, whole)...)
	}
	return err
}

// address asks squeue for the job's own address, and that of the whole heterogeneous job, which is
// the same for any other job. what names the change, for the error. Without -r, 26.05 shows all waiting
// tasks of an array in one row.
func (c *Client) address(ctx context.Context, id uint32, what string) (own, whole string, err error) {
	number := strconv.FormatUint(uint64(id), 10)
	out, err := c.squeue(ctx, "-r", "-t", "all", "-j", number, "-o", slurm.JobAddressFormat)
	if err == nil {
		own, err = slurm.ParseJobAddress(id, out)
	}
	if err == nil && own == "" {
		err = fmt.Errorf("job %d: %w", id, ErrUnknownJob)
	}
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", what, err)
	}
	whole, _, _ = strings.Cut(own, "+")
	return own, whole, nil
}
