package fakeslurm

import (
	"slices"
	"time"

	"slurmflex/slurm"
)

// powerInterval is the interval of power saving (power_save_interval=1). For that long, a node
// may show as allocated and powered down.
const powerInterval = time.Second

// power runs one pass of slurmctld's power saving. All nodes that it resumes or suspends share
// one call of the program.
func (c *Cluster) power(now time.Time) {
	if now.Sub(c.powered) < powerInterval {
		return
	}
	c.powered = now
	var late, resumed, suspended []*node
	for _, n := range c.nodes {
		switch {
		case n.has(slurm.PoweringUp) && now.Sub(n.asked) >= n.resumeTimeout && !n.has(slurm.PowerUp):
			late = append(late, n)
		case n.has(slurm.PoweringDown) && now.Sub(n.suspended) >= c.o.SuspendTimeout:
			c.powerOff(n)
		case n.has(slurm.PowerUp) || n.has(slurm.PoweredDown) && len(n.jobs) > 0:
			resumed = append(resumed, n)
		case n.toSuspend(now):
			suspended = append(suspended, n)
		}
	}
	c.giveUp(late, now)
	c.resume(resumed, now)
	c.suspend(suspended, now)
}

// toSuspend reports whether the node must be powered down, because it is marked or has been
// idle for SuspendTime. It is false for a node that is powering up.
func (n *node) toSuspend(now time.Time) bool {
	if len(n.jobs) > 0 || len(n.completing) > 0 || n.hasAny(slurm.PoweringUp|slurm.PoweringDown) {
		return false
	}
	if n.has(slurm.PowerDown) {
		return true
	}
	return n.suspendTime > 0 && !n.exempt && n.up() && !n.busy.IsZero() && now.Sub(n.busy) >= n.suspendTime
}

// giveUp sets nodes DOWN that did not register within ResumeTimeout. They stay DOWN until an
// admin acts. SuspendProgram is not called for them.
func (c *Cluster) giveUp(nodes []*node, now time.Time) {
	for _, n := range nodes {
		n.down = true
		n.clear(slurm.PoweringUp | slurm.PowerDown | slurm.Drain)
		n.set(slurm.PoweredDown)
		if !c.habits.silentOnceGivenUp {
			n.clear(slurm.NotResponding)
		}
		c.why(n, "ResumeTimeout reached")
		c.fail(n, now)
		n.busy = time.Time{}
	}
	c.call(c.o.ResumeFail, nodes)
}

// resume powers nodes up. A further request for a node that is already powering up restarts
// its ResumeTimeout, and the resume file names no job for it.
func (c *Cluster) resume(nodes []*node, now time.Time) {
	if len(nodes) == 0 {
		return
	}
	forJob := map[*node]bool{}
	for _, n := range nodes {
		if !n.has(slurm.PowerUp) {
			forJob[n] = true
		} else if !n.down || !c.habits.remembersWhyDown {
			c.clearReason(n)
		}
		n.clear(slurm.PowerUp | slurm.PoweredDown)
		n.set(slurm.PoweringUp | slurm.NotResponding)
		n.asked = now
	}
	var jobs []uint32
	for _, j := range c.queue {
		if j.active() && slices.ContainsFunc(j.nodes, func(n *node) bool { return forJob[n] }) {
			jobs = append(jobs, j.id)
		}
	}
	if program, resumed := c.o.Resume, names(nodes); program != nil {
		c.calls = append(c.calls, func() { program(resumed, jobs) })
	}
}

// suspend powers nodes down. Because of idle_on_node_suspend, a node that was down or drained
// becomes idle.
func (c *Cluster) suspend(nodes []*node, now time.Time) {
	for _, n := range nodes {
		n.down = false
		n.clear(slurm.PowerDown | slurm.PowerUp | slurm.PoweredDown | slurm.NotResponding | slurm.Drain)
		n.set(slurm.PoweringDown)
		n.suspended = now
	}
	c.call(c.o.Suspend, nodes)
}

// powerOff marks a node as powered down.
func (c *Cluster) powerOff(n *node) {
	n.clear(slurm.PoweringDown)
	n.set(slurm.PoweredDown)
	n.busy = time.Time{}
	c.stirred = true
}

// call schedules a program call with nodes, to run without the lock.
func (c *Cluster) call(program func([]string), nodes []*node) {
	if program == nil || len(nodes) == 0 {
		return
	}
	list := names(nodes)
	c.calls = append(c.calls, func() { program(list) })
}

func names(nodes []*node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.name
	}
	return list
}
