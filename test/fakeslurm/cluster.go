// Package fakeslurm is a model of slurmctld and its power saving in one
// process, for tests at scale and in a bubble's time: nodes, jobs,
// reservations, and what scontrol, squeue, sbatch and slurmd do to them.
//
// It is the Slurm of trials, not of the manual: what it does was seen on real
// ones of many releases, and an end-to-end test runs the same commands on the
// model and on a real slurmctld. It is deterministic: the same calls at the same times have
// the same answers.
package fakeslurm

import (
	"cmp"
	"context"
	"sync"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// Options says what the cluster is like. At the start all its nodes are
// State=CLOUD and powered down. It has ReturnToService=2, ResumeRate=0,
// SuspendRate=0 and idle_on_node_suspend; nodes have two cores.
type Options struct {
	Version    string   // the release whose habits it has, such as 22.05 or 26.05.5; empty: 24.11.5
	Accounting bool     // it has a slurmdbd
	Nodes      []string // the names of all nodes
	// Partitions is where jobs are placed, on those of its nodes that the
	// cluster has. A MaxTime that is not set is none.
	Partitions []slurm.Partition

	ResumeTimeout  time.Duration // at most 65,533 s, as before 25.05; 0: 60 s
	SuspendTimeout time.Duration // 0: 30 s
	SuspendTime    time.Duration // 0: nodes are never powered down for being idle
	SuspendExc     []string      // nodes that are never powered down for being idle
	SlurmdTimeout  time.Duration // 0: 300 s
	Backfill       time.Duration // how often backfill looks (bf_interval); 0: whenever the main scheduler does
	Licenses       int           // that jobs may have at once
	Limits         []UserLimit
	PrivateCloud   bool // PrivateData=cloud: powered-down nodes are shown by every release

	// Now is the clock; nil is time.Now, a bubble's in testing/synctest.
	Now func() time.Time

	// The programs. Step calls them, one after the other, without the model's
	// lock; nil is a program that does nothing. The jobs are those of the resume
	// file.
	Resume              func(nodes []string, jobs []uint32)
	Suspend, ResumeFail func(nodes []string)
}

// What slurm.conf has where Options does not say.
const (
	defaultResumeTimeout  = 60 * time.Second
	longestResumeTimeout  = 65533 * time.Second
	defaultSuspendTimeout = 30 * time.Second
	defaultSlurmdTimeout  = 300 * time.Second
)

// Cluster is a model of a Slurm cluster. It satisfies flex.Scheduler, and does
// what a slurm/scontrol client does over a real slurmctld. It is safe for
// concurrent use. Time passes in it by Step only.
type Cluster struct {
	o      Options
	habits habits

	mu           sync.Mutex
	down         error // why slurmctld does not answer; nil: it does
	nodes        []*node
	byName       map[string]*node
	partitions   []*partition
	queue        []*job          // not yet ended, or ended on nodes that do not answer, by id
	jobs         map[uint32]*job // all that there ever were
	reservations []*reservation
	lastID       uint32
	lastPriority uint64
	powered      time.Time // when power saving last looked
	pinged       time.Time // when slurmds were last asked whether they are there
	period       time.Time // when waiting jobs are next started, and late ones stopped
	backfill     time.Time // when backfill next looks
	opened       time.Time // when it was last looked which reservations have begun
	stirred      bool      // something has changed that may let a job start
	nextBegin    time.Time // when a pending job's begin time comes; zero: never
	calls        []func()  // programs to be called when the lock is free
}

// New sets a cluster up.
func New(o Options) *Cluster {
	o.ResumeTimeout = min(cmp.Or(o.ResumeTimeout, defaultResumeTimeout), longestResumeTimeout)
	o.SuspendTimeout = cmp.Or(o.SuspendTimeout, defaultSuspendTimeout)
	o.SlurmdTimeout = cmp.Or(o.SlurmdTimeout, defaultSlurmdTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cluster{
		o: o, habits: habitsOf(o.version(), o.Accounting),
		byName: make(map[string]*node, len(o.Nodes)), jobs: map[uint32]*job{},
		lastPriority: firstPriority, period: o.Now().Add(batchPeriod), pinged: o.Now(),
	}
	c.makeNodes()
	for _, p := range o.Partitions {
		c.addPartition(p)
	}
	for _, n := range c.nodes {
		n.resumeTimeout = cmp.Or(n.resumeTimeout, o.ResumeTimeout)
		n.suspendTime = cmp.Or(n.suspendTime, o.SuspendTime)
	}
	return c
}

// Step does all that slurmctld would have to do now, and then calls the
// programs. It is meant to be called about once a second: what follows from
// something in it follows in the next one.
func (c *Cluster) Step() {
	for _, call := range c.step() {
		call()
	}
}

func (c *Cluster) step() (calls []func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil
	}
	now := c.o.Now()
	c.power(now)
	c.reach(now)
	c.endJobs(now)
	if !now.Before(c.period) {
		c.period = now.Add(batchPeriod)
		c.startConfigured(now)
		c.stopLate(now)
		c.purge(now)
	}
	c.reserve(now)
	c.schedule(now)
	calls, c.calls = c.calls, nil
	return calls
}

// Down has slurmctld gone: every command fails with err (nil: that it does not
// answer), and nothing happens in a Step, until Up or Restart.
func (c *Cluster) Down(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = cmp.Or(err, scontrol.ErrNoController)
}

// Up ends Down: slurmctld goes on where it was.
func (c *Cluster) Up() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = nil
}

// Restart is a slurmctld that ends, if it had not, and starts again with what it
// saved. It calls no program for nodes that are powering up or down already,
// and ResumeTimeout goes on from where it was.
func (c *Cluster) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = nil
	now := c.o.Now()
	c.period = now.Add(batchPeriod)
	c.stirred = true
	for _, r := range c.reservations {
		r.idle = now
	}
	for _, n := range c.nodes {
		n.hidden = false
	}
	if !c.habits.busyOnRestart {
		return
	}
	for _, n := range c.nodes {
		if !n.has(slurm.PoweredDown) {
			n.busy = now
		}
	}
}

// LoseState is a slurmctld that ends, if it had not, and starts again with an
// empty StateSaveLocation: it knows of no job and no reservation, takes every node
// for powered down, and gives ids from 1 on. What runs on machines it does not
// hear of.
func (c *Cluster) LoseState() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down, c.queue, c.jobs, c.reservations, c.lastID, c.lastPriority = nil, nil, map[uint32]*job{}, nil, 0, firstPriority
	for _, n := range c.nodes {
		*n = node{
			name: n.name, order: n.order, partitions: n.partitions, exempt: n.exempt, resumeTimeout: n.resumeTimeout,
			suspendTime: n.suspendTime, flags: slurm.PoweredDown, slurmd: n.slurmd,
		}
		n.slurmd.heard = true
	}
	c.period, c.stirred = c.o.Now().Add(batchPeriod), true
}

// ask begins a command: it takes the lock, unless ctx has ended or slurmctld
// does not answer. The caller gives the lock back.
func (c *Cluster) ask(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	if c.down != nil {
		defer c.mu.Unlock()
		return c.down
	}
	return nil
}
