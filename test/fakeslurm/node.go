package fakeslurm

import (
	"slices"
	"time"

	"slurmflex/slurm"
)

const (
	// coresPerNode is how many jobs of a shared partition a node takes.
	coresPerNode = 2

	// messageTimeout is how long slurmctld waits for an answer of a slurmd.
	messageTimeout = 10 * time.Second
)

// node is a node as slurmctld sees it.
type node struct {
	name          string
	order         int // in the cluster
	partitions    []string
	exempt        bool // in SuspendExcNodes
	resumeTimeout time.Duration
	suspendTime   time.Duration // 0: never

	down         bool
	flags        slurm.Flags    // but those that follow from the rest
	jobs         []*job         // that have it allocated
	completing   []*job         // that have ended on it, which it did not confirm
	reservations []*reservation // that have it
	reserved     bool           // one of them has begun
	maintained   bool           // one for maintenance has
	frozen       bool           // changes of it are refused
	plan         span           // for a job that is to start later; zero: for none
	hidden       bool           // backfill does not use it (after power_down_force)

	reason, reasonBy, comment, extra string

	boot      time.Time // of its machine, as slurmd said last
	busy      time.Time // LastBusyTime; zero: unknown
	asked     time.Time // when it was last resumed
	suspended time.Time

	slurmd slurmd
}

// slurmd is the daemon on a node's machine.
type slurmd struct {
	up    bool
	heard bool // slurmctld has its registration
	boot  time.Time
	lost  time.Time // since when it does not answer
}

func (c *Cluster) makeNodes() {
	for i, name := range c.o.Nodes {
		n := &node{name: name, order: i, flags: slurm.PoweredDown, exempt: slices.Contains(c.o.SuspendExc, name)}
		c.nodes = append(c.nodes, n)
		c.byName[name] = n
	}
}

func (n *node) has(flags slurm.Flags) bool { return n.flags&flags == flags }

func (n *node) hasAny(flags slurm.Flags) bool { return n.flags&flags != 0 }

func (n *node) set(flags slurm.Flags) { n.flags |= flags }

func (n *node) clear(flags slurm.Flags) { n.flags &^= flags }

// powerStates are the flags of which a node has none that is up.
const powerStates = slurm.PoweredDown | slurm.PoweringUp | slurm.PoweringDown

// up reports whether the node has a machine, as far as slurmctld knows.
func (n *node) up() bool { return !n.hasAny(powerStates) }

// ready reports whether a job may begin to run on the node.
func (n *node) ready() bool { return n.up() && !n.down && !n.has(slurm.NotResponding) }

// state is what scontrol prints of it.
func (n *node) state() slurm.State {
	s := slurm.State{Base: slurm.Idle, Flags: n.flags | slurm.Cloud}
	switch {
	case n.down:
		s.Base = slurm.Down
	case n.full():
		s.Base = slurm.Allocated
	case len(n.jobs) > 0:
		s.Base = slurm.Mixed
	}
	if len(n.completing) > 0 {
		s.Flags |= slurm.Completing
	}
	if n.maintained {
		s.Flags |= slurm.Maintenance
	}
	if n.reserved {
		s.Flags |= slurm.Reserved
	}
	if n.planned() && s.Base == slurm.Idle {
		s.Flags |= slurm.Planned
	}
	return s
}

// full reports whether no other job fits beside those that the node has.
func (n *node) full() bool {
	return len(n.jobs) >= coresPerNode || slices.ContainsFunc(n.jobs, func(j *job) bool { return j.partition.Exclusive })
}

// why gives the node a reason that slurmctld thinks of itself.
func (c *Cluster) why(n *node, reason string) {
	if c.habits.addsReasons && n.reason != "" {
		reason = n.reason + " : " + reason
	}
	n.reason, n.reasonBy = reason, slurmUser
}

// clearReason forgets the reason of a node that is back in service.
func (c *Cluster) clearReason(n *node) {
	if c.habits.clearsReasons {
		n.reason = ""
	}
}

// slurmUser is whom slurmctld runs as, and the commands too.
const slurmUser = "root"

// Register is a slurmd that comes up on a machine that booted at boot. Jobs
// that were on the node before are lost. It tries until slurmctld hears it, and
// answers until Silence. slurmctld does not take a node as powered up whose
// machine booted before it was last asked for.
func (c *Cluster) Register(name string, boot time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.byName[name]; n != nil {
		n.slurmd = slurmd{up: true, boot: boot}
	}
}

// Silence is a machine that is gone, and its slurmd with it. slurmctld finds
// out only when it asks.
func (c *Cluster) Silence(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.byName[name]; n != nil && n.slurmd.up {
		n.slurmd = slurmd{lost: c.o.Now()}
	}
}

// reach hears the slurmds that have come up, and gives up those that are silent.
// Now and then it asks: a node that somebody has set down, and whose slurmd
// answers, is back then.
func (c *Cluster) reach(now time.Time) {
	asks := now.Sub(c.pinged) >= c.o.SlurmdTimeout/3
	if asks {
		c.pinged = now
	}
	for _, n := range c.nodes {
		if asks && n.down && n.up() {
			n.slurmd.heard = false
		}
		switch {
		case n.slurmd.up && !n.slurmd.heard:
			c.hear(n, now)
		case !n.slurmd.up && n.asks():
			c.miss(n, now)
		}
	}
}

// asks reports whether slurmctld asks now and then whether the node is there.
func (n *node) asks() bool {
	leaving := n.has(slurm.PowerDown) && len(n.jobs) == 0 && len(n.completing) == 0
	return n.up() && !n.down && !leaving && !n.slurmd.lost.IsZero()
}

// hear takes a registration.
func (c *Cluster) hear(n *node, now time.Time) {
	n.slurmd.heard = true
	c.loseJobs(n, now)
	n.boot = n.slurmd.boot
	switch {
	case n.has(slurm.PoweringDown):
		return
	case n.has(slurm.PoweringUp) && n.boot.Unix() < n.asked.Unix():
		return // "Still waiting for boot of node"
	}
	if !n.up() || n.down {
		n.busy = now
	}
	n.clear(slurm.PoweredDown | slurm.PoweringUp | slurm.PowerUp | slurm.NotResponding)
	n.hidden = false
	if n.down { // ReturnToService=2
		n.down = false
		if !n.has(slurm.Drain) {
			c.clearReason(n)
		}
	}
	c.stirred = true
}

// loseJobs ends what ran on the node before its machine booted.
func (c *Cluster) loseJobs(n *node, now time.Time) {
	c.complete(n)
	for _, j := range slices.Clone(n.jobs) {
		if j.state == slurm.JobRunning && j.start.Before(n.slurmd.boot) {
			c.loseNode(j, now)
		}
	}
}

// miss notes that a node does not answer. slurmctld asks three times in
// SlurmdTimeout, and waits for an answer each time.
func (c *Cluster) miss(n *node, now time.Time) {
	silent := now.Sub(n.slurmd.lost)
	noticed := c.o.SlurmdTimeout/3 + messageTimeout
	if silent < noticed {
		return
	}
	n.set(slurm.NotResponding)
	if silent >= noticed+c.o.SlurmdTimeout {
		n.down = true
		c.why(n, "Not responding")
		c.fail(n, now)
	}
}

// fail takes the node from all its jobs.
func (c *Cluster) fail(n *node, now time.Time) {
	c.complete(n)
	for _, j := range slices.Clone(n.jobs) {
		c.loseNode(j, now)
	}
}

// complete lets go of the jobs that have ended on the node.
func (c *Cluster) complete(n *node) {
	for _, j := range n.completing {
		j.unconfirmed--
		c.retire(j)
	}
	n.completing = nil
	c.stirred = true
}
