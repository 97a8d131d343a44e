package demand

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// LimitUse is a limit on GPU hours or money, and what counts towards it in the present period.
type LimitUse struct {
	config.Limit
	scene.Spending
	Currency string
	Whole    scene.Amount // what was used, and what machines and live requests may still take
}

// Measure is a limited amount: GPU hours, or money.
type Measure struct {
	Unit              string
	Most, Used, Whole float64 // the limit; as in LimitUse
}

// Measures returns what the limit limits.
func (u LimitUse) Measures() (all []Measure) {
	if u.GPUHours > 0 {
		all = append(all, Measure{gpuHours, float64(u.GPUHours), u.Used.GPU / time.Hour.Seconds(), u.Whole.GPU / time.Hour.Seconds()})
	}
	if u.Cost > 0 {
		all = append(all, Measure{u.Currency, float64(u.Cost), u.Used.Cost, u.Whole.Cost})
	}
	return all
}

const gpuHours = "GPU hours"

// text formats an amount: GPU hours rounded up, money with cents.
func (m Measure) text(amount float64) string {
	if m.Unit == gpuHours {
		return fmt.Sprintf("%.0f", max(0, math.Ceil(amount-rounding)))
	}
	return fmt.Sprintf("%.2f", amount)
}

// rounding is less than any amount that counts.
const rounding = 1e-6

// Holder names what the limit is of.
func (u LimitUse) Holder() string {
	switch {
	case u.Account != "":
		return "account " + u.Account
	case u.User != "":
		return "user " + u.User
	case u.Partition != "":
		return "partition " + u.Partition
	}
	return "the cluster"
}

// covers reports whether the limit applies to a job, or to nodes without a job, as slurmflex cost
// charges them.
func (u LimitUse) covers(j *slurm.Job) bool {
	switch {
	case u.Partition+u.Account+u.User == "":
		return true
	case j == nil:
		return false
	case u.Account != "":
		return j.Account == u.Account
	case u.User != "":
		return j.User == u.User
	}
	return j.Partition == u.Partition
}

// use is what machines, or requests for machines, may still take.
type use struct {
	set   *config.NodeSet
	job   *slurm.Job // nil: none
	count float64    // of machines; less than one if jobs share a machine
	from  time.Time  // zero: a request, which may be granted at any time
	until time.Time
	lease time.Duration // of a request; 0: it does not end
}

// with returns the limit with a use that counts towards it: the time that falls into the period, and of
// a request as much as may fall into one period.
func (u LimitUse) with(s *scene.Scene, more use) LimitUse {
	if !u.covers(more.job) {
		return u
	}
	lasts := min(u.To.Sub(u.From), lasting(more.job, more.set.Flex))
	switch {
	case more.from.IsZero() && more.lease > 0:
		lasts = min(lasts, more.lease)
	case !more.from.IsZero():
		until := more.until
		if until.After(u.To) {
			until = u.To
		}
		lasts = max(0, until.Sub(scene.Later(more.from, u.From)))
	}
	perHour, hours := s.Seen.Spent.Hours[more.set.Name], more.count*lasts.Hours()
	u.Whole.GPU += perHour.GPU * hours
	u.Whole.Cost += perHour.Cost * hours
	return u
}

// lasting returns the longest time that a job needs a machine. The time limit is Slurm's.
func lasting(j *slurm.Job, flex *config.Flex) time.Duration {
	if j == nil {
		return config.NoLease
	}
	return runsFor(j) + flex.JobDurationMargin
}

// budgets are the limits, in the order of the configuration; none if the history could not be read,
// because it then holds back no job. A job that waits in several partitions counts in each.
type budgets []LimitUse

// budgetsOf counts what machines and live requests may take; in unread regions, as last known. asked
// returns the lease of a node that counts without a live request.
func budgetsOf(s *scene.Scene, asked func(*scene.Node) (lease time.Duration, counts bool)) (all budgets) {
	spent := s.Seen.Spent
	if len(spent.Of) == 0 {
		return nil
	}
	for i, of := range spent.Of {
		all = append(all, LimitUse{s.Config.Options.Limits[i], of, spent.Currency, of.Used})
	}
	for _, more := range append(usesOfMachines(s.Recalled), usesOfNodes(s, asked)...) {
		all.take(s, more)
	}
	return all
}

// usesOfMachines returns the rest of each lease: from where the history ends, up to the end of the lease
// or, if that is earlier, of its jobs.
func usesOfMachines(s *scene.Scene) (all []use) {
	for _, in := range s.Machines {
		set := s.Config.FlexSetOf(in.Name)
		if set == nil || !in.Belongs || in.Created.IsZero() {
			continue
		}
		jobs := []*slurm.Job{nil}
		if in.Node != nil && in.Node.Owner != nil {
			jobs = slices.DeleteFunc(slices.Clone(in.Node.Holders), func(j *slurm.Job) bool { return j.State == slurm.JobCompleting })
		}
		from := scene.Later(in.Created, s.Seen.Spent.Counted[scene.LeaseOf(in.Zone, in.Name, in.Created)])
		until := scene.Later(s.Seen.Now, servesUntil(s, in, jobs))
		for _, j := range jobs {
			all = append(all, use{set: set, job: j, count: 1 / float64(len(jobs)), from: from, until: until})
		}
	}
	return all
}

// servesUntil returns the latest time until which a machine serves its jobs, or a static node; zero for an
// idle machine, which is deleted.
func servesUntil(s *scene.Scene, in scene.Machine, jobs []*slurm.Job) (until time.Time) {
	if in.Leaving() || in.Node == nil || jobs[0] == nil && !in.Node.Static {
		return time.Time{}
	}
	for _, j := range jobs {
		from := s.Seen.Now
		if j != nil && j.State.AtWork() && !j.Start.IsZero() {
			from = j.Start
		}
		until = scene.Later(until, from.Add(lasting(j, in.Node.Set.Flex)))
	}
	if end := in.End(); !end.IsZero() && end.Before(until) {
		return end
	}
	return until
}

// usesOfNodes returns what the nodes without a machine may take that live requests name or that count as
// asked for.
func usesOfNodes(s *scene.Scene, asked func(*scene.Node) (lease time.Duration, counts bool)) (all []use) {
	for _, m := range s.Nodes {
		job, live := m.Owner, s.Recalled.Named(m.Name).Requests
		lease, counts := asked(m)
		if len(live) > 0 {
			job, lease, counts = cmp.Or(job, s.Jobs[live[0].Group.Stamp.Job]), live[0].Request.Duration, true
		}
		if counts && !m.HasMachine() {
			all = append(all, use{set: m.Set, job: job, count: 1, lease: lease})
		}
	}
	return all
}

// isAsked returns the lease of a node for which a request is being made.
func (w *Wanted) isAsked(m *scene.Node) (lease time.Duration, counts bool) {
	if c := w.ClaimOf(m); c != nil && !slices.Contains(c.Missing, m.Name) {
		return c.Lease, true
	}
	return 0, false
}

// isReserved returns the lease of a node that a pending job has a door over.
func isReserved(m *scene.Node) (lease time.Duration, counts bool) {
	if m.Door != nil && m.Door.Taker != nil {
		return scene.Lease(m.Set.Flex, []*slurm.Job{m.Door.Taker}), true
	}
	return 0, false
}

// request returns what a request for the claim may take.
func request(c *Claim) use {
	nodes := len(c.Missing)
	if nodes == 0 && c.Live == nil { // a static node before its renewal
		nodes = len(c.Nodes)
	}
	return use{set: c.Set, job: c.Job, count: float64(nodes), lease: c.Lease}
}

// Take counts a request for the claim.
func (all budgets) Take(s *scene.Scene, c *Claim) { all.take(s, request(c)) }

func (all budgets) take(s *scene.Scene, more use) {
	for i := range all {
		all[i] = all[i].with(s, more)
	}
}

// Obstacle returns the limit that a request for the claim would pass; empty if there is none.
func (all budgets) Obstacle(s *scene.Scene, c *Claim) string { return all.obstacle(s, request(c)) }

func (all budgets) obstacle(s *scene.Scene, more use) string {
	what := "this job"
	if more.job == nil {
		what = "this node"
	}
	for _, u := range all {
		now := u.Measures()
		for i, then := range u.with(s, more).Measures() {
			if u.covers(more.job) && then.Whole > then.Most+rounding {
				return fmt.Sprintf("%sfor the limit of %s: %s of %.0f %s of %s are used or reserved; %s would take up to %s", memo.Waiting, u.Holder(),
					now[i].text(now[i].Whole), then.Most, then.Unit, u.PeriodName(u.Per), what, then.text(then.Whole-now[i].Whole))
			}
		}
	}
	return ""
}
