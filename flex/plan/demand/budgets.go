package demand

import (
	"cmp"
	"fmt"
	"maps"
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
		all = append(all, Measure{"GPU hours", float64(u.GPUHours), u.Used.GPU / time.Hour.Seconds(), u.Whole.GPU / time.Hour.Seconds()})
	}
	if u.Cost > 0 {
		all = append(all, Measure{u.Currency, float64(u.Cost), u.Used.Cost, u.Whole.Cost})
	}
	return all
}

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

// Budget is what a pass may still request within a limit.
type Budget struct {
	LimitUse
	jobs map[uint32]map[*scene.Door]scene.Amount // what jobs may still take
	rest scene.Amount                            // what machines without a job may still take
}

// Budgets are the limits, in the order of the configuration; none if the history could not be read,
// because it then holds back no job.
type Budgets []*Budget

// budgetsOf counts what machines and live requests may take; in unread regions, as last known.
func budgetsOf(w *Wanted) (all Budgets) {
	spent := w.Seen.Spent
	for i := range spent.Of {
		b := &Budget{LimitUse{Limit: w.Config.Options.Limits[i], Spending: spent.Of[i], Currency: spent.Currency}, map[uint32]map[*scene.Door]scene.Amount{}, scene.Amount{}}
		b.countMachines(w.Recalled())
		b.countRequests(w)
		b.Whole = b.whole()
		all = append(all, b)
	}
	return all
}

// countMachines counts the rest of each lease: from where the history ends, up to the end of the lease
// or, if that is earlier, of its jobs.
func (b *Budget) countMachines(s *scene.Scene) {
	for _, in := range s.Machines() {
		set := s.Config.FlexSetOf(in.Name)
		if set == nil || !s.Belongs(in) || in.Created.IsZero() {
			continue
		}
		from := scene.Later(in.Created, s.Seen.Spent.Counted[scene.LeaseOf(in.Zone, in.Name, in.Created)])
		jobs, door := usersOf(in.Node)
		amount := b.between(s.Seen.Spent.Hours[set.Name], from, scene.Later(s.Seen.Now, b.lasts(s, in, jobs)))
		for _, j := range jobs {
			b.add(s, j, door, amount.Times(1/float64(len(jobs))))
		}
		if len(jobs) == 0 && b.isOfAll() {
			b.rest = b.rest.Plus(amount)
		}
	}
}

// usersOf returns the jobs that have a node, or will have it behind a door.
func usersOf(m *scene.Node) ([]*slurm.Job, *scene.Door) {
	switch {
	case m == nil:
		return nil, nil
	case m.Owner() != nil:
		return slices.DeleteFunc(slices.Clone(m.Holders), func(j *slurm.Job) bool { return j.State == slurm.JobCompleting }), nil
	case m.Door != nil && m.Door.Taker != nil:
		return []*slurm.Job{m.Door.Taker}, m.Door
	}
	return nil, nil
}

// lasts returns the latest time until which a machine serves its jobs, or a static node; zero for an
// idle machine, which is deleted.
func (b *Budget) lasts(s *scene.Scene, in scene.Machine, jobs []*slurm.Job) (until time.Time) {
	if in.Leaving() || len(jobs) == 0 && (in.Node == nil || !in.Node.Set.IsStatic(in.Node.Index)) {
		return time.Time{}
	}
	for _, j := range jobs {
		from, lasts := s.Seen.Now, limitOf(j, in.Node.Set.Flex)
		if j.State.AtWork() && !j.Start.IsZero() {
			from = j.Start
		}
		until = scene.Later(until, from.Add(lasts))
	}
	if end := in.End(); !end.IsZero() && (until.IsZero() || end.Before(until)) {
		return end
	}
	if until.IsZero() {
		return b.To
	}
	return until
}

// limitOf returns the longest time that a job needs a machine. The time limit is Slurm's.
func limitOf(j *slurm.Job, flex *config.Flex) time.Duration {
	if j == nil || j.Limit.Kind != slurm.LimitSet {
		return config.NoLease
	}
	return j.Limit.Duration + flex.JobDurationMargin
}

// countRequests counts the nodes that requests name or that are being requested.
func (b *Budget) countRequests(w *Wanted) {
	counted := map[string]bool{}
	count := func(c *Claim, names []string, lease time.Duration) {
		names = slices.DeleteFunc(w.WithoutMachine(names), func(name string) bool { return counted[name] })
		for _, name := range names {
			counted[name] = true
		}
		b.add(w.Scene, c.Job, c.Door, b.amount(w.Scene, c, len(names), lease))
	}
	for _, r := range w.Recalled().LiveRequests() {
		for _, name := range r.Request.Instances {
			m := w.Node(name)
			if m == nil {
				continue
			}
			c := w.ClaimOf(m)
			if c == nil {
				c = &Claim{Set: m.Set, Job: w.Job(r.Group.Stamp.Job)}
			}
			count(c, []string{name}, r.Request.Duration)
		}
	}
	for _, c := range w.Claims {
		count(c, slices.DeleteFunc(slices.Clone(c.Nodes), func(name string) bool { return slices.Contains(c.Missing, name) }), c.Lease)
	}
}

// long returns the longest time that a machine with that lease serves the job in one period. A lease
// of 0 does not end.
func (b *Budget) long(j *slurm.Job, flex *config.Flex, lease time.Duration) time.Duration {
	if lease == 0 {
		lease = config.NoLease
	}
	return min(b.To.Sub(b.From), lease, limitOf(j, flex))
}

// amount returns what machines on a number of the claim's nodes may take.
func (b *Budget) amount(s *scene.Scene, c *Claim, nodes int, lease time.Duration) scene.Amount {
	return s.Seen.Spent.Hours[c.Set.Name].Times(float64(nodes) * b.long(c.Job, c.Set.Flex, lease).Hours())
}

// between returns what a machine takes between two times of the period.
func (b *Budget) between(hour scene.Amount, from, to time.Time) scene.Amount {
	if to.After(b.To) {
		to = b.To
	}
	return hour.Times(max(0, to.Sub(scene.Later(from, b.From)).Hours()))
}

// isOfAll reports whether the limit is that of the whole cluster.
func (b *Budget) isOfAll() bool { return b.Partition == "" && b.Account == "" && b.User == "" }

// covers reports whether the limit applies to a job, or to nodes without a job, as slurmflex cost
// charges them.
func (b *Budget) covers(s *scene.Scene, j *slurm.Job) bool {
	switch {
	case b.isOfAll():
		return true
	case j == nil:
		return false
	case b.Account != "":
		return s.Seen.Accounts[j.ID] == b.Account
	case b.User != "":
		return j.User == b.User
	}
	return j.Partition == b.Partition
}

// add counts what a job, or a node without a job, may take.
func (b *Budget) add(s *scene.Scene, j *slurm.Job, door *scene.Door, a scene.Amount) {
	if !b.covers(s, j) {
		return
	}
	id := uint32(0)
	if j != nil {
		id = j.ID
	}
	if b.jobs[id] == nil {
		b.jobs[id] = map[*scene.Door]scene.Amount{}
	}
	b.jobs[id][door] = b.jobs[id][door].Plus(a)
}

// whole returns all that counts.
func (b *Budget) whole() scene.Amount {
	sum := b.Used.Plus(b.rest)
	for _, id := range slices.Sorted(maps.Keys(b.jobs)) {
		sum = sum.Plus(b.ofJob(id))
	}
	return sum
}

// ofJob returns what a job may take. It starts behind one of its doors only, so the door with the
// largest amount counts.
func (b *Budget) ofJob(id uint32) scene.Amount {
	var most scene.Amount
	for door, a := range b.jobs[id] {
		if door != nil {
			most = scene.Amount{GPU: max(most.GPU, a.GPU), Cost: max(most.Cost, a.Cost)}
		}
	}
	return b.jobs[id][nil].Plus(most)
}

// Obstacle returns the limit that a request for the claim would pass; empty if there is none.
func (all Budgets) Obstacle(s *scene.Scene, c *Claim) string {
	for _, b := range all {
		if why := b.obstacle(s, c); why != "" {
			return why
		}
	}
	return ""
}

// Take counts a request for the claim.
func (all Budgets) Take(s *scene.Scene, c *Claim) {
	for _, b := range all {
		b.add(s, c.Job, c.Door, b.need(s, c))
		b.Whole = b.whole()
	}
}

// Uses returns what counts towards each limit.
func (all Budgets) Uses() (uses []LimitUse) {
	for _, b := range all {
		uses = append(uses, b.LimitUse)
	}
	return uses
}

// need returns what a request for the claim may take.
func (b *Budget) need(s *scene.Scene, c *Claim) scene.Amount {
	nodes := len(c.Missing)
	if nodes == 0 && c.Live == nil { // a static node before its renewal
		nodes = len(c.Nodes)
	}
	return b.amount(s, c, nodes, cmp.Or(c.Lease, scene.Lease(c.Set.Flex, c.Holders)))
}

// rounding is less than any amount that counts.
const rounding = 1e-6

func (b *Budget) obstacle(s *scene.Scene, c *Claim) string {
	if !b.covers(s, c.Job) {
		return ""
	}
	id := uint32(0)
	if c.Job != nil {
		id = c.Job.ID
	}
	was, before, need := b.ofJob(id), b.jobs[id][c.Door], b.need(s, c)
	b.add(s, c.Job, c.Door, need)
	then := b.Whole.Plus(b.ofJob(id)).Plus(was.Times(-1))
	b.jobs[id][c.Door] = before
	over := func(then float64, limit int) bool { return limit > 0 && then > float64(limit)+rounding }
	var taken, most, takes string
	switch {
	case over(then.GPU/time.Hour.Seconds(), b.GPUHours):
		taken, most, takes = hours(b.Whole.GPU), fmt.Sprintf("%d GPU hours", b.GPUHours), hours(need.GPU)
	case over(then.Cost, b.Cost):
		taken, most, takes = money(b.Whole.Cost), fmt.Sprintf("%d %s", b.Cost, b.Currency), money(need.Cost)
	default:
		return ""
	}
	what := "this job"
	if c.Job == nil {
		what = "this node"
	}
	return fmt.Sprintf("%sfor the limit of %s: %s of %s of %s are used or reserved; %s would take up to %s", memo.Waiting, b.Holder(), taken, most, b.PeriodName(b.Per), what, takes)
}

// hours formats GPU seconds as whole hours, rounded up.
func hours(seconds float64) string {
	return fmt.Sprintf("%.0f", max(0, math.Ceil(seconds/time.Hour.Seconds()-rounding)))
}

func money(amount float64) string { return fmt.Sprintf("%.2f", amount) }
