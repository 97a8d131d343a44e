package fakeslurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/slurm"
)

const (
	// batchPeriod is how often slurmctld starts jobs when all their nodes are up, and stops
	// jobs at their time limit. It is a compile-time constant of Slurm.
	batchPeriod = 30 * time.Second

	// requeueDelay is how long a requeued job waits: cred_expire of AuthInfo plus one second.
	requeueDelay = 121 * time.Second

	// minJobAge is how long slurmctld remembers an ended job.
	minJobAge = 300 * time.Second

	// firstPriority is one above the first job's priority where priorities descend.
	// samePriority is every job's priority where they do not.
	firstPriority = 4294901760
	samePriority  = 1

	// year is slurmctld's value for an unlimited time.
	year = 365 * 24 * time.Hour
)

// Reasons of pending jobs.
const (
	reasonNone        = "None"
	reasonHeld        = "JobHeldAdmin"
	reasonRequeued    = "job requeued in held state"
	reasonBegin       = "BeginTime"
	reasonDependency  = "Dependency"
	reasonReservation = "Reservation"
	reasonConstraints = "BadConstraints"
	reasonPriority    = "Priority"
	reasonThrottle    = "JobArrayTaskLimit"
	reasonResources   = "Resources"
	reasonTooMany     = "PartitionNodeLimit"
	reasonReserved    = "ReqNodeNotAvail, May be reserved for other job"
	reasonMaintenance = "ReqNodeNotAvail, Reserved for maintenance"
	reasonNodeDown    = "NodeDown"
	reasonClosed      = "PartitionDown"
	reasonOutOfNodes  = "ReqNodeNotAvail, UnavailableNodes:"
)

// JobSpec holds the options of sbatch, salloc or srun.
type JobSpec struct {
	ID           uint32        // --jobid; 0: the next one
	Partition    string        // may list several, separated by commas
	Nodes        int           // number of nodes; 0: the length of NodeList, at least one
	NodeList     []string      // -w: nodes that the job must get
	Exclude      []string      // --exclude: nodes that the job must not get
	Features     string        // --constraint: a feature, or alternatives
	Gres         string        // --gres: of each node, with a type, such as gpu:h100:4
	OneSwitch    bool          // --switches=1, for as long as it takes
	After        uint32        // --dependency=afterany; 0: none
	Limit        time.Duration // rounded up to minutes; 0: the partition's MaxTime
	Run          time.Duration // how long the job runs unless it is stopped
	Begin        time.Time     // --begin; zero: at once
	Priority     uint64        // 0: the release's default
	Tasks        int           // array tasks 0 to Tasks-1; 0: not an array
	Throttle     int           // how many of the tasks may run at once; 0: any number
	Interactive  bool          // submitted with salloc or srun
	NoRequeue    bool
	User         string // empty: root
	AdminComment string // --admin-comment, which operators may set
}

// job is a job in slurmctld's memory. It may stand for several array tasks that are not yet
// separate jobs.
type job struct {
	id, arrayID uint32 // arrayID is 0 for a job without an array
	tasks       []int  // of an array: one, or all that are not yet separate jobs
	het         []*job // components of its heterogeneous job; nil: none
	spec        JobSpec
	partitions  []*partition // possible partitions; squeue shows only one of them while the job has nodes
	partition   *partition   // the partition of its nodes, or the first one
	count       int          // number of nodes required
	named       []*node      // nodes that it must get
	excluded    []*node      // nodes that it must not get
	reservation *reservation // reservation that it uses; nil: none

	state        slurm.JobState
	nodes        []*node // allocated now, or before the job ended
	limit        slurm.Limit
	priority     uint64 // 0: held
	reason       string
	begin        time.Time // earliest start
	start        time.Time // see slurm.Job
	planned      []*node   // where backfill has planned to start it
	ended        time.Time
	unconfirmed  int // nodes that have not confirmed the job's end
	adminComment string
}

// Submit queues a job and returns its ID. For an array, it returns the array's ID.
func (c *Cluster) Submit(spec JobSpec) (id uint32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return 0, fmt.Errorf("sbatch: %w", c.down)
	}
	j, err := c.placed(spec)
	if err != nil {
		return 0, err
	}
	c.queueUp(j)
	return j.id, nil
}

// placed returns a new job. It fails if no partition can run the job.
func (c *Cluster) placed(spec JobSpec) (*job, error) {
	partitions := c.partitionsOf(strings.Split(spec.Partition, ","))
	j := &job{
		spec: spec, partitions: partitions, state: slurm.JobPending, reason: reasonNone,
		begin: spec.Begin, priority: spec.Priority, adminComment: spec.AdminComment,
	}
	if partitions != nil {
		j.partition = partitions[0]
	}
	return j, c.place(j)
}

// queueUp assigns an ID to a job and adds the job to the queue.
func (c *Cluster) queueUp(j *job) {
	spec := j.spec
	c.lastID++
	j.id = cmp.Or(spec.ID, c.lastID)
	c.lastID = max(c.lastID, j.id)
	j.limit = j.partition.limit(spec.Limit)
	for task := range spec.Tasks {
		j.arrayID = j.id
		j.tasks = append(j.tasks, task)
	}
	if j.priority == 0 {
		j.priority = c.usualPriority()
	}
	c.add(j)
}

// place determines the partition and nodes of a job.
func (c *Cluster) place(j *job) error {
	if j.partition == nil {
		return refuse("sbatch", "Invalid partition name specified", nil)
	}
	for _, name := range j.spec.NodeList {
		n := c.byName[name]
		if n == nil {
			return refuse("sbatch", "Invalid node name specified", nil)
		}
		if !slices.Contains(j.partition.nodes, n) {
			return c.unavailable()
		}
		if !slices.Contains(j.named, n) {
			j.named = append(j.named, n)
		}
	}
	j.excluded, _ = c.known(j.spec.Exclude)
	j.count = max(1, j.spec.Nodes, len(j.named))
	if c.habits.refusesTooWide && j.count > len(j.partition.nodes) {
		return c.unavailable()
	}
	if (j.spec.Features != "" || j.spec.Gres != "" || j.spec.OneSwitch) && j.isHopeless() {
		return c.unavailable()
	}
	return nil
}

// unavailable refuses a job that can never run. Like Slurm, it still uses up a job ID and a
// priority.
func (c *Cluster) unavailable() error {
	c.lastID++
	c.usualPriority()
	return refuse("sbatch", "Requested node configuration is not available", nil)
}

// usualPriority returns the priority of a job that did not request one.
func (c *Cluster) usualPriority() uint64 {
	if !c.habits.descendingPriority {
		return samePriority
	}
	c.lastPriority--
	return c.lastPriority
}

func (c *Cluster) add(j *job) {
	c.jobs[j.id] = j
	c.queue = append(c.queue, j)
	c.stirred = true
}

// over reports whether the job has ended, even if its nodes have not confirmed that.
func (j *job) over() bool { return !j.ended.IsZero() }

// active reports whether the job has nodes.
func (j *job) active() bool { return j.state == slurm.JobConfiguring || j.state == slurm.JobRunning }

// shown returns the state that squeue shows.
func (j *job) shown() slurm.JobState {
	if j.unconfirmed > 0 {
		return slurm.JobCompleting
	}
	return j.state
}

// held reports whether the job is held.
func (j *job) held() bool { return j.priority == 0 }

// until returns when a job that starts at the given time must end.
func (j *job) until(start time.Time) time.Time {
	if j.limit.Kind != slurm.LimitSet {
		return start.Add(year)
	}
	return start.Add(j.limit.Duration)
}

// JobState returns a job's state, even if slurmctld has forgotten the job; "" means that the
// job never existed. It is not a command, so it works while slurmctld is down.
func (c *Cluster) JobState(id uint32) slurm.JobState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return j.shown()
	}
	return ""
}

// Truth is what a job is, whatever slurmctld answers.
type Truth struct {
	Spec         JobSpec
	Limit        slurm.Limit
	Reservation  string // empty: none
	AdminComment string
}

// Truth returns the truth about a job, or the zero Truth if slurmctld has never known it. Like JobState, it
// works while slurmctld is down.
func (c *Cluster) Truth(id uint32) (t Truth) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		t = Truth{Spec: j.spec, Limit: j.limit, AdminComment: j.adminComment}
		if j.reservation != nil {
			t.Reservation = j.reservation.name
		}
	}
	return t
}

// ReservationsOver returns the names of all reservations over any of the nodes, sorted. Like JobState, it
// works while slurmctld is down.
func (c *Cluster) ReservationsOver(nodes []string) (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.reservations {
		if slices.ContainsFunc(names(r.nodes), func(n string) bool { return slices.Contains(nodes, n) }) {
			all = append(all, r.name)
		}
	}
	slices.Sort(all)
	return all
}
