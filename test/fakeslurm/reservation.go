package fakeslurm

import (
	"context"
	"slices"
	"strings"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// mode is a reservation's set of flags.
type mode uint8

const (
	maint      mode = 1 << iota // nodes show MAINTENANCE
	overlap                     // may share nodes with other reservations
	ignoreJobs                  // nodes may have running jobs
	noHold                      // jobs are not held when it ends
)

// flagWords lists the flags in Slurm's print order. The model's reservations always name their
// nodes, so SPEC_NODES follows IGNORE_JOBS.
var flagWords = []struct {
	flag mode
	word string
}{{maint, "MAINT"}, {overlap, "OVERLAP"}, {ignoreJobs, "IGNORE_JOBS"}}

// reservation keeps all jobs off its nodes from its start, except jobs that use the reservation.
type reservation struct {
	name       string
	nodes      []*node
	start, end time.Time
	user       string // jobs of this user may use it
	mode       mode
	purge      time.Duration // Slurm deletes it after this time without a job (purge_comp); 0: never
	idle       time.Time     // end of its last job
	made       time.Time
}

func (r *reservation) has(flag mode) bool { return r.mode&flag != 0 }

func (r *reservation) begun(now time.Time) bool { return !r.start.After(now) }

// within reports whether the reservation is active at any time from start to end.
func (r *reservation) within(start, end time.Time) bool {
	return r.start.Before(end) && start.Before(r.end)
}

// bars reports whether the reservation keeps a job off its nodes. If the job's own reservation
// has the flag overlap, only maintenance reservations keep the job off.
func (r *reservation) bars(j *job) bool {
	own := j.reservation
	return own == nil || own != r && !own.has(maint) && (r.has(maint) || !own.has(overlap))
}

// shown returns the flags as scontrol show reservation prints them.
func (r *reservation) shown() []string {
	var words []string
	for _, f := range flagWords {
		if r.has(f.flag) {
			words = append(words, f.word)
		}
	}
	words = append(words, "SPEC_NODES")
	if r.purge > 0 {
		words = append(words, "PURGE_COMP="+slurm.Limit{Kind: slurm.LimitSet, Duration: r.purge}.String())
	}
	if r.has(noHold) {
		words = append(words, "NO_HOLD_JOBS_AFTER_END")
	}
	return words
}

// barred reports whether a reservation keeps the job off the node at some time from start to end.
func (n *node) barred(j *job, start, end time.Time) bool {
	return slices.ContainsFunc(n.reservations, func(r *reservation) bool { return r.within(start, end) && r.bars(j) })
}

// reserve marks the nodes of active reservations, and deletes expired reservations.
func (c *Cluster) reserve(now time.Time) {
	var over []*reservation
	for _, r := range c.reservations {
		if !r.end.After(now) {
			over = append(over, r)
		}
	}
	c.forget(over)
	for _, n := range c.nodes {
		n.reserved, n.maintained = false, false
		for _, r := range n.reservations {
			if r.begun(now) {
				n.reserved, n.maintained = true, n.maintained || r.has(maint)
			}
		}
	}
	c.open(now)
}

// open triggers the scheduler when a reservation starts.
func (c *Cluster) open(now time.Time) {
	for _, r := range c.reservations {
		c.stirred = c.stirred || r.begun(now) && r.start.After(c.opened)
	}
	c.opened = now
}

// purge deletes reservations that have been unused for their purge_comp. Restart resets that clock.
func (c *Cluster) purge(now time.Time) {
	var unused []*reservation
	for _, r := range c.reservations {
		switch {
		case !r.begun(now) || c.uses(r):
			r.idle = now
		case r.purge > 0 && now.Sub(r.idle) > r.purge:
			unused = append(unused, r)
		}
	}
	c.forget(unused)
}

// uses reports whether a job uses the reservation.
func (c *Cluster) uses(r *reservation) bool {
	return slices.ContainsFunc(c.queue, func(j *job) bool { return j.reservation == r && !j.over() })
}

// forget deletes reservations. Jobs that used them continue without a reservation.
func (c *Cluster) forget(list []*reservation) {
	if len(list) == 0 {
		return
	}
	for _, j := range c.queue {
		if slices.Contains(list, j.reservation) {
			j.reservation = nil
		}
	}
	c.reservations = slices.DeleteFunc(c.reservations, func(r *reservation) bool { return slices.Contains(list, r) })
	c.noteReservations()
}

// noteReservations lists each node's reservations at the node.
func (c *Cluster) noteReservations() {
	for _, n := range c.nodes {
		n.reservations = nil
	}
	for _, r := range c.reservations {
		for _, n := range r.nodes {
			n.reservations = append(n.reservations, r)
		}
	}
	c.stirred = true
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
		list = append(list, slurm.Reservation{
			Name: r.name, Start: r.start, End: r.end, Nodes: names(r.nodes), Flags: r.shown(), Users: strings.Split(r.user, ","),
		})
	}
	return list, nil
}

// DeleteReservation deletes a reservation that no job uses.
func (c *Cluster) DeleteReservation(ctx context.Context, name string) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	return c.deleteReservation(name)
}

func (c *Cluster) deleteReservation(name string) error {
	call := "scontrol delete reservationname=" + name
	r := c.reservation(name)
	switch {
	case r == nil:
		return refuse(call, "Requested reservation is invalid", scontrol.ErrUnknownReservation)
	case c.uses(r):
		return refuse(call, "Requested reservation is in use", nil)
	}
	c.forget([]*reservation{r})
	return nil
}
