package fakeslurm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// oldestStart is how long ago a new reservation may have begun.
const oldestStart = 600 * time.Second

// reservation keeps jobs off nodes from its start on.
type reservation struct {
	name       string
	nodes      []*node
	start, end time.Time
	user       string // whose jobs may use it, who may use other nodes, too; empty: nobody's
	maint      bool   // its nodes show MAINTENANCE, too
}

// overlaps reports whether the node is reserved for another job at some time from start to
// end; reservations with MAINT may overlap.
func (c *Cluster) overlaps(n *node, start, end time.Time) bool {
	return slices.ContainsFunc(c.reservations, func(r *reservation) bool {
		return !r.maint && slices.Contains(r.nodes, n) && r.start.Before(end) && start.Before(r.end)
	})
}

// reserve marks the nodes of the reservations that have begun.
func (c *Cluster) reserve(now time.Time) {
	past := func(r *reservation) bool { return !r.end.After(now) }
	if slices.ContainsFunc(c.reservations, past) {
		for _, j := range c.queue {
			if j.reservation != nil && past(j.reservation) {
				j.reservation = nil // no_hold_jobs_after
			}
		}
		c.reservations = slices.DeleteFunc(c.reservations, past)
		c.noteReservations()
	}
	for _, n := range c.nodes {
		n.reserved = !n.reservedFrom.IsZero() && !n.reservedFrom.After(now)
		n.maintained = n.reserved && !n.maintainedFrom.IsZero() && !n.maintainedFrom.After(now)
	}
}

// noteReservations has every node know from when on it is reserved.
func (c *Cluster) noteReservations() {
	for _, n := range c.nodes {
		n.reservedFrom, n.maintainedFrom, n.onlyFor = time.Time{}, time.Time{}, nil
	}
	for _, r := range c.reservations {
		for _, n := range r.nodes {
			if r.user != "" {
				n.onlyFor = r
				continue
			}
			n.reservedFrom = earlier(n.reservedFrom, r.start)
			if r.maint {
				n.maintainedFrom = earlier(n.maintainedFrom, r.start)
			}
		}
	}
	c.stirred = true
}

// reservedBefore reports whether the node is reserved before a time.
func (n *node) reservedBefore(end time.Time) bool {
	return !n.reservedFrom.IsZero() && end.After(n.reservedFrom)
}

func (c *Cluster) reservation(name string) *reservation {
	for _, r := range c.reservations {
		if r.name == name {
			return r
		}
	}
	return nil
}

// Reservations lists all reservations, the oldest first.
func (c *Cluster) Reservations(ctx context.Context) ([]slurm.Reservation, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	var list []slurm.Reservation
	for _, r := range c.reservations {
		shown := slurm.Reservation{
			Name: r.name, Start: r.start, End: r.end, Nodes: names(r.nodes),
			Flags: []string{"MAINT", "IGNORE_JOBS", "SPEC_NODES"}, Users: []string{slurmUser},
		}
		switch {
		case r.user == "" && !r.maint:
			shown.Flags = []string{"OVERLAP", "IGNORE_JOBS", "SPEC_NODES"}
		case r.user != "":
			shown.Flags, shown.Users = []string{"FLEX", "SPEC_NODES", "NO_HOLD_JOBS_AFTER_END"}, []string{r.user}
		}
		list = append(list, shown)
	}
	return list, nil
}

// CreateReservation makes a reservation that keeps jobs off nodes.
func (c *Cluster) CreateReservation(ctx context.Context, spec slurm.ReservationSpec) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	call := "scontrol create reservation reservationname=" + spec.Name
	if len(spec.Nodes) == 0 {
		return fmt.Errorf("create reservation: %s: no nodes", spec.Name)
	}
	start := spec.Start.Truncate(time.Second)
	if !spec.Maint {
		start = c.o.Now().Truncate(time.Second)
	}
	end := start.Add(spec.Lasts)
	nodes, unknown := c.known(spec.Nodes)
	switch {
	case c.o.Now().Sub(start) > oldestStart:
		return refuse(call, "Error creating the reservation: Invalid time specified", nil)
	case c.reservation(spec.Name) != nil:
		return refuse(call, "Error creating the reservation: Duplicate reservation name", scontrol.ErrReservationExists)
	case unknown:
		return refuse(call, "Error creating the reservation: Invalid node name specified", scontrol.ErrUnknownNode)
	}
	c.reservations = append(c.reservations, &reservation{name: spec.Name, nodes: nodes, start: start, end: end, maint: spec.Maint})
	c.noteReservations()
	return nil
}

// ReserveForJob reserves idle nodes for a user's job from now on, then those with it that
// the job has.
func (c *Cluster) ReserveForJob(ctx context.Context, spec slurm.JobReservationSpec) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	call := "scontrol create reservation reservationname=" + spec.Name
	start := c.o.Now().Truncate(time.Second)
	end := start.Add(spec.Lasts)
	free, unknown := c.known(spec.Nodes)
	held, unknownHeld := c.known(spec.Held)
	switch {
	case unknown || unknownHeld:
		return refuse(call, "Error creating the reservation: Invalid node name specified", scontrol.ErrUnknownNode)
	case slices.ContainsFunc(slices.Concat(free, held), func(n *node) bool { return c.overlaps(n, start, end) }):
		return refuse(call, "Error creating the reservation: Requested reservation overlaps with another reservation", nil)
	case slices.ContainsFunc(free, func(n *node) bool { return len(n.jobs) > 0 }):
		return refuse(call, "Error creating the reservation: Requested nodes are busy", nil)
	}
	c.reservations = append(c.reservations, &reservation{name: spec.Name, nodes: slices.Concat(free, held), start: start, end: end, user: spec.User})
	c.noteReservations()
	return nil
}

// SetReservation sets a reservation's nodes, and its end unless that is zero.
func (c *Cluster) SetReservation(ctx context.Context, name string, list []string, end time.Time) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	call := "scontrol update reservationname=" + name
	if len(list) == 0 {
		return fmt.Errorf("update reservation: %s: no nodes", name)
	}
	r := c.reservation(name)
	nodes, unknown := c.known(list)
	switch {
	case r == nil:
		return refuse(call, "Error updating the reservation: Requested reservation is invalid", scontrol.ErrUnknownReservation)
	case unknown && c.habits.refusesUnknownNodes:
		return refuse(call, "Error updating the reservation: Invalid node name specified", scontrol.ErrUnknownNode)
	case len(nodes) == 0:
		return refuse(call, "Requested reservation is invalid", scontrol.ErrUnknownReservation)
	}
	r.nodes = nodes
	if !end.IsZero() {
		r.end = end.Truncate(time.Second)
	}
	c.noteReservations()
	return nil
}

// DeleteReservation deletes a reservation.
func (c *Cluster) DeleteReservation(ctx context.Context, name string) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	r := c.reservation(name)
	if r == nil {
		return refuse("scontrol delete reservationname="+name, "Requested reservation is invalid", scontrol.ErrUnknownReservation)
	}
	if slices.ContainsFunc(c.queue, func(j *job) bool { return j.reservation == r && !j.over() }) {
		return refuse("scontrol delete reservationname="+name, "Requested reservation is in use", nil)
	}
	c.reservations = slices.DeleteFunc(c.reservations, func(other *reservation) bool { return other == r })
	c.noteReservations()
	return nil
}

// known are the nodes of these names, each once and in the cluster's order.
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
