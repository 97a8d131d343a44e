package chaos

import (
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
)

// keeper returns the job that keeps a node's machine behind its door after a loss, and since
// when. It returns 0 without such a job.
func (w *world) keeper(node string) (job uint32, since time.Time) {
	in, there := w.state().Instance(node)
	if l, at := w.behindDoor(node); there && l != nil && in.Created.Before(at) {
		return l.ID, at
	}
	return 0, time.Time{}
}

// behindDoor returns the job that uses a door over the node, and when the door was made. It returns
// nil without such a job.
func (w *world) behindDoor(node string) (l *life, made time.Time) {
	reservations, err := w.slurm.Reservations(w.ctx)
	if err != nil {
		return nil, time.Time{}
	}
	for _, r := range reservations {
		h := memo.ParseHold(cluster, r.Name)
		if h.Kind != memo.DoorHold || !slices.Contains(r.Nodes, node) {
			continue
		}
		l := w.watch.queued(func(l *life) bool { return l.Address() == h.Address })
		if l != nil && w.slurm.Truth(l.ID).Reservation == r.Name {
			return l, h.At
		}
	}
	return nil, time.Time{}
}

// spared fails if a process deletes a machine, or powers down a node, that a job keeps after a
// loss and can start on. A machine idle for half of salvage_timeout gets no other door.
func (c *check) spared(p *process, name, what string) {
	const slack = 2 * time.Minute
	m := c.w.machines.of(name)
	if c.w.watch.asked(name, time.Now().Add(-recent)) || !m.answers || c.w.lasting("clock") || c.w.rows.any() {
		return
	}
	job, since := c.w.keeper(name)
	if job == 0 || time.Since(since) > salvageTimeout/2-slack || !c.w.setup.salvages(setOf(name)) {
		return
	}
	in, _ := c.w.state().Instance(name)
	l := c.w.watch.queued(func(l *life) bool { return l.ID == job && l.State.Waits() && l.Priority > 0 })
	if l != nil && !c.w.watch.forgiven(*l) && in.Maintained.IsZero() && time.Until(m.lease) > l.Limit.Duration+slack {
		c.fail(wrongKill, "%s %s %s, which job %d keeps after a loss", p.name, what, name, job)
	}
}

// idles fails if a job's machine is idle for longer than jobs keep machines after a loss. The machine
// of a heterogeneous job may wait for the machines of its other components.
func (c *check) idles() {
	const slack = 8 * time.Minute
	if !c.w.wellFor(slack) {
		return
	}
	const limit = salvageTimeout/2 + slack
	for _, name := range c.w.setup.slurm.Nodes {
		set, n := setOf(name), c.w.watch.node(name)
		if !c.w.setup.salvages(set) || c.w.setup.keeps(set) || strings.TrimSuffix(n.State.String(), "+RESERVED") != "IDLE+CLOUD" || n.LastBusyTime.IsZero() ||
			time.Since(n.LastBusyTime) <= limit || !c.w.machines.of(name).answers || c.w.lasting("stubborn "+name) {
			continue
		}
		if job, since := c.w.keeper(name); job != 0 && time.Since(since) < salvageTimeout+slack {
			continue
		}
		if l, _ := c.w.behindDoor(name); l != nil && l.HetID != 0 {
			continue
		}
		_, byHand := c.w.byHand.Load(name)
		if in, there := c.w.state().Instance(name); there && in.Group != "" && !byHand {
			c.fail(orphan, "%s has been idle for more than %v, and no job keeps it", name, limit)
		}
	}
}
