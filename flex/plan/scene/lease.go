package scene

import (
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Lease is the run duration to ask for, in whole seconds between
// mig.MinDuration and the nodeset's max_run_duration: that maximum, or with
// use_job_duration the longest need of the jobs that hold the nodes. A job
// without a time limit, or with one that cannot be read, needs the maximum. It is 0 where
// machines have none.
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

// bootLoss is how much of a lease a boot may well take: an instance that is no
// shorter than that by what a job needs is as good as a new one.
const bootLoss = 5 * time.Minute

// IsLeftover reports whether the instance of a rising node came for a job that
// has left the node, is from before another job was given the node, and cannot
// serve that one. Either it has had its time to boot: slurmctld hears no slurmd
// that booted before the node was last powered up, so it can never register. Or
// its lease ends before the job could finish. One of a group that tasks of an array share
// came for the task that was there when it was made; one that came for the node itself,
// for all jobs too, unless it had had its time to boot when they were given the node.
func (s *Scene) IsLeftover(m *Node, in Machine) bool {
	job, stamp := m.Owner(), in.Origin()
	if m.Power != Rising || job == nil || in.Created.IsZero() || !in.Created.Before(job.Start) ||
		slices.ContainsFunc(m.Holders, func(j *slurm.Job) bool { return j.ID == stamp.Job }) {
		return false
	}
	limit := m.Set.Flex.BootTimeout
	mayBoot := func(j *slurm.Job) bool { return limit == 0 || j.Start.Before(in.Created.Add(limit)) }
	if stamp.Job == 0 && stamp.Array == 0 && slices.ContainsFunc(m.Holders, mayBoot) {
		return false
	}
	return limit > 0 && s.IsOld(in.Created, limit) || isTooShort(in, job, job.Start, m.Set.Flex.MaxRunDuration)
}

// isTooShort reports whether the instance's lease ends before the job, if it
// began at start, could be done, and a lease of its own would not; longest is the longest
// of these, 0 if they have no end.
func isTooShort(in Machine, job *slurm.Job, start time.Time, longest time.Duration) bool {
	end := in.end()
	if end.IsZero() || job.Limit.Kind != slurm.LimitSet || longest > 0 && job.Limit.Duration > longest {
		return false
	}
	return end.Before(start.Add(job.Limit.Duration - bootLoss))
}

// end is when the instance ends by its lease or for maintenance, or about when it will: until it runs
// Compute does not say, and the request that made it does. It is zero if neither
// is known.
func (in Machine) end() time.Time {
	if until := in.Until(); !until.IsZero() || in.Maker == nil {
		return until
	}
	for _, r := range slices.Backward(in.Maker.Requests) { // tasks may have had the node before
		if r.State == mig.Succeeded && r.Names(in.Name) && r.Duration > 0 {
			return in.Created.Add(r.Duration)
		}
	}
	return time.Time{}
}

// Ending says what ends the instance then: its lease, or maintenance of its host.
func (in Machine) Ending() string {
	if in.Until().Equal(in.Terminates) {
		return "its lease ends"
	}
	return "maintenance of its host begins"
}

// EndOf says when the node's lease ended, or maintenance of its host began, if a reservation of ours says so.
func (s *Scene) EndOf(node string) (end time.Time, ended bool) {
	for _, h := range s.holds {
		if h.Kind == memo.LeaseHold && slices.Contains(h.Nodes, node) && s.IsOld(h.At, 0) && h.At.After(end) {
			end, ended = h.At, true
		}
	}
	return end, ended
}

// addEnds finds of each job's machines the one that ends first.
func (s *Scene) addEnds() {
	for _, m := range s.nodes {
		for _, in := range m.Machines {
			if in.Until().IsZero() || !s.Ours(in) {
				continue
			}
			for _, j := range m.Holders {
				if first, other := s.ends[j.ID]; !other || in.Until().Before(first.Until()) {
					s.ends[j.ID] = in
				}
			}
		}
	}
}

// FirstEnd is when the first of the job's nodes ends, and whose machine that is; zero if
// none is known to end.
func (s *Scene) FirstEnd(j *slurm.Job) (time.Time, Machine) {
	in, ends := s.ends[j.ID]
	if !ends {
		return time.Time{}, Machine{}
	}
	return in.Until(), in
}

// ShortEnd is when the machine of a node ends that is up, came for another job, and
// is too short for this one; zero if that is not so.
func (s *Scene) ShortEnd(job *slurm.Job, m *Node) time.Time {
	if m == nil || m.Power != On {
		return time.Time{}
	}
	for _, in := range m.Machines {
		if s.Ours(in) && in.Origin().Job != job.ID && s.Seen.Skew <= MaxSkew && isTooShort(in, job, s.Seen.Now, m.Set.Flex.MaxRunDuration) {
			return in.Until()
		}
	}
	return time.Time{}
}
