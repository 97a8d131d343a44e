package scene

import (
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Lease returns the run duration to request, in whole seconds. Without use_job_duration it is the
// nodeset's max_run_duration. With use_job_duration it is the longest need of the jobs that hold
// the nodes, at least mig.MinDuration and at most max_run_duration. A job without a time limit, or
// with an unreadable one, needs the maximum. Lease returns 0 for machines without a lease.
func Lease(flex *config.Flex, jobs []*slurm.Job) time.Duration {
	longest := min(flex.MaxRunDuration, mig.MaxDuration)
	if !flex.UseJobDuration || len(jobs) == 0 {
		return longest
	}
	var need time.Duration
	for _, j := range jobs {
		if j.Limit.Kind != slurm.LimitSet {
			return longest
		}
		need = max(need, j.Limit.Duration+flex.JobDurationMargin)
	}
	return min(max(need, mig.MinDuration), longest)
}

// bootLoss is the part of a lease that a boot may use up. An instance with a lease that is shorter
// than the job needs by at most this much is as good as a new one.
const bootLoss = 5 * time.Minute

// isLeftover returns the value of Machine.Leftover. The instance cannot serve the job for one of two reasons. Either the instance has had
// its time to boot, or has registered before the job was allocated the node: slurmctld ignores a slurmd that
// booted before the node was last powered up, so the node can never register. Or its lease ends before the job
// could finish.
//
// An instance serves the job that it was created for, unless its time to boot had already passed
// when the job was allocated the node, as after a requeue to the same node. The instance of a group
// that jobs share was created for the job that held the node at that time. An instance that was
// created for the node itself serves all jobs in the same way.
func (s builder) isLeftover(in Machine) bool {
	m, stamp := in.Node, in.Origin
	if m == nil || m.Power != Rising {
		return false
	}
	job := m.Owner
	if job == nil || in.Created.IsZero() || !in.Created.Before(job.Start) {
		return false
	}
	limit := m.Set.Flex.BootTimeout
	spent := limit > 0 && s.IsOld(in.Created, limit) || s.hasBootedSince(m.Name, in.Created) && m.BootTime.Before(job.Start)
	serves := func(j *slurm.Job) bool {
		return (!stamp.ForJobs() || j.ID == stamp.Job) && (!spent || j.Start.Before(in.Created.Add(limit)))
	}
	if slices.ContainsFunc(m.Holders, serves) {
		return false
	}
	return spent || isTooShort(in, job, job.Start, m.Set.Flex.MaxRunDuration)
}

// isTooShort reports whether a job that starts at start could finish on a new lease but not on the
// instance's lease. longest is the longest new lease; 0 means that leases never end.
func isTooShort(in Machine, job *slurm.Job, start time.Time, longest time.Duration) bool {
	end := in.End()
	if end.IsZero() || job.Limit.Kind != slurm.LimitSet || longest > 0 && job.Limit.Duration > longest {
		return false
	}
	return end.Before(start.Add(job.Limit.Duration - bootLoss))
}

// End returns when the instance ends by its lease or for maintenance. Compute states this only once
// the instance runs. Until then, End estimates the time from the request that created the instance.
// It returns zero if neither is known.
func (in Machine) End() time.Time {
	if until := in.Until(); !until.IsZero() || in.Maker == nil {
		return until
	}
	for _, r := range slices.Backward(in.Maker.Requests) { // earlier jobs may have used the node
		if r.State == mig.Succeeded && r.Names(in.Name) && r.Duration > 0 {
			return in.Created.Add(r.Duration)
		}
	}
	return time.Time{}
}

// Requested returns the lease in the request that created the instance; 0 if no recorded request shows it.
func (in Machine) Requested() (lease time.Duration) {
	if in.Owned == nil {
		return 0
	}
	for _, r := range in.Owned.Requests {
		if r.Names(in.Name) && r.State != mig.Failed && r.State != mig.Cancelled && !r.Created.After(in.Created) {
			lease = r.Duration
		}
	}
	return lease
}

// Ending describes what ends the instance at Until: its lease, or maintenance of its host.
func (in Machine) Ending() string {
	if in.Until().Equal(in.Terminates) {
		return "its lease ends"
	}
	return "maintenance of its host begins"
}

// End is when a job's first machine ends, and why.
type End struct {
	At   time.Time
	Node *Node
	What string // what happens at that time
}

// addEnds finds, for each job, the machine that ends first. In an unread region an end that this
// process saw earlier counts.
func (s builder) addEnds() {
	for _, m := range s.Nodes {
		for _, in := range m.Machines {
			if in.Until().IsZero() || !in.Ours {
				continue
			}
			what := leaseEnds
			if !in.Until().Equal(in.Terminates) {
				what = "maintenance of the host of " + in.Name + " begins"
			}
			s.addEnd(End{in.Until(), m, what})
		}
		if seen, known := s.Seen.Ends[m.Name]; known && s.isHidden(m) {
			s.addEnd(End{seen, m, leaseEnds + " or maintenance of a host begins"})
		}
	}
}

const leaseEnds = "the lease of its nodes ends"

func (s builder) addEnd(e End) {
	for _, j := range e.Node.Holders {
		if first, other := s.Ends[j.ID]; !other || e.At.Before(first.At) {
			s.Ends[j.ID] = e
		}
	}
}

// ShortEnd returns when the machine of a node that is up ends, if the machine was created for
// another job and its lease is too short for this job; otherwise zero.
func (s *Scene) ShortEnd(job *slurm.Job, m *Node) time.Time {
	if m == nil || m.Power != On {
		return time.Time{}
	}
	for _, in := range m.Machines {
		if in.Ours && in.Origin.Job != job.ID && s.Seen.Skew <= MaxSkew && isTooShort(in, job, s.Seen.Now, m.Set.Flex.MaxRunDuration) {
			return in.Until()
		}
	}
	return time.Time{}
}

// ShortLease returns when the first machine behind the door that a pending job uses ends, if the job
// would run longer even if it started now: its time limit was raised after Google had granted the
// machines. Otherwise it returns zero.
func (s *Scene) ShortLease(job *slurm.Job) (first time.Time) {
	if job.Limit.Kind != slurm.LimitSet || s.Seen.Skew > MaxSkew {
		return time.Time{}
	}
	longest := s.Seen.Now.Add(job.Limit.Duration - config.CloseEnough)
	for _, d := range s.DoorsOf(job.ID) {
		for _, name := range d.Nodes {
			for _, in := range s.Named(name).Machines {
				end := in.End()
				if d.Named && in.Ours && !end.IsZero() && end.Before(longest) && (first.IsZero() || end.Before(first)) {
					first = end
				}
			}
		}
	}
	return first
}

// FreeUntil returns when the machine of a warm node ends, or when the next reservation of the node
// starts, if that is earlier. It reports false if the machine's end is unknown, or unless the node
// has exactly one machine and that machine is ours. until is then the start of the reservation; zero
// if there is none.
func (s *Scene) FreeUntil(m *Node) (until time.Time, known bool) {
	if len(m.Machines) == 1 && m.HasMachine() {
		until = m.Machines[0].End().Truncate(time.Minute)
		if known = !until.IsZero() || m.Set.Flex.MaxRunDuration == 0; until.IsZero() && known {
			until = s.Seen.Now.Add(config.NoLease)
		}
	}
	for _, r := range m.Reserved {
		if ended := !r.End.IsZero() && !r.End.After(s.Seen.Now); !ended && (until.IsZero() || r.Start.Before(until)) {
			until = r.Start
		}
	}
	return until, known
}

// KeptUntil returns when the idle dynamic node is powered down. end is when its lease
// ends or announced maintenance of its host starts. The node is powered down after keep_idle, or
// when too little of the lease is left to be useful, whichever is first. KeptUntil returns zero for
// a node that is not kept, and while Slurm does not show since when the node is idle.
//
// slurmctld sets LastBusyTime when a job leaves the node and when the node's slurmd registers.
// Slurm 22.05 and 23.11 also set it for all nodes when slurmctld starts.
func (m *Node) KeptUntil(end time.Time) time.Time {
	if m.Set.Flex.KeepIdle == 0 || m.LastBusyTime.IsZero() {
		return time.Time{}
	}
	until := m.LastBusyTime.Add(m.Set.Flex.KeepIdle)
	if useful := end.Add(-config.UsefulLease); !end.IsZero() && useful.Before(until) {
		return useful
	}
	return until
}
