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
	// batchPeriod is how often slurmctld starts jobs whose nodes have come up,
	// and stops those whose time is over; it is compiled in.
	batchPeriod = 30 * time.Second

	// requeueDelay is how long a requeued job waits: AuthInfo's cred_expire and
	// a second.
	requeueDelay = 121 * time.Second

	// minJobAge is how long slurmctld remembers a job that has ended.
	minJobAge = 300 * time.Second

	// firstPriority is above that of the first job where priorities descend, and
	// samePriority that of all jobs where they do not.
	firstPriority = 4294901760
	samePriority  = 1

	// year is what slurmctld makes of a time that is unlimited.
	year = 365 * 24 * time.Hour
)

// The reasons that jobs have to wait.
const (
	reasonNone        = "None"
	reasonHeld        = "JobHeldAdmin"
	reasonRequeued    = "job requeued in held state"
	reasonBegin       = "BeginTime"
	reasonReservation = "Reservation"
	reasonConstraints = "BadConstraints"
	reasonPriority    = "Priority"
	reasonResources   = "Resources"
	reasonTooMany     = "PartitionNodeLimit"
	reasonReserved    = "ReqNodeNotAvail, May be reserved for other job"
	reasonMaintenance = "ReqNodeNotAvail, Reserved for maintenance"
	reasonNodeDown    = "NodeDown"
	reasonOutOfNodes  = "ReqNodeNotAvail, UnavailableNodes:"
)

// JobSpec is what sbatch, salloc or srun is asked for.
type JobSpec struct {
	Partition    string        // or several, joined by commas
	Nodes        int           // how many; 0: as many as NodeList, at least one
	NodeList     []string      // -w: these are among them
	Exclude      []string      // --exclude: these are not
	Licenses     int           // -L: of the one kind that there is
	Limit        time.Duration // rounded up to minutes; 0: the partition's MaxTime
	Run          time.Duration // how long the job runs if nothing stops it
	Begin        time.Time     // --begin; zero: at once
	Priority     uint64        // 0: the release's usual one
	Tasks        int           // of an array, 0 to Tasks-1; 0: no array
	Interactive  bool          // from salloc or srun
	NoRequeue    bool
	User         string // empty: root
	AdminComment string // --admin-comment, which operators may give
	Comment      string
	Deadline     time.Time     // --deadline; zero: none
	MinTime      time.Duration // --time-min; 0: none
}

// job is a job as slurmctld knows it, or the tasks of an array that have not
// been told apart yet.
type job struct {
	id, arrayID uint32 // arrayID is 0 for no array
	tasks       []int  // of an array: one, or all that are not told apart yet
	het         []*job // the components of the heterogeneous job that it belongs to; nil: to none
	spec        JobSpec
	partitions  []*partition // that it may choose from; one while it has nodes shows only that
	partition   *partition   // in which it has nodes, or else the first
	count       int          // of nodes that it wants
	named       []*node      // that must be among them
	excluded    []*node      // that must not be
	reservation *reservation // that it uses; nil: none
	used        time.Time    // when it was told to, or not to

	state        slurm.JobState
	nodes        []*node // allocated now, or before it ended
	limit        slurm.Limit
	priority     uint64 // 0: held
	reason       string
	begin        time.Time // before which it does not start
	start        time.Time // see slurm.Job
	ended        time.Time
	restarts     int
	unconfirmed  int // nodes that have not confirmed its end
	adminComment string
	notices      []string
}

// tooLate reports whether the job cannot end by its deadline if it starts now. slurmctld
// looks at this only while the job may start, so not while its nodes power up.
func (j *job) tooLate(now time.Time) bool {
	return !j.spec.Deadline.IsZero() && now.Add(cmp.Or(j.spec.MinTime, j.limit.Duration)).After(j.spec.Deadline)
}

// Submit queues a job and gives its id: that of the array for an array.
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

// placed is a new job for which there is a place.
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

// queueUp gives a job its id and its place in the queue.
func (c *Cluster) queueUp(j *job) {
	spec := j.spec
	c.lastID++
	j.id = c.lastID
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

// place finds out where a job is to run.
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
	return nil
}

// unavailable refuses a job that could never run, which uses up its id and its
// place in the queue.
func (c *Cluster) unavailable() error {
	c.lastID++
	c.usualPriority()
	return refuse("sbatch", "Requested node configuration is not available", nil)
}

// usualPriority is the priority of a job that did not ask for one.
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

// over reports whether the job has ended, and its nodes have confirmed it or not.
func (j *job) over() bool { return !j.ended.IsZero() }

// active reports whether the job has nodes.
func (j *job) active() bool { return j.state == slurm.JobConfiguring || j.state == slurm.JobRunning }

// shown is the state as squeue shows it.
func (j *job) shown() slurm.JobState {
	if j.unconfirmed > 0 {
		return slurm.JobCompleting
	}
	return j.state
}

// held reports whether the job is not to be started.
func (j *job) held() bool { return j.priority == 0 }

// until is when a job that starts at a time has to be done.
func (j *job) until(start time.Time) time.Time {
	if j.limit.Kind != slurm.LimitSet {
		return start.Add(year)
	}
	return start.Add(j.limit.Duration)
}

// JobState is a job's state, also of one that slurmctld has forgotten; "" if
// there never was one. It is no command: it works also while slurmctld is down.
func (c *Cluster) JobState(id uint32) slurm.JobState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return j.shown()
	}
	return ""
}

// JobLimit is a job's time limit, also of one that slurmctld has forgotten; the zero
// Limit if there never was one. It is no command: it works also while slurmctld is down.
func (c *Cluster) JobLimit(id uint32) slurm.Limit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return j.limit
	}
	return slurm.Limit{}
}

// JobReservation is the name of the reservation that a job uses; "" for none. It is no
// command: it works also while slurmctld is down.
func (c *Cluster) JobReservation(id uint32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil && j.reservation != nil {
		return j.reservation.name
	}
	return ""
}

// AdminComment is the job's; empty if there is no such job.
func (c *Cluster) AdminComment(id uint32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return j.adminComment
	}
	return ""
}

// Submitted is a job as it was submitted; zero if there is none, or slurmctld has forgotten
// it. It is no command: it works also while slurmctld is down.
func (c *Cluster) Submitted(id uint32) JobSpec {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return j.spec
	}
	return JobSpec{}
}

// Notices is what was printed on the terminal of an interactive job's owner.
func (c *Cluster) Notices(id uint32) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return slices.Clone(j.notices)
	}
	return nil
}
