package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
)

// reaction is something that happens to a job of two nodes that waits for
// capacity, and what is to come of it.
type reaction struct {
	name    string
	happens func(context.Context, *daemon, slurm.Job) error
	came    func(context.Context, *daemon, slurm.Job) (bool, error)
}

func reactions() []reaction {
	return []reaction{
		{"capacity granted: lease reserved", grantCapacity, isReserved},
		{"request FAILED: job back in the queue", failRequest, isPending},
		{"scancel: request cancelled", cancelJob, isCancelled},
	}
}

// grantCapacity returns when the job's machines run.
func grantCapacity(ctx context.Context, d *daemon, j slurm.Job) error {
	if err := d.cloud.room(ctx, -1); err != nil {
		return err
	}
	return await(ctx, "machines to run", func() (bool, error) {
		st, err := d.cloud.state(ctx)
		return len(st.Instances) == len(j.Nodes) && st.Instances[0].Status == "RUNNING", err
	})
}

func isReserved(_ context.Context, d *daemon, j slurm.Job) (bool, error) {
	q, _ := d.slurm.look()
	return len(q.Reservations) == 1 && len(q.Reservations[0].Nodes) == len(j.Nodes), nil
}

func failRequest(ctx context.Context, d *daemon, j slurm.Job) error {
	return d.cloud.Tell(ctx, "fail", map[string]string{
		"group": fmt.Sprintf("%s-%s-job-%d", site.Cluster, site.NodeSet, j.ID), "request": "a1",
		"code": "RESOURCE_POOL_EXHAUSTED", "message": "There are currently not enough resources available to fulfill the request.",
	})
}

func isPending(_ context.Context, d *daemon, j slurm.Job) (bool, error) {
	q, _ := d.slurm.look()
	return q.Jobs[0].State == slurm.JobPending, nil
}

func cancelJob(_ context.Context, d *daemon, j slurm.Job) error {
	d.slurm.cancel(j.ID)
	return nil
}

func isCancelled(ctx context.Context, d *daemon, _ slurm.Job) (bool, error) {
	n, err := d.cloud.requests(ctx, mig.Cancelled)
	return n == 1, err
}

// reactionTime is how long it takes from when something happens, just after a
// round has looked, to what comes of it. A hint is given or not.
func (b *bench) reactionTime(ctx context.Context, r reaction, interval time.Duration, hint bool) (time.Duration, error) {
	d, err := b.startDaemon(ctx, idleCluster(2), usualRate, interval, "--capacity", "0", "--attempt-interval", "100ms")
	if err != nil {
		return 0, err
	}
	defer d.stop()
	jobs := d.slurm.submit(1, 2, 0)
	if err := d.call(ctx, jobs[0].Nodes, jobs); err != nil {
		return 0, err
	}
	err = await(ctx, "the request to be accepted", func() (bool, error) {
		n, err := d.cloud.requests(ctx, mig.Accepted)
		return n == 1, err
	})
	if err != nil {
		return 0, err
	}
	_, looked := d.slurm.look()
	err = await(ctx, "the round that sees it", func() (bool, error) {
		_, looks := d.slurm.look()
		calls, err := d.cloud.calls(ctx)
		return looks > looked && calls["instances.aggregatedList"] >= looks, err
	})
	if err != nil {
		return 0, err
	}
	if err := r.happens(ctx, d, jobs[0]); err != nil {
		return 0, err
	}
	began := time.Now()
	if hint {
		if err := d.call(ctx, jobs[0].Nodes, jobs); err != nil {
			return 0, err
		}
	}
	err = await(ctx, r.name, func() (bool, error) { return r.came(ctx, d, jobs[0]) })
	return time.Since(began), err
}

// reactionsOnHint measures one after the other, where no round would come by
// itself.
func (b *bench) reactionsOnHint(ctx context.Context) ([]row, error) {
	var rows []row
	for _, r := range reactions() {
		took, err := b.reactionTime(ctx, r, time.Hour, true)
		if err != nil {
			return nil, err
		}
		rows = append(rows, measured(r.name+", on a hint", took.Seconds(), "s", 3))
	}
	return rows, nil
}

// usualInterval is that of the rounds unless configured.
const usualInterval = 30 * time.Second

// reactionsWithinInterval measures all at once, for they are mostly waiting.
func (b *bench) reactionsWithinInterval(ctx context.Context) ([]row, error) {
	all := reactions()
	rows := make([]row, len(all))
	side, ctx := errgroup.WithContext(ctx)
	for i, r := range all {
		side.Go(func() error {
			took, err := b.reactionTime(ctx, r, usualInterval, false)
			rows[i] = measured(r.name+", no hint, interval 30 s", took.Seconds(), "s", usualInterval.Seconds())
			return err
		})
	}
	return rows, side.Wait()
}
