package flex

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// controller models slurmctld: nodes, jobs, and the effects of scontrol update, as far as passes
// depend on them. It lacks the calls that only a daemon makes for jobs that wait PENDING.
type controller struct {
	Scheduler
	cfg *config.Config

	mu         sync.Mutex
	nodes      map[string]*slurm.Node
	jobs       map[uint32]*slurm.Job
	updates    []string
	eol        map[string]slurm.Reservation
	records    map[uint32]slurm.JobRecord // differences from a requeueable batch job
	comment    map[uint32]string          // AdminComments by job
	notices    []string                   // messages to interactive jobs
	signals    []string
	unwritable error // error of each write of an AdminComment
	held       []uint32
	reads      []time.Time // times of reads of the nodes
	maxTime    slurm.Limit // for each partition
	down       error       // error of each call
	asked      [][]uint32  // jobs in each read of records
	illegible  error       // error of each read of records
	frozen     string      // node that rejects all updates
	closed     []string    // closed partitions
}

func newController(cfg *config.Config) *controller {
	c := &controller{
		cfg: cfg, nodes: map[string]*slurm.Node{}, jobs: map[uint32]*slurm.Job{},
		eol: map[string]slurm.Reservation{}, comment: map[uint32]string{},
	}
	for _, set := range cfg.NodeSets {
		for i := range set.Size() {
			name := set.NodeName(cfg.Cluster, i)
			c.nodes[name] = &slurm.Node{Name: name, State: slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")}
		}
	}
	return c
}

func (c *controller) Nodes(context.Context) ([]slurm.Node, error) {
	defer locked(&c.mu)()
	c.reads = append(c.reads, time.Now())
	var nodes []slurm.Node
	for _, n := range c.nodes {
		nodes = append(nodes, *n)
	}
	return nodes, c.down
}

func (c *controller) Jobs(context.Context) ([]slurm.Job, error) {
	defer locked(&c.mu)()
	var jobs []slurm.Job
	for _, j := range c.jobs {
		jobs = append(jobs, *j)
	}
	return jobs, c.down
}

func (c *controller) UpdateNodes(_ context.Context, names []string, change slurm.NodeChange) error {
	defer locked(&c.mu)()
	c.updates = append(c.updates, fmt.Sprintf("%s %s %s", slurm.Fold(names), change.State, change.Reason))
	for _, name := range names {
		if name == c.frozen {
			continue // Slurm changes the remaining nodes all the same
		}
		n := c.nodes[name]
		n.Reason = change.Reason
		if change.Comment != nil {
			n.Comment = *change.Comment
		}
		if change.Extra != nil {
			n.Extra = *change.Extra
		}
		switch change.State {
		case "power_down": // takes effect once the node is idle
			n.State.Flags |= slurm.PowerDown
			if !n.State.Held() {
				n.State = slurm.ParseState("IDLE+CLOUD+POWERING_DOWN")
			}
		case "drain":
			n.State.Flags |= slurm.Drain
		case "power_down_force":
			c.requeue(name)
			n.State = slurm.ParseState("IDLE+CLOUD+POWERING_DOWN")
		case "down":
			c.requeue(name)
			n.State, n.Reason = slurm.ParseState("DOWN+CLOUD"), change.Reason
		case "resume":
			n.State = slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")
			n.LastBusyTime = time.Time{}
		case "power_up":
			n.State.Flags = n.State.Flags&^slurm.PoweredDown | slurm.PoweringUp
		case "", "idle": // the power state does not change
		default:
			return fmt.Errorf("slurm_update error: Invalid node state specified: %s", change.State)
		}
	}
	if slices.Contains(names, c.frozen) {
		return errors.New("slurm_update error: Invalid node state specified")
	}
	return nil
}

func (c *controller) Reservations(context.Context) ([]slurm.Reservation, error) {
	defer locked(&c.mu)()
	return slices.Collect(maps.Values(c.eol)), c.down
}

func (c *controller) Config(context.Context) (slurm.Config, error) {
	defer locked(&c.mu)()
	return slurm.Config{"ResumeTimeout": "65533 sec"}, c.down
}

// Partitions returns the configured partitions, with the MaxTime that slurmflex set last.
func (c *controller) Partitions(context.Context) ([]slurm.Partition, error) {
	defer locked(&c.mu)()
	var all []slurm.Partition
	for _, p := range c.cfg.Partitions {
		begins := !slices.Contains(c.closed, p.Name)
		partition := slurm.Partition{Name: p.Name, Up: begins, Begins: begins, MaxTime: c.maxTime}
		for _, set := range c.cfg.SetsOf(p) {
			for i := range set.Size() {
				partition.Nodes = append(partition.Nodes, set.NodeName(c.cfg.Cluster, i))
			}
		}
		all = append(all, partition)
	}
	return all, c.down
}

func (c *controller) ClosePartition(_ context.Context, name string) error {
	defer locked(&c.mu)()
	c.closed = append(c.closed, name)
	return nil
}

func (c *controller) CreateReservation(_ context.Context, spec slurm.ReservationSpec) error {
	defer locked(&c.mu)()
	r := slurm.Reservation{Name: spec.Name, Nodes: spec.Nodes, Start: spec.Start}
	if !spec.Maint {
		r.Start = time.Now()
	}
	r.End = r.Start.Add(spec.Lasts)
	c.eol[spec.Name] = r
	return nil
}

func (c *controller) SetReservation(_ context.Context, name string, change slurm.ReservationChange) error {
	defer locked(&c.mu)()
	r := c.eol[name]
	r.Nodes = change.Nodes
	if !change.End.IsZero() {
		r.End = change.End
	}
	c.eol[name] = r
	return nil
}

func (c *controller) DeleteReservation(_ context.Context, name string) error {
	defer locked(&c.mu)()
	delete(c.eol, name)
	return nil
}

func (c *controller) JobRecords(_ context.Context, ids []uint32) ([]slurm.JobRecord, error) {
	defer locked(&c.mu)()
	c.asked = append(c.asked, ids)
	if c.illegible != nil {
		return nil, c.illegible
	}
	var records []slurm.JobRecord
	for _, id := range ids {
		if c.jobs[id] == nil {
			continue
		}
		r, differs := c.records[id]
		if !differs {
			r = slurm.JobRecord{Batch: true, Requeue: true}
		}
		r.ID, r.State = id, c.jobs[id].State
		if text := c.comment[id]; text != "" {
			r.AdminComment = text
		}
		records = append(records, r)
	}
	return records, c.down
}

func (c *controller) SetAdminComment(_ context.Context, job uint32, text string) error {
	defer locked(&c.mu)()
	if c.unwritable != nil {
		return c.unwritable
	}
	c.comment[job] = text
	return nil
}

func (c *controller) NotifyJob(_ context.Context, job uint32, text string) error {
	defer locked(&c.mu)()
	c.notices = append(c.notices, fmt.Sprintf("%d: %s", job, text))
	return nil
}

func (c *controller) SignalJob(_ context.Context, job uint32, signal string) error {
	defer locked(&c.mu)()
	c.signals = append(c.signals, fmt.Sprintf("%d: %s", job, signal))
	return nil
}

func (c *controller) RequeueJob(_ context.Context, job uint32) error {
	defer locked(&c.mu)()
	c.free(c.jobs[job].Nodes)
	c.jobs[job].State, c.jobs[job].Nodes = slurm.JobPending, nil
	return nil
}

func (c *controller) HoldJob(_ context.Context, job uint32) error {
	defer locked(&c.mu)()
	c.held = append(c.held, job)
	return nil
}

func (c *controller) CancelJob(_ context.Context, job uint32) error {
	c.cancel(job)
	return nil
}

// set sets the state of nodes.
func (c *controller) set(list, state string) {
	defer locked(&c.mu)()
	for _, name := range names(list) {
		c.nodes[name].State = slurm.ParseState(state)
	}
}

// submit places a job of one hour on nodes, and powers up the nodes that are down.
func (c *controller) submit(id uint32, partition, list string) {
	defer locked(&c.mu)()
	c.jobs[id] = &slurm.Job{
		ID: id, ArrayID: id, Partition: partition, State: slurm.JobConfiguring, Nodes: names(list),
		Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour},
	}
	for _, name := range names(list) {
		c.nodes[name].State = slurm.ParseState("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")
	}
}

// cancel removes a job from the queue. Its nodes continue to power up or remain up, except for
// nodes that are marked to power down after the job.
func (c *controller) cancel(id uint32) {
	defer locked(&c.mu)()
	c.free(c.jobs[id].Nodes)
	delete(c.jobs, id)
}

// requeue requeues the jobs on the node.
func (c *controller) requeue(name string) {
	for _, j := range c.jobs {
		if slices.Contains(j.Nodes, name) {
			c.free(j.Nodes)
			j.State, j.Nodes = slurm.JobPending, nil
		}
	}
}

// free takes nodes from their job.
func (c *controller) free(nodes []string) {
	for _, name := range nodes {
		n := c.nodes[name]
		n.LastBusyTime = time.Now()
		switch {
		case n.State.Has(slurm.PoweringUp):
			n.State = slurm.ParseState("IDLE+CLOUD+NOT_RESPONDING+POWERING_UP")
		case n.State.Has(slurm.PowerDown):
			n.State = slurm.ParseState("IDLE+CLOUD+POWERING_DOWN")
		default:
			n.State = slurm.ParseState("IDLE+CLOUD")
		}
	}
}

// register does what slurmd does when it starts on the machine.
func (c *controller) register(name string) {
	defer locked(&c.mu)()
	c.nodes[name].State.Flags &^= slurm.PoweringUp | slurm.NotResponding
}

// refuse makes every call fail with an error; nil ends that.
func (c *controller) refuse(err error) {
	defer locked(&c.mu)()
	c.down = err
}

// updated returns the node updates so far.
func (c *controller) updated() []string {
	defer locked(&c.mu)()
	return slices.Clone(c.updates)
}

// passes returns the start times of the passes.
func (c *controller) passes() []time.Time {
	defer locked(&c.mu)()
	return slices.Clone(c.reads)
}

// queue returns the state of each job in the queue.
func (c *controller) queue() map[uint32]slurm.JobState {
	defer locked(&c.mu)()
	states := map[uint32]slurm.JobState{}
	for id, j := range c.jobs {
		states[id] = j.State
	}
	return states
}

func names(list string) []string {
	all, err := slurm.Expand(list)
	if err != nil {
		panic(err)
	}
	return all
}

// hungCloud blocks CreateRequest for one group until let is closed, and then
// acts.
type hungCloud struct {
	cloud
	group string
	let   chan struct{}
	mu    sync.Mutex
	asked map[string]int // number of CreateRequest calls, by group
}

func hang(w *world, group string) *hungCloud {
	h := &hungCloud{cloud: w.Cloud, group: group, let: make(chan struct{}), asked: map[string]int{}}
	w.Cloud = h
	return h
}

func (h *hungCloud) CreateRequest(ctx context.Context, region, group string, spec mig.RequestSpec) error {
	h.mu.Lock()
	h.asked[group]++
	h.mu.Unlock()
	if group == h.group {
		select {
		case <-h.let:
		case <-ctx.Done():
			return &mig.Error{Op: "create resize request", Object: group, Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: ctx.Err().Error()}, Err: ctx.Err()}
		}
	}
	return h.cloud.CreateRequest(ctx, region, group, spec)
}

// begun returns the number of CreateRequest calls, by group.
func (h *hungCloud) begun() map[string]int {
	defer locked(&h.mu)()
	return maps.Clone(h.asked)
}
