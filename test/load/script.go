package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"slurmflex/slurm/scontrol"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// The course of a day: users work and faults occur until the afternoon. After that, all running
// work is completed.
const (
	work    = 12 * time.Hour // period in which jobs are submitted and faults occur
	trouble = 14 * time.Hour // no faults after this time
	latest  = 96 * time.Hour // deadline for the world to be at rest
)

// The number of events per day.
const (
	jobsADay     = 150
	lostMachines = 4
	badRequests  = 4  // these fail while they wait
	apiFaults    = 40 // each affects one to three calls
	hungCommands = 2
	outages      = 2 // of slurmctld
	droughts     = 2 // periods without capacity
)

// event is an event at a time of the day.
type event struct {
	at   time.Duration
	what func(context.Context, *life)
}

// newScript returns the events of a numbered day, by time. Equal numbers give equal scripts.
func newScript(number int) []event {
	r := rand.New(rand.NewPCG(uint64(number), 0))
	var all []event
	put := func(n int, make func(at time.Duration, r *rand.Rand) []event) {
		for range n {
			all = append(all, make(upTo(r, work), r)...)
		}
	}
	put(jobsADay, newJob)
	put(lostMachines, loseMachine)
	put(badRequests, failRequest)
	put(apiFaults, failCalls)
	put(hungCommands, hangCommand)
	put(outages, stopSlurmctld)
	put(droughts, stopCapacity)
	all = append(all, event{trouble, func(_ context.Context, l *life) { l.cloud.ClearFaults() }})
	for at := trouble; at < latest; at += time.Hour {
		all = append(all, event{at, func(ctx context.Context, l *life) { l.release(ctx) }})
	}
	slices.SortStableFunc(all, func(a, b event) int { return int(a.at - b.at) })
	return all
}

func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

// newJob returns a job's submission, and its end if the job is cancelled or requeued.
func newJob(at time.Duration, r *rand.Rand) []event {
	set := nodeSets()[r.IntN(len(nodeSets()))]
	run := time.Minute + upTo(r, longest*4/5)
	spec := fakeslurm.JobSpec{
		Partition: set.name, Nodes: 1 + r.IntN(set.widest), Run: run, Limit: min(run*3/2, longest),
		Priority: uint64(1 + r.IntN(3)), Interactive: r.IntN(10) == 0, NoRequeue: r.IntN(10) == 0, User: "ada",
	}
	var id uint32
	all := []event{{at, func(_ context.Context, l *life) {
		var err error
		id, err = l.slurm.Submit(spec)
		mayBeRefused(err)
	}}}
	later := at + upTo(r, time.Hour)
	switch r.IntN(10) {
	case 0:
		all = append(all, event{later, func(_ context.Context, l *life) { toJob(id, l.slurm.Cancel) }})
	case 1:
		spec.Interactive, spec.NoRequeue = false, false
		all = append(all, event{later, func(_ context.Context, l *life) { toJob(id, l.slurm.Requeue) }})
	}
	return all
}

// toJob sends a command about a job, unless slurmctld rejected the job.
func toJob(id uint32, order func(uint32) error) {
	if id != 0 {
		mayBeRefused(order(id))
	}
}

// mayBeRefused ignores Slurm's rejection of invalid commands.
func mayBeRefused(err error) {
	if !errors.Is(err, errNoController) && !errors.Is(err, scontrol.ErrUnknownJob) && !errors.Is(err, scontrol.ErrJobEnded) {
		must.Do(err)
	}
}

// loseMachine deletes a machine without notice, or crashes it.
func loseMachine(at time.Duration, r *rand.Rand) []event {
	which, crash := r.Int(), r.IntN(2) == 0
	return []event{{at, func(_ context.Context, l *life) {
		names, lose := l.machines(), l.cloud.DeleteVM
		if crash {
			lose = l.cloud.StopVM
		}
		if len(names) > 0 {
			must.Do(lose(names[which%len(names)]))
		}
	}}}
}

// failRequest makes a request fail while it waits.
func failRequest(at time.Duration, r *rand.Rand) []event {
	codes := []string{"ZONE_RESOURCE_POOL_EXHAUSTED", "QUOTA_EXCEEDED", "INTERNAL_ERROR", "PERMISSIONS_ERROR"}
	which, code := r.Int(), codes[r.IntN(len(codes))]
	return []event{{at, func(_ context.Context, l *life) {
		if all := l.waiting(); len(all) > 0 {
			one := all[which%len(all)]
			must.Do(l.cloud.FailRequest(one.group, one.name, code, "it fails for the soak"))
		}
	}}}
}

// failCalls makes some calls of one kind to Compute fail.
func failCalls(at time.Duration, r *rand.Rand) []event {
	methods := []string{"*", "regionInstanceGroupManagers.*", "*ResizeRequests.*", "instances.*", "*perations.wait"}
	f := fakegce.Fault{Method: methods[r.IntN(len(methods))], Times: 1 + r.IntN(3)}
	switch r.IntN(6) {
	case 0:
		f.Status = http.StatusServiceUnavailable
	case 1:
		f.Status = http.StatusTooManyRequests
	case 2:
		f.Drop = true
	case 3:
		f.DropAfter = true
	case 4:
		f.Delay = 10 * time.Minute
	case 5:
		f.Lag = time.Minute
	}
	return []event{{at, func(_ context.Context, l *life) { must.Do(l.cloud.AddFault(f)) }}}
}

// hangCommand makes a Slurm command hang until it is killed.
func hangCommand(at time.Duration, _ *rand.Rand) []event {
	return []event{{at, func(_ context.Context, l *life) { l.slurmctld.mute.Store(1) }}}
}

// stopSlurmctld stops slurmctld for a while.
func stopSlurmctld(at time.Duration, _ *rand.Rand) []event {
	return []event{
		{at, func(_ context.Context, l *life) { l.slurm.Down(errNoController) }},
		{at + 20*time.Minute, func(_ context.Context, l *life) { l.slurm.Restart() }},
	}
}

// stopCapacity removes all capacity for an hour.
func stopCapacity(at time.Duration, _ *rand.Rand) []event {
	set := func(count int) func(context.Context, *life) {
		return func(_ context.Context, l *life) { l.cloud.SetCapacity("", "", count) }
	}
	return []event{{at, set(0)}, {at + time.Hour, set(-1)}}
}
