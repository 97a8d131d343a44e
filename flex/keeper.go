package flex

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/plan/sweeps"
	"slurmflex/flex/wake"
	"slurmflex/slurm"
)

const (
	lookPace  = 500 * time.Millisecond // between reads of nodes that may register at any time
	queuePace = 2 * time.Second        // between reads of the queue

	inUseAtOnce = 500 // nodes with running jobs that a look reads
)

// doorScheduler lists the calls to Slurm that a Keeper makes.
type doorScheduler interface {
	// NodesNamed reads only the named nodes.
	NodesNamed(ctx context.Context, names []string) ([]slurm.Node, error)
	// PendingJobs reads the pending jobs.
	PendingJobs(ctx context.Context) ([]slurm.Job, error)
	SetReservation(ctx context.Context, name string, change slurm.ReservationChange) error
}

// Keeper looks at pending jobs between the daemon's passes. It opens a job's door
// within a second after the job's last machine has registered, and requests a pass when Slurm has
// planned a job for the first time, or when a job has left machines that others may use. It works only while Run runs.
type Keeper struct {
	Slurm doorScheduler
	Log   *zap.Logger
	Now   func() time.Time
	Call  chan<- wake.Call // requests passes

	mu    sync.Mutex // guards the fields below
	near  []sweeps.NearDoor
	known map[string]bool // rows and plans of jobs that the last pass saw waiting for machines
	inUse []string        // nodes with running jobs whose machines outlast their jobs
	pends bool            // jobs wait pending for machines
	ours  bool            // this host makes the passes
}

// Watcher returns what the keeper must see of the passes.
func (k *Keeper) Watcher() Watcher { return Watcher{Saw: k.saw, Stood: k.stood} }

// saw records the doors and the waiting jobs that a pass saw.
func (k *Keeper) saw(s *scene.Scene, _ plan.Plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.near, k.inUse, k.pends = sweeps.NearDoors(s), sweeps.NodesInUse(s), s.Config.Options.Waiting == config.Pending
	k.inUse = k.inUse[:min(len(k.inUse), inUseAtOnce)]
	k.known = map[string]bool{}
	for _, rows := range [][]slurm.Job{s.Seen.Jobs, s.Seen.Merged} {
		for i := range rows {
			if j := &rows[i]; isPlanned(j) {
				k.known[row(j)] = true
			}
		}
	}
}

// stood records whether this host makes the passes.
func (k *Keeper) stood(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ours = err == nil; !k.ours {
		k.near, k.inUse = nil, nil
	}
}

// Run looks at pending jobs until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	look, queue := time.NewTicker(lookPace), time.NewTicker(queuePace)
	defer look.Stop()
	defer queue.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			k.open(ctx)
		case <-queue.C:
			k.watch(ctx)
		}
	}
}

// open opens each door once all nodes that it awaits have registered.
func (k *Keeper) open(ctx context.Context) {
	k.mu.Lock()
	near := k.near
	k.mu.Unlock()
	if len(near) == 0 {
		return
	}
	var names []string
	for _, d := range near {
		names = append(names, d.Awaits...)
	}
	slices.Sort(names)
	nodes, err := k.Slurm.NodesNamed(ctx, slices.Compact(names))
	if err != nil {
		k.Log.Debug("nodes of waiting jobs not read", zap.Error(err))
		return
	}
	up := map[string]bool{}
	for _, n := range nodes {
		up[n.Name] = n.State.IsUp()
	}
	for _, d := range near {
		if slices.ContainsFunc(d.Awaits, func(name string) bool { return !up[name] }) {
			continue
		}
		err := k.Slurm.SetReservation(ctx, d.Name, slurm.ReservationChange{Start: k.Now()})
		if err != nil && !errors.Is(err, slurm.ErrReservationStarted) {
			k.Log.Debug("reservation of a job not opened", zap.String("job", d.Address), zap.Error(err))
			continue // the next pass opens the door
		}
		k.Log.Info("reservation of a job opened", zap.String("job", d.Address), zap.String("nodes", slurm.Fold(d.Nodes)))
		k.forget(d.Door)
		k.wake()
	}
}

// forget stops watching a door.
func (k *Keeper) forget(d *scene.Door) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.near = slices.DeleteFunc(slices.Clone(k.near), func(other sweeps.NearDoor) bool { return other.Door == d })
}

// watch requests a pass if Slurm has planned a job on other nodes than the last pass saw, or if jobs
// wait and a job has left machines that they may use.
func (k *Keeper) watch(ctx context.Context) {
	k.mu.Lock()
	ours, known, inUse := k.ours && k.pends, k.known, k.inUse
	k.mu.Unlock()
	if !ours {
		return
	}
	jobs, err := k.Slurm.PendingJobs(ctx)
	if err != nil {
		k.Log.Debug("pending jobs not read", zap.Error(err))
		return
	}
	if slices.ContainsFunc(jobs, func(j slurm.Job) bool { return isPlanned(&j) && !known[row(&j)] }) || len(jobs) > 0 && k.anyLeft(ctx, inUse) {
		k.wake()
	}
}

// anyLeft reports whether one of the nodes is idle now.
func (k *Keeper) anyLeft(ctx context.Context, inUse []string) bool {
	if len(inUse) == 0 {
		return false
	}
	nodes, err := k.Slurm.NodesNamed(ctx, inUse)
	if err != nil {
		k.Log.Debug("nodes in use not read", zap.Error(err))
		return false
	}
	return slices.ContainsFunc(nodes, func(n slurm.Node) bool { return n.State.IsIdle() })
}

// wake requests a pass, unless a request is already pending.
func (k *Keeper) wake() {
	select {
	case k.Call <- wake.Call{Verb: "door"}:
	default:
	}
}

// isPlanned reports whether Slurm has planned the job, which uses no reservation.
func isPlanned(j *slurm.Job) bool {
	return j.State.Waits() && j.Priority > 0 && j.Reservation == "" && len(j.Planned) > 0
}

// row names a job's row in the queue, and its plan. The row of an array changes as tasks leave it.
func row(j *slurm.Job) string {
	return j.ArrayTask + " " + j.Name() + " " + j.Partition + " " + slurm.Fold(j.Planned)
}
