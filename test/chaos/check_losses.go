package chaos

import (
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// downed fails if a node whose machine was lost under a running job is not set DOWN within a
// few passes. Slurm itself would take much longer. The next pass may be three minutes away.
func (c *check) downed() {
	const slack = 4 * time.Minute
	well := c.w.wellFor(time.Minute)
	for _, name := range c.w.setup.slurm.Nodes {
		if !well || !c.isLost(name) {
			delete(c.lost, name)
			continue
		}
		if c.lost[name].IsZero() {
			c.lost[name] = time.Now()
		}
		if time.Since(c.lost[name]) >= slack {
			c.fail(stall, "the machine of %s is lost, and the node has not been set down for %v", name, slack)
		}
	}
}

// isLost reports whether a job runs on a node that is up although no running machine has its
// name.
func (c *check) isLost(name string) bool {
	n, m := c.w.watch.node(name), c.w.machines.of(name)
	const others = slurm.Drain | slurm.Fail
	if n.State.Power() != slurm.On || n.State.Base == slurm.Down || n.State.Flags&others != 0 || c.w.lasting("stubborn "+name) ||
		m.left.IsZero() || !m.boot.IsZero() || c.w.watch.runner(name) == nil {
		return false
	}
	_, stranger := c.w.stranger(name)
	in, there := c.w.state().Instance(name)
	gone := !there && (!setOf(name).bulk() || n.State.Has(slurm.NotResponding) || c.sawPreempted(name, m.left))
	return !stranger && (gone || in.Status == "TERMINATED" || in.Status == "REPAIRING")
}

// sawPreempted reports whether the running daemon has seen the preemption of a machine lost at
// left. If so, the daemon knows about the loss, although no group shows it.
func (c *check) sawPreempted(name string, left time.Time) bool {
	defer locked(&c.mu)()
	saw, p := c.preempted[name], c.w.main.running()
	return p != nil && saw.by == p && !saw.at.Before(left)
}

// sights records which preempted machines a process has seen.
func (c *check) sights(p *process, snap scene.Snapshot) {
	defer locked(&c.mu)()
	for _, in := range snap.Instances {
		if in.Preempted() {
			c.preempted[in.Name] = sight{p, time.Now()}
		}
	}
}

// sight records who saw something, and when.
type sight struct {
	by *process
	at time.Time
}
