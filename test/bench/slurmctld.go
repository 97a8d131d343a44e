package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/bench/site"
)

// queue is what Slurm knows of a cluster.
type queue struct {
	Nodes        []slurm.Node
	Jobs         []slurm.Job
	Reservations []slurm.Reservation
}

// slurmctld stands for Slurm: a queue, and what scontrol update does to it as
// far as these trials go. What it answers is what the real commands would have
// printed, read by the parsers of package slurm, so that their work is in the
// measurements.
type slurmctld struct {
	mu       sync.Mutex
	queue    queue
	index    map[string]int    // of nodes, by name
	comments map[uint32]string // AdminComments
	looks    int               // how often the nodes were read
}

func newSlurmctld(q queue) *slurmctld {
	s := &slurmctld{queue: q, index: map[string]int{}, comments: map[uint32]string{}}
	for i, n := range q.Nodes {
		s.index[n.Name] = i
	}
	return s
}

// idleCluster is a Slurm whose nodes are all powered down.
func idleCluster(nodes int) *slurmctld {
	var q queue
	for _, name := range site.Nodes(0, nodes) {
		q.Nodes = append(q.Nodes, slurm.Node{Name: name, State: slurm.ParseState(site.PoweredDown), Partitions: []string{"train"}})
	}
	return newSlurmctld(q)
}

// submit has n jobs of so many nodes each begin to power up the nodes from the
// first index on, and returns them.
func (s *slurmctld) submit(n, size, first int) []slurm.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.queue.Jobs)
	for i := range n {
		id := uint32(from + i + 1)
		s.queue.Jobs = append(s.queue.Jobs, slurm.Job{
			ID: id, ArrayID: id, Partition: "train", State: slurm.JobConfiguring, Nodes: site.Nodes(first+i*size, size),
			Start: time.Now(), Priority: 100, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: site.Limit},
			User: "ada", Reason: "None",
		})
		s.setState(s.queue.Jobs[from+i].Nodes, site.PoweringUp)
	}
	return slices.Clone(s.queue.Jobs[from:])
}

// start has the slurmds of the jobs' nodes register, and the jobs begin.
func (s *slurmctld) start(jobs []slurm.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range jobs {
		s.setState(j.Nodes, site.Running)
		s.job(j.ID).State, s.job(j.ID).Start = slurm.JobRunning, time.Now()
	}
}

// cancel is scancel of a job whose nodes power up: they go on doing so.
func (s *slurmctld) cancel(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.job(id).Nodes {
		n := &s.queue.Nodes[s.index[name]]
		n.State, n.LastBusyTime = slurm.ParseState("IDLE+CLOUD+NOT_RESPONDING+POWERING_UP"), time.Now()
	}
	s.queue.Jobs = slices.DeleteFunc(s.queue.Jobs, func(j slurm.Job) bool { return j.ID == id })
}

func (s *slurmctld) job(id uint32) *slurm.Job {
	i := slices.IndexFunc(s.queue.Jobs, func(j slurm.Job) bool { return j.ID == id })
	return &s.queue.Jobs[i]
}

// setState puts nodes into a state. The lock is held.
func (s *slurmctld) setState(names []string, state string) {
	parsed := slurm.ParseState(state)
	for _, name := range names {
		s.queue.Nodes[s.index[name]].State = parsed
	}
}

// look is a copy of the queue, and how often the nodes were read so far.
func (s *slurmctld) look() (queue, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return queue{slices.Clone(s.queue.Nodes), slices.Clone(s.queue.Jobs), slices.Clone(s.queue.Reservations)}, s.looks
}

// Nodes is scontrol show nodes -o.
func (s *slurmctld) Nodes(context.Context) ([]slurm.Node, error) {
	s.mu.Lock()
	s.looks++
	text := site.NodesText(s.queue.Nodes)
	s.mu.Unlock()
	return slurm.ParseNodes(text)
}

// Jobs is squeue.
func (s *slurmctld) Jobs(context.Context) ([]slurm.Job, error) {
	s.mu.Lock()
	text := site.JobsText(s.queue.Jobs)
	s.mu.Unlock()
	return slurm.ParseSqueue(text)
}

// Reservations is scontrol show reservation -o.
func (s *slurmctld) Reservations(context.Context) ([]slurm.Reservation, error) {
	s.mu.Lock()
	text := site.ReservationsText(s.queue.Reservations)
	s.mu.Unlock()
	return slurm.ParseReservations(text)
}

// UpdateNodes is scontrol update nodename=….
func (s *slurmctld) UpdateNodes(_ context.Context, names []string, change slurm.NodeChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch change.State {
	case "":
	case "resume":
		s.setState(names, site.PoweredDown)
	case "power_down_force":
		s.setState(names, site.PoweringDown)
		s.requeue(names)
	default:
		return fmt.Errorf("these trials know no state %s", change.State)
	}
	for _, name := range names {
		n := &s.queue.Nodes[s.index[name]]
		n.Reason = change.Reason
		if change.Comment != nil {
			n.Comment = *change.Comment
		}
	}
	return nil
}

// requeue has the jobs of the nodes wait again. The lock is held.
func (s *slurmctld) requeue(names []string) {
	for i := range s.queue.Jobs {
		j := &s.queue.Jobs[i]
		if slices.ContainsFunc(j.Nodes, func(n string) bool { return slices.Contains(names, n) }) {
			j.State, j.Nodes = slurm.JobPending, nil
		}
	}
}

// Config is what a round reads of scontrol show config.
func (s *slurmctld) Config(context.Context) (slurm.Config, error) {
	return slurm.Config{"ResumeTimeout": "65533 sec"}, nil
}

// Partitions is scontrol show partition: none has a ResumeTimeout of its own.
func (s *slurmctld) Partitions(context.Context) ([]slurm.Partition, error) { return nil, nil }

// CreateReservation is scontrol create reservation.
func (s *slurmctld) CreateReservation(_ context.Context, spec slurm.ReservationSpec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Reservations = append(s.queue.Reservations, slurm.Reservation{Name: spec.Name, Nodes: spec.Nodes, Start: spec.Start})
	return nil
}

// SetReservationNodes is scontrol update reservation.
func (s *slurmctld) SetReservationNodes(_ context.Context, name string, nodes []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.queue.Reservations {
		if s.queue.Reservations[i].Name == name {
			s.queue.Reservations[i].Nodes = nodes
		}
	}
	return nil
}

// DeleteReservation is scontrol delete reservation.
func (s *slurmctld) DeleteReservation(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Reservations = slices.DeleteFunc(s.queue.Reservations, func(r slurm.Reservation) bool { return r.Name == name })
	return nil
}

// JobRecords is scontrol show job: all are batch jobs that may be requeued.
func (s *slurmctld) JobRecords(_ context.Context, ids []uint32) ([]slurm.JobRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var records []slurm.JobRecord
	for _, id := range ids {
		records = append(records, slurm.JobRecord{ID: id, Batch: true, Requeue: true, AdminComment: s.comments[id]})
	}
	return records, nil
}

// SetAdminComment is scontrol update job.
func (s *slurmctld) SetAdminComment(_ context.Context, job uint32, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.comments[job] = text
	return nil
}

// NotifyJob is never needed: no job is interactive.
func (s *slurmctld) NotifyJob(context.Context, uint32, string) error { return nil }

// HoldJob is scontrol hold, CancelJob scancel: no trial comes to either.
func (s *slurmctld) HoldJob(_ context.Context, job uint32) error {
	return fmt.Errorf("hold job %d: nothing in these trials asks for it", job)
}

// CancelJob is scancel; see HoldJob.
func (s *slurmctld) CancelJob(_ context.Context, job uint32) error {
	return fmt.Errorf("cancel job %d: nothing in these trials asks for it", job)
}
