package flex

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// controller is a slurmctld with the configured nodes and partitions. It records calls that leave no
// trace in Slurm, and can fail.
type controller struct {
	*fakeslurm.Cluster
	cfg *config.Config

	mu         sync.Mutex
	updates    []string
	records    map[uint32]slurm.JobRecord // differences from a requeueable batch job
	rows       func(*slurm.Job)           // changes each row of the queue; nil: none
	notices    []string                   // messages to interactive jobs
	signals    []string
	unwritable error       // error of each write of an AdminComment
	reads      []time.Time // times of reads of the nodes
	asked      [][]uint32  // jobs in each read of records
	illegible  error       // error of each read of records
}

// newController starts a controller that runs until ctx ends. Nodes stay powered up while they are idle,
// and POWERING_DOWN until they are resumed.
func newController(ctx context.Context, cfg *config.Config) *controller {
	o := fakeslurm.Options{ResumeTimeout: forever, SuspendTimeout: forever}
	for _, set := range cfg.NodeSets {
		o.Nodes = append(o.Nodes, allNodes(cfg, set)...)
	}
	for _, p := range cfg.Partitions {
		partition := slurm.Partition{Name: p.Name}
		for _, set := range cfg.SetsOf(p) {
			partition.Nodes = append(partition.Nodes, allNodes(cfg, set)...)
		}
		o.Partitions = append(o.Partitions, partition)
	}
	c := &controller{Cluster: fakeslurm.New(o), cfg: cfg}
	go func() {
		next := 300 * time.Millisecond // so that no step coincides with a step of a test
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(next):
				c.Step()
				next = time.Second
			}
		}
	}()
	return c
}

const forever = 1000 * time.Hour

func allNodes(cfg *config.Config, set *config.NodeSet) (list []string) {
	for i := range set.Size() {
		list = append(list, set.NodeName(cfg.Cluster, i))
	}
	return list
}

func (c *controller) Nodes(ctx context.Context) ([]slurm.Node, error) {
	defer locked(&c.mu)()
	c.reads = append(c.reads, time.Now())
	return c.Cluster.Nodes(ctx)
}

func (c *controller) Jobs(ctx context.Context) ([]slurm.Job, error) {
	jobs, err := c.Cluster.Jobs(ctx)
	for i := range jobs {
		if c.rows != nil {
			c.rows(&jobs[i])
		}
	}
	return jobs, err
}

func (c *controller) UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error {
	defer locked(&c.mu)()
	c.updates = append(c.updates, fmt.Sprintf("%s %s %s", slurm.Fold(names), change.State, change.Reason))
	return c.Cluster.UpdateNodes(ctx, names, change)
}

func (c *controller) JobRecords(ctx context.Context, ids []uint32) ([]slurm.JobRecord, error) {
	defer locked(&c.mu)()
	c.asked = append(c.asked, ids)
	if c.illegible != nil {
		return nil, c.illegible
	}
	records, err := c.Cluster.JobRecords(ctx, ids)
	for i, r := range records {
		if differs, ok := c.records[r.ID]; ok {
			differs.ID, differs.State, differs.AdminComment = r.ID, r.State, r.AdminComment
			records[i] = differs
		}
	}
	return records, err
}

func (c *controller) SetAdminComment(ctx context.Context, job uint32, text string) error {
	defer locked(&c.mu)()
	if c.unwritable != nil {
		return c.unwritable
	}
	return c.Cluster.SetAdminComment(ctx, job, text)
}

func (c *controller) NotifyJob(ctx context.Context, job uint32, text string) error {
	defer locked(&c.mu)()
	c.notices = append(c.notices, fmt.Sprintf("%d: %s", job, text))
	return c.Cluster.NotifyJob(ctx, job, text)
}

func (c *controller) SignalJob(ctx context.Context, job uint32, signal string) error {
	defer locked(&c.mu)()
	c.signals = append(c.signals, fmt.Sprintf("%d: %s", job, signal))
	return c.Cluster.SignalJob(ctx, job, signal)
}

// submit starts a job of one hour on nodes, and waits until Slurm powers them up.
func (c *controller) submit(id uint32, partition, list string) {
	must.Get(c.Submit(fakeslurm.JobSpec{ID: id, Partition: partition, NodeList: names(list), Limit: time.Hour, Run: forever}))
	c.Step()
	time.Sleep(time.Second)
}

// cancel cancels a job, and waits until Slurm powers down its nodes that are marked for that.
func (c *controller) cancel(id uint32) {
	must.Do(c.Cancel(id))
	time.Sleep(time.Second)
}

// comment returns the AdminComment of a job.
func (c *controller) comment(job uint32) string { return c.Truth(job).AdminComment }

// state returns the state of a node.
func (c *controller) state(name string) slurm.State {
	nodes := must.Get(c.Cluster.Nodes(context.Background()))
	return nodes[slices.IndexFunc(nodes, func(n slurm.Node) bool { return n.Name == name })].State
}

// queue returns the state of each job in the queue.
func (c *controller) queue() map[uint32]slurm.JobState {
	states := map[uint32]slurm.JobState{}
	for _, j := range must.Get(c.Cluster.Jobs(context.Background())) {
		states[j.ID] = j.State
	}
	return states
}

// held returns the held jobs.
func (c *controller) held() (jobs []uint32) {
	for _, j := range must.Get(c.Cluster.Jobs(context.Background())) {
		if j.Priority == 0 {
			jobs = append(jobs, j.ID)
		}
	}
	return jobs
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
