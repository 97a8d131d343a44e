package fakeslurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// SetJobReservation has a job use a reservation, or none. One that is over, or gone, uses
// none.
func (c *Cluster) SetJobReservation(ctx context.Context, id uint32, name string) error {
	err := c.toJob(ctx, id, "set the reservation", func(j *job) error {
		if name == "" && j.over() {
			return nil
		}
		return c.use(j, name)
	})
	if name == "" && errors.Is(err, scontrol.ErrUnknownJob) {
		return nil
	}
	return err
}

// useReservation has the job of an address use a reservation, or none: one by its id, or a task of
// an array, which is told apart from the others by that.
func (c *Cluster) useReservation(address, name string) error {
	whole, task, isTask := strings.Cut(address, "_")
	id, err := strconv.ParseUint(whole, 10, 32)
	if err != nil {
		return refuse("scontrol update jobid="+address, "Invalid job id specified", scontrol.ErrUnknownJob)
	}
	j := c.find(uint32(id))
	if isTask {
		j = c.task(uint32(id), task)
	}
	if j == nil {
		return refuse("scontrol update jobid="+address, "Invalid job id specified", scontrol.ErrUnknownJob)
	}
	return c.use(j, name)
}

// use has a job use a reservation, or none. A heterogeneous job's components do so together.
func (c *Cluster) use(j *job, name string) error {
	r := c.reservation(name)
	switch {
	case j.over():
		return ended("scontrol update", j)
	case r != nil && !slices.Contains(strings.Split(r.user, ","), j.user()):
		return refuse("scontrol update", fmt.Sprintf("Access denied to requested reservation for job %d", j.id), nil)
	case r == nil && name != "":
		return refuse("scontrol update", fmt.Sprintf("Requested reservation is invalid for job %d", j.id), scontrol.ErrUnknownReservation)
	}
	for _, part := range j.parts() {
		part.reservation, part.used = r, c.o.Now()
		if part.reason == reasonConstraints {
			part.priority = c.usualPriority()
		}
		if !part.held() && part.state == slurm.JobPending {
			part.reason = reasonNone
		}
	}
	c.stirred = true
	return nil
}

// misfit is why a job cannot start in its reservation, which has begun, whoever ends: wrong. Slurm
// gives no reason if there are too few nodes. Before 24.11 a job that wants nodes outside it is held,
// until it uses another or none.
func (c *Cluster) misfit(j *job) (reason string, wrong bool) {
	r := j.reservation
	excluded := func(n *node) bool { return slices.Contains(j.excluded, n) }
	outside := func(n *node) bool { return !slices.Contains(r.nodes, n) }
	switch {
	case r.has(flexible):
		return "", false
	case slices.ContainsFunc(j.named, outside):
		reason = reasonReservation
	case len(r.nodes) < j.count:
		return j.reason, true
	case len(slices.DeleteFunc(slices.Clone(r.nodes), excluded)) < j.count:
		reason = reasonResources
	default:
		return "", false
	}
	if c.habits.holdsMisfits {
		return reasonConstraints, true
	}
	return reason, true
}
