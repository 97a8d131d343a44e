package chaos

import (
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// moves reports whether a job is on its way to kept machines.
func (c *check) moves(job uint32) bool {
	moves := memo.ParseHold(cluster, c.w.slurm.JobReservation(job)).Kind == memo.MoveHold
	return moves
}

// salvages reports whether a job names the reservation that holds machines for it.
func (c *check) salvages(job uint32) bool {
	holds := memo.ParseHold(cluster, c.w.slurm.JobReservation(job)).Kind == memo.SalvageHold
	return holds
}

// promised judges that a node's machine, or its power, is taken while a job moves there.
// Slurm may have taken it itself; a daemon whose clock is wrong, or which reads nonsense,
// may take the move for one of long ago.
func (c *check) promised(p *process, name, what string) {
	const limit = 2 * time.Minute // for which a job may be under way
	job, since := c.w.moves.countsOn(name)
	if job == 0 || time.Since(since) > limit-2*commandTime || !c.moves(job) || c.w.watch.asked(name, recent) || !c.w.machines.of(name).answers {
		return
	}
	if l := c.w.watch.queued(func(l *life) bool { return l.ID == job && l.State.Waits() }); l != nil && !c.w.watch.forgiven(*l) && !c.w.lasting("clock") && !c.w.rows.any() {
		c.fail(wrongKill, "%s %s %s, to which job %d moves", p.name, what, name, job)
	}
}

// warm judges that no job waits for machines while kept ones are idle that fit it, for
// longer than a few passes take. Static ones are not kept for anybody: they are always there.
func (c *check) warm() {
	const slack = 8 * time.Minute
	if c.w.setup.keep <= slack || !c.w.wellFor(slack) {
		return
	}
	st := c.w.state()
	queue, _ := c.w.watch.all()
	for _, l := range queue {
		if l.State != slurm.JobConfiguring || l.stays || l.HetID != 0 || l.Pinned() || l.Limit.Kind != slurm.LimitSet || time.Since(l.given) < slack {
			continue
		}
		set := setOf(l.Nodes[0])
		made := func(name string) bool { _, there := st.Instance(name); return there }
		if !c.w.setup.keeps(set) || set.placement && len(l.Nodes) > 1 || slices.ContainsFunc(l.Nodes, made) || slices.ContainsFunc(l.Nodes, c.w.static) ||
			slices.ContainsFunc(l.Nodes, func(name string) bool { return c.w.lasting("stubborn " + name) }) {
			continue
		}
		var idle []string
		for _, name := range c.w.setup.slurm.Nodes {
			n, m := c.w.watch.node(name), c.w.machines.of(name)
			if setOf(name).name == set.name && !c.w.static(name) && n.State.String() == "IDLE+CLOUD" && time.Since(n.LastBusyTime) >= slack && n.LastBusyTime.After(l.Start) &&
				time.Since(n.LastBusyTime) < c.w.setup.keep-2*time.Minute && made(name) && m.answers && (m.lease.IsZero() || time.Until(m.lease) > l.Limit.Duration+slack) {
				idle = append(idle, name)
			}
		}
		if len(idle) >= len(l.Nodes) {
			c.fail(orphan, "job %d waits for %s, and %s, which fit it, have been idle for %v", l.ID, slurm.Fold(l.Nodes), slurm.Fold(idle), slack)
		}
	}
}
