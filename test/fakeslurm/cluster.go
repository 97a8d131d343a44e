// Package fakeslurm is a model of slurmctld and its power saving in one process. It lets tests
// run at scale and in the time of a testing/synctest bubble. It models nodes, jobs and
// reservations, and how scontrol, squeue, sbatch and slurmd act on them.
//
// The model follows trials, not the manual: its behaviour was observed on many releases of
// Slurm, and an end-to-end test runs the same commands on the model and on a real slurmctld.
// The model is deterministic: the same calls at the same times get the same answers.
package fakeslurm

import (
	"cmp"
	"context"
	"sync"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// Options describes the cluster. All nodes are State=CLOUD and initially powered down. The
// cluster has ReturnToService=2, ResumeRate=0, SuspendRate=0 and idle_on_node_suspend
// and PrivateData=cloud; each node has two cores.
type Options struct {
	Version    string              // Slurm release to imitate, such as 22.05 or 26.05.5; empty: 24.11.5
	Accounting bool                // slurmdbd is configured
	Nodes      []string            // names of all nodes
	Features   map[string][]string // of nodes
	Switches   map[string]string   // the switch of each node; only with topology/tree
	Gres       map[string]string   // of nodes, such as gpu:h100:8
	// Partitions lists the partitions. Each uses those of its nodes that the cluster has. An
	// unset MaxTime means no limit.
	Partitions []slurm.Partition

	ResumeTimeout  time.Duration // at most 65,533 s, as before 25.05; 0: 60 s
	SuspendTimeout time.Duration // 0: 30 s
	SuspendTime    time.Duration // 0: idle nodes are never powered down
	SuspendExc     []string      // nodes that are never powered down for being idle
	SlurmdTimeout  time.Duration // 0: 300 s
	Backfill       time.Duration // interval of backfill (bf_interval); 0: backfill runs with the main scheduler

	// Slurm's programs. Step calls them one at a time, without holding the model's lock; nil
	// does nothing. jobs holds the jobs of the resume file.
	Resume              func(nodes []string, jobs []uint32)
	Suspend, ResumeFail func(nodes []string)
}

// Settings of slurm.conf that Options does not cover.
const (
	defaultResumeTimeout  = 60 * time.Second
	longestResumeTimeout  = 65533 * time.Second
	defaultSuspendTimeout = 30 * time.Second
	defaultSlurmdTimeout  = 300 * time.Second
)

// Cluster is a model of a Slurm cluster. It implements flex.Scheduler and behaves as a
// slurm/scontrol client with a real slurmctld does. It is safe for concurrent use. Only Step
// makes time pass in the model.
type Cluster struct {
	o      Options
	habits habits

	mu           sync.Mutex
	down         error // returned while slurmctld does not answer; nil: it answers
	nodes        []*node
	byName       map[string]*node
	partitions   []*partition
	queue        []*job          // jobs not yet ended, and jobs ended on nodes that have not confirmed it; by ID
	jobs         map[uint32]*job // all jobs ever submitted
	reservations []*reservation
	lastID       uint32
	lastPriority uint64
	powered      time.Time // last pass of power saving
	pinged       time.Time // last ping of the slurmds
	period       time.Time // next start of waiting jobs and stop of late jobs
	backfill     time.Time // next pass of backfill
	opened       time.Time // last check for reservations that have started
	stirred      bool      // a change may let a job start
	nextBegin    time.Time // next begin time of a pending job; zero: none
	calls        []func()  // program calls to make without the lock
}

// New returns a cluster as described by o.
func New(o Options) *Cluster {
	o.ResumeTimeout = min(cmp.Or(o.ResumeTimeout, defaultResumeTimeout), longestResumeTimeout)
	o.SuspendTimeout = cmp.Or(o.SuspendTimeout, defaultSuspendTimeout)
	o.SlurmdTimeout = cmp.Or(o.SlurmdTimeout, defaultSlurmdTimeout)
	c := &Cluster{
		o: o, habits: habitsOf(o.version(), o.Accounting),
		byName: make(map[string]*node, len(o.Nodes)), jobs: map[uint32]*job{},
		lastPriority: firstPriority, period: time.Now().Add(batchPeriod), pinged: time.Now(),
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

// Step does everything that slurmctld would do now, and then calls the programs. Tests call it
// about once a second. Consequences of one step take effect in the next.
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
	now := time.Now()
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

// Down makes slurmctld unavailable until Up or Restart: every command fails with err (nil: no
// answer), and Step does nothing.
func (c *Cluster) Down(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = cmp.Or(err, scontrol.ErrNoController)
}

// Up ends Down. slurmctld continues from where it was.
func (c *Cluster) Up() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = nil
}

// Restart ends slurmctld, if it is still running, and starts it again from its saved state. It
// calls no program for nodes that are already powering up or down, and their ResumeTimeout
// continues to run.
func (c *Cluster) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = nil
	now := time.Now()
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

// LoseState ends slurmctld, if it is still running, and starts it again with an empty
// StateSaveLocation. Afterwards slurmctld knows no job and no reservation, considers every
// node powered down, and numbers jobs from 1. It does not learn about processes that still run
// on machines.
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
	c.period, c.stirred = time.Now().Add(batchPeriod), true
}

// ask starts a command: it takes the lock, or returns an error if ctx has ended or slurmctld
// does not answer. The caller must release the lock.
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
