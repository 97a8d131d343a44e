package fakeslurm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// oldestStart is how far in the past a new reservation may start.
const oldestStart = 600 * time.Second

// create adds a reservation of the listed nodes, or refuses as slurmctld does. The call names the
// command in the error.
func (c *Cluster) create(r *reservation, list []string, call string) error {
	call = "scontrol create reservation " + call
	refused := func(words string, kind error) error {
		return refuse(call, "Error creating the reservation: "+words, kind)
	}
	var unknown bool
	r.nodes, unknown = c.known(list)
	r.start, r.end = r.start.Truncate(time.Second), r.end.Truncate(time.Second)
	r.made = time.Now()
	r.idle = r.made
	switch {
	case len(list) == 0:
		return fmt.Errorf("create reservation: %s: no nodes", r.name)
	case r.made.Sub(r.start) > oldestStart:
		return refused("Invalid time specified", nil)
	case c.reservation(r.name) != nil:
		return refused("Duplicate reservation name", scontrol.ErrReservationExists)
	case unknown:
		return refused("Invalid node name specified", scontrol.ErrUnknownNode)
	case c.overlaps(r):
		return refused("Requested reservation overlaps with another reservation", nil)
	case c.busy(r):
		return refused("Requested nodes are busy", nil)
	}
	c.reservations = append(c.reservations, r)
	c.noteReservations()
	return nil
}

// overlaps reports whether another reservation forbids this one.
func (c *Cluster) overlaps(r *reservation) bool {
	if r.has(maint | overlap) {
		return false
	}
	return slices.ContainsFunc(c.reservations, func(other *reservation) bool {
		return !other.has(maint|overlap) && other.within(r.start, r.end) &&
			slices.ContainsFunc(r.nodes, func(n *node) bool { return slices.Contains(other.nodes, n) })
	})
}

// busy reports whether a job on the reservation's nodes can still run when the reservation starts.
func (c *Cluster) busy(r *reservation) bool {
	stays := func(j *job) bool { return j.until(j.start).After(r.start) }
	return !r.has(ignoreJobs) && slices.ContainsFunc(r.nodes, func(n *node) bool { return slices.ContainsFunc(n.jobs, stays) })
}

// CreateReservation creates a reservation that keeps jobs off nodes.
func (c *Cluster) CreateReservation(ctx context.Context, spec slurm.ReservationSpec) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	r := &reservation{name: spec.Name, start: time.Now(), user: slurmUser, mode: overlap | ignoreJobs, purge: spec.Purge}
	if !spec.Start.IsZero() {
		r.start = spec.Start
	}
	switch {
	case spec.Maint:
		r.mode = maint | ignoreJobs
	case spec.User != "":
		r.user, r.mode = spec.User, overlap
	}
	if spec.Purge > 0 {
		r.mode |= noHold
	}
	r.end = r.start.Truncate(time.Second).Add(cmp.Or(spec.Lasts, year))
	return c.create(r, spec.Nodes, "reservationname="+spec.Name)
}

// SetReservation changes a reservation.
func (c *Cluster) SetReservation(ctx context.Context, name string, change slurm.ReservationChange) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	said := &words{nodes: change.Nodes, start: change.Start, end: change.End, purge: change.Purge}
	if change.Nodes != nil {
		said.operator = "="
	}
	return c.updateReservation(name, said)
}

// setTimes changes the start of a future reservation, its end and its purge time.
func (c *Cluster) setTimes(r *reservation, said *words, call string) error {
	if !said.start.IsZero() {
		if r.begun(time.Now()) {
			return refuse(call, "Reservation already started", slurm.ErrReservationStarted)
		}
		lasts := r.end.Sub(r.start)
		r.start = said.start.Truncate(time.Second)
		r.end = r.start.Add(lasts)
	}
	if !said.end.IsZero() {
		r.end = said.end.Truncate(time.Second)
	}
	r.purge = cmp.Or(said.purge, r.purge)
	c.noteReservations()
	return nil
}

// setNodes replaces a reservation's nodes.
func (c *Cluster) setNodes(r *reservation, list []string, call string) error {
	nodes, unknown := c.known(list)
	switch {
	case unknown && c.habits.refusesUnknownNodes:
		return refuse(call, "Error updating the reservation: Invalid node name specified", scontrol.ErrUnknownNode)
	case len(nodes) == 0:
		return refuse(call, "Requested reservation is invalid", scontrol.ErrUnknownReservation)
	}
	r.nodes = nodes
	return nil
}

// known returns the named nodes, each once and in the cluster's order. unknown reports whether
// a name is unknown.
func (c *Cluster) known(list []string) (nodes []*node, unknown bool) {
	for _, name := range list {
		if n := c.byName[name]; n != nil {
			nodes = append(nodes, n)
		} else {
			unknown = true
		}
	}
	slices.SortFunc(nodes, byOrder)
	return slices.Compact(nodes), unknown
}
