package chaos

import (
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// downed judges that a node is set down within a few passes whose machine is lost while a
// job runs there: long before Slurm would do so by itself. A pass may be three minutes away.
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

// isLost reports whether a node is up on which a job runs, and nobody has a machine of
// its name that runs.
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

// sawPreempted reports whether the daemon that runs has seen the machine that left then be
// pre-empted: that it is gone is no surprise to it, though no group says so.
func (c *check) sawPreempted(name string, left time.Time) bool {
	defer locked(&c.mu)()
	saw, p := c.preempted[name], c.w.main.running()
	return p != nil && saw.by == p && !saw.at.Before(left)
}

// sights notes which machines a process has seen pre-empted.
func (c *check) sights(p *process, snap scene.Snapshot) {
	defer locked(&c.mu)()
	for _, in := range snap.Instances {
		if in.Preempted() {
			c.preempted[in.Name] = sight{p, time.Now()}
		}
	}
}

// sight is when a process saw something.
type sight struct {
	by *process
	at time.Time
}
