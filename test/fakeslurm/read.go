package fakeslurm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// Nodes lists the nodes.
func (c *Cluster) Nodes(ctx context.Context) ([]slurm.Node, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	list := make([]slurm.Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		shown := slurm.Node{
			Name: n.name, Addr: n.name, State: n.state(), Partitions: n.partitions, Comment: n.comment, Extra: n.extra,
			BootTime: n.boot, LastBusyTime: n.busy.Truncate(time.Second), CPUs: coresPerNode, Memory: memoryPerNode,
			Features: n.features, Gres: n.gres,
		}
		if n.reason != "" {
			shown.Reason, shown.ReasonBy = n.reason, n.reasonBy
		}
		list = append(list, shown)
	}
	return list, nil
}

// Jobs returns the jobs that squeue shows, sorted by ID: unfinished jobs, and ended jobs that
// some node has not confirmed.
func (c *Cluster) Jobs(ctx context.Context) ([]slurm.Job, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	list := make([]slurm.Job, 0, len(c.queue))
	now := time.Now()
	for _, j := range c.queue {
		if c.shownWith(j) == nil {
			list = append(list, c.row(j, now))
		}
	}
	return list, nil
}

// Allowances returns no limits, but the switches of pending jobs: Slurm shows limits only as the reasons
// of the jobs that they hold back.
func (c *Cluster) Allowances(ctx context.Context, _ []string) (slurm.Allowances, error) {
	if err := c.ask(ctx); err != nil {
		return slurm.Allowances{}, err
	}
	defer c.mu.Unlock()
	a := slurm.Allowances{Charges: map[uint32]slurm.Charge{}}
	for _, j := range c.queue {
		if j.spec.OneSwitch && j.state == slurm.JobPending {
			a.Charges[j.id] = slurm.Charge{ByPosition: true}
		}
	}
	return a, nil
}

// TaskJobs lists array tasks, each in its own row.
func (c *Cluster) TaskJobs(ctx context.Context, addresses []string) ([]slurm.Job, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	var list []slurm.Job
	now := time.Now()
	for _, j := range c.queue {
		for _, task := range j.tasks {
			if j.arrayID == 0 || !slices.Contains(addresses, fmt.Sprintf("%d_%d", j.arrayID, task)) {
				continue
			}
			row := c.row(j, now)
			row.ArrayTask, row.Reason = strconv.Itoa(task), j.reason
			list = append(list, row)
		}
	}
	return list, nil
}

// ArrayThrottle returns how many tasks of an array may run at once.
func (c *Cluster) ArrayThrottle(ctx context.Context, array uint32, task int) (int, error) {
	if err := c.ask(ctx); err != nil {
		return 0, err
	}
	defer c.mu.Unlock()
	for _, j := range c.queue {
		if j.arrayID == array && slices.Contains(j.tasks, task) {
			return j.spec.Throttle, nil
		}
	}
	return 0, refuse(fmt.Sprintf("scontrol show job %d_%d", array, task), "Invalid job id specified", scontrol.ErrUnknownJob)
}

// row returns a job's row.
func (c *Cluster) row(j *job, now time.Time) slurm.Job {
	shown := slurm.Job{
		ID: j.id, ArrayID: j.id, ArrayTask: c.taskText(j), Limit: j.limit, State: j.shown(), Nodes: names(j.nodes),
		Start: j.startShown(now), Priority: j.priority, Reason: c.reasonShown(j), User: j.user(), Partition: j.partitionShown(),
		NodeCount: cmp.Or(len(j.nodes), j.count),
		CPUs:      j.count, NodeCPUs: 1, Memory: "0",
		Needs: names(j.named), Excludes: names(j.excluded), Features: j.spec.Features,
	}
	if j.state == slurm.JobPending {
		shown.Planned = names(j.planned)
	}
	if j.spec.Gres != "" {
		shown.Gres = "gres/" + j.spec.Gres
	}
	if j.reservation != nil {
		shown.Reservation = j.reservation.name
	}
	if j.arrayID != 0 {
		shown.ArrayID = j.arrayID
	}
	if j.het != nil {
		shown.HetID, shown.HetOffset = j.hetID(), j.id-j.hetID()
	}
	return shown
}

// partitionShown returns the partition of the job's nodes, or all partitions that the job may
// use.
func (j *job) partitionShown() string {
	if j.state != slurm.JobPending {
		return j.partition.Name
	}
	var list []string
	for _, p := range j.partitions {
		list = append(list, p.Name)
	}
	return strings.Join(list, ",")
}

// startShown returns a job's start as squeue shows it.
func (j *job) startShown(now time.Time) time.Time {
	if j.state == slurm.JobPending && j.begin.After(now) {
		return j.begin.Truncate(time.Second)
	}
	return j.start.Truncate(time.Second)
}

func (j *job) user() string {
	if j.spec.User == "" {
		return slurmUser
	}
	return j.spec.User
}

// JobRecords returns those of the named jobs that slurmctld still knows, sorted by ID.
func (c *Cluster) JobRecords(ctx context.Context, ids []uint32) ([]slurm.JobRecord, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	var list []slurm.JobRecord
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		j := c.find(id)
		if j == nil {
			continue
		}
		list = append(list, slurm.JobRecord{
			ID: j.id, State: j.shown(), Requeue: !j.spec.NoRequeue, Batch: !j.spec.Interactive, AdminComment: j.adminComment,
		})
	}
	return list, nil
}

// find returns a job that slurmctld still knows, or nil.
func (c *Cluster) find(id uint32) *job {
	j := c.jobs[id]
	if j == nil || j.over() && time.Since(j.ended) > minJobAge {
		return nil
	}
	return j
}

// Config returns the parts of slurmctld's configuration that the model sets.
func (c *Cluster) Config(ctx context.Context) (slurm.Config, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	config := slurm.Config{
		"SLURM_VERSION":       c.o.version().String(),
		"ResumeTimeout":       seconds(c.o.ResumeTimeout),
		"SuspendTimeout":      seconds(c.o.SuspendTimeout),
		"SuspendTime":         "INFINITE",
		"SuspendExcNodes":     slurm.Fold(c.o.SuspendExc),
		"SlurmdTimeout":       seconds(c.o.SlurmdTimeout),
		"ReturnToService":     "2",
		"SlurmctldParameters": "idle_on_node_suspend,power_save_interval=1",
		"MinJobAge":           seconds(minJobAge),
		"ResumeRate":          "0 nodes/min",
		"SuspendRate":         "0 nodes/min",
		"PrivateData":         "cloud",
		"SchedulerType":       "sched/backfill",
	}
	if c.o.SuspendTime > 0 {
		config["SuspendTime"] = seconds(c.o.SuspendTime)
	}
	return config, nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d sec", d/time.Second) }

// Partitions lists the partitions.
func (c *Cluster) Partitions(ctx context.Context) ([]slurm.Partition, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	list := make([]slurm.Partition, len(c.partitions))
	for i, p := range c.partitions {
		list[i] = p.Partition
		list[i].Up, list[i].Begins = !p.closed, !p.closed
		if !c.habits.partitionPower {
			list[i].PowerDownOnIdle, list[i].ResumeTimeout, list[i].SuspendTime = false, slurm.Limit{}, slurm.Limit{}
		}
	}
	return list, nil
}
