package demand

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// share is what a nodeset has set aside for a job that needs more nodes than are free, so that less
// important jobs do not take each node that becomes free.
type share struct {
	job   *slurm.Job
	names []string
	doors []*scene.Door // second doors that stay until the job needs their names
	due   time.Time     // when the job should have enough nodes, as far as known
}

const (
	// asideAhead is how far ahead a job may be due, like bf_window of Slurm's backfill.
	asideAhead = 24 * time.Hour

	// soonFree is how long a node without a job counts as free soon.
	soonFree = 30 * time.Minute
)

// setAside keeps free names for a job in that of its nodesets which should have enough nodes first.
// It keeps none where keep_idle applies, or if too few nodes without the static ones are due: Slurm
// gives idle machines to less important jobs, so the job could wait for ever while the free names
// lie idle.
func (h *Handout) setAside(s *scene.Scene, stocks map[*config.NodeSet]*stock, k *seeker) {
	late := lateOf(s, k.job)
	if late.Unknown || late.Refused != "" || !slices.ContainsFunc(k.places, func(set *config.NodeSet) bool { return len(stocks[set].obtainable()) > 0 }) {
		return
	}
	var best share
	var in *stock
	for _, set := range k.next(s) {
		of := stocks[set]
		asks, ok := h.asksOf(k.job, set)
		if !ok || set.Flex.KeepIdle > 0 || h.limits.obstacle(k.job, set) != "" || asks.needs != nil && of.keepsFor(k.job) {
			continue
		}
		a := share{job: k.job, names: asks.share(of.obtainable())}
		a.doors = over(of.second, a.names)
		a.due, ok = h.dueAt(s, of, set, k.job, asks)
		if ok && len(a.names) > 0 && a.due.Sub(s.Seen.Now) <= asideAhead && (in == nil || a.due.Before(best.due)) {
			best, in = a, of
		}
	}
	if in != nil {
		in.aside = append(in.aside, best)
		in.hide(len(in.aside) - 1)
	}
}

// keepsFor reports whether names are set aside for the job, or for another task in its row.
func (of *stock) keepsFor(j *slurm.Job) bool {
	return slices.ContainsFunc(of.aside, func(a share) bool { return a.job == j })
}

// asks is which nodes a job needs. It has those already that it keeps after the loss of others.
type asks struct {
	count                 int
	needs, excluded, kept []string
}

func (h *Handout) asksOf(j *slurm.Job, set *config.NodeSet) (a asks, ok bool) {
	for m := range h.kept {
		if m.Set == set && len(m.Machines) > 0 && m.Machines[0].Origin().Job == j.ID {
			a.kept = append(a.kept, m.Name)
		}
	}
	var err, bad error
	a.count = j.NodeCount
	a.needs, err = slurm.Expand(j.Needs)
	a.excluded, bad = slurm.Expand(j.Excludes)
	return a, err == nil && bad == nil
}

// fit returns those of the names that the job could use, the required ones first.
func (a asks) fit(names []string) []string {
	required := slices.DeleteFunc(slices.Clone(a.needs), func(name string) bool { return !slices.Contains(names, name) })
	if len(a.needs) >= a.count {
		return required
	}
	return append(required, without(without(names, a.excluded), required)...)
}

// share returns the free names that fit the job, at most as many as it needs besides the nodes that
// it has and the required nodes that are not free yet.
func (a asks) share(free []string) []string {
	fit := a.fit(free)
	most := a.count - len(a.kept) - len(without(without(a.needs, fit), a.kept))
	return fit[:max(0, min(len(fit), most))]
}

// dueAt returns when a nodeset should have enough nodes for a job, and whether it ever has, as far
// as Slurm's time limits show.
func (h *Handout) dueAt(s *scene.Scene, of *stock, set *config.NodeSet, j *slurm.Job, asks asks) (due time.Time, ok bool) {
	ends := map[string]time.Time{}
	for _, m := range s.Nodes() {
		end, known := busyUntil(s, m)
		if m.Set == set && (known || slices.Contains(asks.kept, m.Name)) {
			ends[m.Name] = scene.Later(end, s.Seen.Now)
		}
	}
	for _, name := range slices.Concat(of.obtainable(), of.coming, namesOf(of.left)) {
		ends[name] = s.Seen.Now
	}
	for _, w := range h.Wants {
		for _, name := range w.Nodes {
			if w.Set == set {
				ends[name] = s.Seen.Now.Add(lasts(w.Job, set))
			}
		}
	}
	for _, a := range of.aside {
		for _, name := range slices.Concat(a.names, nodesOf(a.doors)) {
			if a.job != j {
				ends[name] = a.due.Add(lasts(a.job, set))
			}
		}
	}
	fit := asks.fit(slices.Sorted(maps.Keys(ends)))
	if len(fit) < asks.count || len(without(asks.needs, fit)) > 0 {
		return time.Time{}, false
	}
	others := fit[len(asks.needs):]
	slices.SortFunc(others, func(a, b string) int { return ends[a].Compare(ends[b]) })
	for _, name := range fit[:asks.count] {
		due = scene.Later(due, ends[name])
	}
	return due, true
}

// lasts returns how long a job should have nodes of the nodeset at most: until its time limit or the
// end of their lease.
func lasts(j *slurm.Job, set *config.NodeSet) time.Duration {
	lease := cmp.Or(set.Flex.MaxRunDuration, config.NoLease)
	if j.Limit.Kind == slurm.LimitSet {
		return min(j.Limit.Duration, lease)
	}
	return lease
}

// busyUntil returns when a node should be free: when its jobs and its machine's lease have ended. A
// job that waits for machines cannot end before it has run. busyUntil reports false if that is
// unknown, or if the node is out of service or closed to such jobs. A node without a job is free
// soon, unless it has been without one for longer than soonFree: something may be in the way for
// ever.
func busyUntil(s *scene.Scene, m *scene.Node) (end time.Time, known bool) {
	const out = slurm.Drain | slurm.Fail | slurm.Maintenance
	switch {
	case m.State.Base == slurm.Down || m.State.Flags&out != 0 || m.Doubted || m.Set.IsStatic(m.Index) || s.IsUnread(m) || IsForeign(s, m):
		return time.Time{}, false
	case len(m.Holders) == 0:
		return s.Seen.Now, m.Door != nil || !s.IsOld(m.LastBusyTime, soonFree)
	}
	for _, j := range m.Holders {
		from := j.Start
		switch {
		case j.State == slurm.JobSuspended, j.Limit.Kind != slurm.LimitSet && m.Set.Flex.MaxRunDuration == 0:
			return time.Time{}, false
		case j.State == slurm.JobConfiguring: // also behind a door
			from = s.Seen.Now
		}
		end = scene.Later(end, from.Add(lasts(j, m.Set)))
	}
	if until, _ := s.FreeUntil(m); !until.IsZero() && until.Before(end) {
		end = until
	}
	return scene.Later(end, s.Seen.Now), true
}

// obtainable returns the names that a job's first place can have: the free names, and those of second
// doors.
func (of *stock) obtainable() []string { return slices.Concat(of.cold, nodesOf(of.second)) }

func nodesOf(doors []*scene.Door) (names []string) {
	for _, d := range doors {
		names = append(names, d.Nodes...)
	}
	return names
}

// hide takes what a share still has out of the stock.
func (of *stock) hide(i int) {
	a := &of.aside[i]
	a.names = slices.DeleteFunc(a.names, func(name string) bool { return !slices.Contains(of.cold, name) })
	a.doors = slices.DeleteFunc(slices.Clone(a.doors), func(d *scene.Door) bool { return !slices.Contains(of.second, d) })
	of.cold = without(of.cold, a.names)
	of.second = slices.DeleteFunc(slices.Clone(of.second), func(d *scene.Door) bool { return slices.Contains(a.doors, d) })
}

// mayUse reports whether a job may use the nodes of a share: its own, that of a less important job,
// or one that is due after the job ends.
func (h *Handout) mayUse(a share, j *slurm.Job, now time.Time) bool {
	return a.job == j || h.rank[j] < h.rank[a.job] || j.Limit.Kind == slurm.LimitSet && now.Add(j.Limit.Duration).Before(a.due)
}

// lend puts the shares that the job may use into the stock. The returned function takes the rest out
// again.
func (h *Handout) lend(of *stock, j *slurm.Job, now time.Time) (reclaim func()) {
	cold, second, lent := of.cold, of.second, []int(nil)
	for i, a := range of.aside {
		if h.mayUse(a, j, now) {
			of.cold, of.second, lent = slices.Concat(of.cold, a.names), slices.Concat(of.second, a.doors), append(lent, i)
		}
	}
	if len(lent) == 0 {
		return func() {}
	}
	slices.Sort(of.cold)
	names, doors := len(of.cold), len(of.second)
	return func() {
		if len(of.cold) == names && len(of.second) == doors {
			of.cold, of.second = cold, second
			return
		}
		for _, i := range lent {
			of.hide(i)
		}
	}
}

// reserved returns the names without machines that the job gets in a later pass, or that are set
// aside for it.
func (h *Handout) reserved(j *slurm.Job) []string {
	names := slices.Clone(h.promised[j])
	for _, shares := range h.aside {
		for _, a := range shares {
			if a.job == j {
				names = append(names, a.names...)
			}
		}
	}
	return names
}

// withhold takes the names that are promised to jobs, or set aside for them, out of new stocks.
func (h *Handout) withhold(stocks map[*config.NodeSet]*stock) {
	for set, of := range stocks {
		for _, names := range h.promised {
			of.cold = without(of.cold, names)
		}
		of.aside = slices.Clone(h.aside[set])
		for i := range of.aside {
			of.hide(i)
		}
	}
}

// keptFor returns the names in the shares that the job may use, and those in other shares with the
// most important of their jobs.
func (h *Handout) keptFor(of *stock, j *slurm.Job, now time.Time) (own, others []string, by *slurm.Job) {
	for _, a := range of.aside {
		switch {
		case len(a.names) == 0:
		case h.mayUse(a, j, now):
			own = append(own, a.names...)
		default:
			others, by = append(others, a.names...), cmp.Or(by, a.job)
		}
	}
	return own, others, by
}
