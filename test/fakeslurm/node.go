package fakeslurm

import (
	"slices"
	"time"

	"slurmflex/slurm"
)

const (
	// coresPerNode is the number of jobs that fit on a node of a shared partition.
	coresPerNode = 2

	memoryPerNode = 1_800_000 // MiB

	// messageTimeout is how long slurmctld waits for a slurmd's answer.
	messageTimeout = 10 * time.Second
)

// node is a node as slurmctld sees it.
type node struct {
	name          string
	order         int // position in the cluster
	features      []string
	leaf          string // its switch
	gres          string
	partitions    []string
	exempt        bool // listed in SuspendExcNodes
	resumeTimeout time.Duration
	suspendTime   time.Duration // 0: never

	down         bool
	flags        slurm.Flags    // except flags derived from other fields
	jobs         []*job         // jobs allocated on the node
	completing   []*job         // ended jobs that the node has not confirmed
	reservations []*reservation // reservations that include the node
	reserved     bool           // a reservation is active
	maintained   bool           // a maintenance reservation is active
	frozen       bool           // changes are refused
	plan         span           // time planned for a later job; zero: none
	hidden       bool           // backfill does not use it (after power_down_force)

	reason, reasonBy, comment, extra string

	boot      time.Time // machine's boot time according to slurmd
	busy      time.Time // LastBusyTime; zero: unknown
	asked     time.Time // last resume request
	suspended time.Time

	slurmd slurmd
}

// slurmd is the daemon on a node's machine.
type slurmd struct {
	up    bool
	heard bool // slurmctld has the registration
	boot  time.Time
	lost  time.Time // since when slurmd does not answer
}

func (c *Cluster) makeNodes() {
	for i, name := range c.o.Nodes {
		n := &node{name: name, order: i, features: c.o.Features[name], leaf: c.o.Switches[name], gres: c.o.Gres[name], flags: slurm.PoweredDown, exempt: slices.Contains(c.o.SuspendExc, name)}
		c.nodes = append(c.nodes, n)
		c.byName[name] = n
	}
}

func (n *node) has(flags slurm.Flags) bool { return n.flags&flags == flags }

func (n *node) hasAny(flags slurm.Flags) bool { return n.flags&flags != 0 }

func (n *node) set(flags slurm.Flags) { n.flags |= flags }

func (n *node) clear(flags slurm.Flags) { n.flags &^= flags }

// powerStates are the flags of nodes without a running machine.
const powerStates = slurm.PoweredDown | slurm.PoweringUp | slurm.PoweringDown

// up reports whether slurmctld believes that the node's machine is running.
func (n *node) up() bool { return !n.hasAny(powerStates) }

// ready reports whether a job may start on the node.
func (n *node) ready() bool { return n.up() && !n.down && !n.has(slurm.NotResponding) }

// state returns the state that scontrol prints.
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

// full reports whether the node cannot take another job.
func (n *node) full() bool {
	return len(n.jobs) >= coresPerNode || slices.ContainsFunc(n.jobs, func(j *job) bool { return j.partition.Exclusive })
}

// why sets a reason on behalf of slurmctld.
func (c *Cluster) why(n *node, reason string) {
	if c.habits.addsReasons && n.reason != "" {
		reason = n.reason + " : " + reason
	}
	n.reason, n.reasonBy = reason, slurmUser
}

// clearReason clears the reason of a node that has returned to service.
func (c *Cluster) clearReason(n *node) {
	if c.habits.clearsReasons {
		n.reason = ""
	}
}

// slurmUser is the user of slurmctld and of all commands.
const slurmUser = "root"

// Register starts a slurmd on a machine that booted at boot. Jobs that ran on the node before
// that boot are lost. slurmd retries until slurmctld accepts the registration, and answers
// until Silence. slurmctld does not consider the node powered up if its machine booted before
// the latest resume request.
func (c *Cluster) Register(name string, boot time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.byName[name]; n != nil {
		n.slurmd = slurmd{up: true, boot: boot}
	}
}

// Silence removes a machine and its slurmd. slurmctld notices only at its next ping.
func (c *Cluster) Silence(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.byName[name]; n != nil && n.slurmd.up {
		n.slurmd = slurmd{lost: time.Now()}
	}
}

// reach accepts registrations of new slurmds and notes silent ones. At each ping, it returns a
// node that was set DOWN to service if its slurmd answers.
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

// asks reports whether slurmctld pings the node.
func (n *node) asks() bool {
	leaving := n.has(slurm.PowerDown) && len(n.jobs) == 0 && len(n.completing) == 0
	return n.up() && !n.down && !leaving && !n.slurmd.lost.IsZero()
}

// hear accepts a registration.
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

// loseJobs ends jobs that started before the node's machine booted.
func (c *Cluster) loseJobs(n *node, now time.Time) {
	c.complete(n)
	for _, j := range slices.Clone(n.jobs) {
		if j.state == slurm.JobRunning && j.start.Before(n.slurmd.boot) {
			c.loseNode(j, now)
		}
	}
}

// miss notes that a node does not answer. slurmctld pings three times per SlurmdTimeout and
// waits for each answer.
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

// fail removes all jobs from the node.
func (c *Cluster) fail(n *node, now time.Time) {
	c.complete(n)
	for _, j := range slices.Clone(n.jobs) {
		c.loseNode(j, now)
	}
}

// complete releases the ended jobs that the node has not confirmed.
func (c *Cluster) complete(n *node) {
	for _, j := range n.completing {
		j.unconfirmed--
		c.retire(j)
	}
	n.completing = nil
	c.stirred = true
}
