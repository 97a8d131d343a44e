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

// SetReservationOf sets or clears the reservation of a job or an array task. Clearing that of a job
// that has ended succeeds.
func (c *Cluster) SetReservationOf(ctx context.Context, address, name string) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	err := c.useReservation(address, name)
	if name == "" && (errors.Is(err, scontrol.ErrUnknownJob) || errors.Is(err, scontrol.ErrJobEnded)) {
		return nil
	}
	return err
}

// useReservation sets or clears the reservation of a job id, an array task, or a component of a
// heterogeneous job. Naming a task splits it from its array.
func (c *Cluster) useReservation(address, name string) error {
	if leader, offset, isComponent := strings.Cut(address, "+"); isComponent {
		id, err := strconv.ParseUint(leader, 10, 32)
		at, bad := strconv.Atoi(offset)
		j := c.find(uint32(id))
		if err != nil || bad != nil || j == nil || at >= len(j.parts()) {
			return refuse("scontrol update jobid="+address, "Invalid job id specified", scontrol.ErrUnknownJob)
		}
		return c.usePart(j.parts()[at], name)
	}
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

// use sets or clears the reservation of a job, and of all components of a heterogeneous job.
func (c *Cluster) use(j *job, name string) error {
	for _, part := range j.parts() {
		if err := c.usePart(part, name); err != nil {
			return err
		}
	}
	return nil
}

// usePart sets or clears the reservation of a job, or of one component of a heterogeneous job.
func (c *Cluster) usePart(part *job, name string) error {
	j, r := part, c.reservation(name)
	switch {
	case j.over():
		return ended("scontrol update", j)
	case r != nil && !slices.Contains(strings.Split(r.user, ","), j.user()):
		return refuse("scontrol update", fmt.Sprintf("Access denied to requested reservation for job %d", j.id), nil)
	case r == nil && name != "":
		return refuse("scontrol update", fmt.Sprintf("Requested reservation is invalid for job %d", j.id), scontrol.ErrUnknownReservation)
	}
	part.reservation = r
	if part.reason == reasonConstraints {
		part.priority = c.usualPriority()
	}
	if !part.held() && part.state == slurm.JobPending {
		part.reason = reasonNone
	}
	c.stirred = true
	return nil
}

// misfit reports whether a job can never start in its active reservation, and the reason that
// Slurm shows. With too few nodes Slurm leaves the reason unchanged. Before 24.11 Slurm sets
// the priority of a job that needs nodes outside its reservation to 0 until the job's
// reservation changes.
func (c *Cluster) misfit(j *job) (reason string, wrong bool) {
	r := j.reservation
	excluded := func(n *node) bool { return slices.Contains(j.excluded, n) }
	outside := func(n *node) bool { return !slices.Contains(r.nodes, n) }
	switch {
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
