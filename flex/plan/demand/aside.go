package demand

import (
	"fmt"
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
	job  *slurm.Job
	cold []string
	left []*scene.Node
	due  time.Time // when the job should have enough nodes, as far as known
}

// setAside keeps the free nodes of a job's first nodeset that has enough nodes for it, free or busy.
func (h *Handout) setAside(s *scene.Scene, stocks map[*config.NodeSet]*stock, k *seeker) {
	if !slices.ContainsFunc(k.places, func(set *config.NodeSet) bool { return len(stocks[set].cold)+len(stocks[set].left) > 0 }) {
		return
	}
	asks, ok := asksOf(k.job)
	if !ok {
		return
	}
	for _, set := range k.next(s) {
		of := stocks[set]
		a := of.share(k.job, asks)
		if len(a.cold)+len(a.left) == 0 || h.limits.obstacle(k.job, set) != "" {
			continue
		}
		if a.due, ok = dueAt(s, of, set, asks); ok {
			of.aside = append(of.aside, a)
			of.hide(len(of.aside) - 1)
			return
		}
	}
}

// asks is which nodes a job needs.
type asks struct {
	count           int
	needs, excluded []string
}

func asksOf(j *slurm.Job) (a asks, ok bool) {
	needs, err := slurm.Expand(j.Needs)
	excluded, bad := slurm.Expand(j.Excludes)
	return asks{j.NodeCount, needs, excluded}, err == nil && bad == nil
}

// fit returns those of the names that the job could use, the required ones first.
func (a asks) fit(names []string) []string {
	required := slices.DeleteFunc(slices.Clone(a.needs), func(name string) bool { return !slices.Contains(names, name) })
	if len(a.needs) >= a.count {
		return required
	}
	return append(required, without(without(names, a.excluded), required)...)
}

// dueAt returns when a nodeset should have enough nodes for a job, and whether it ever has, as far
// as Slurm's time limits tell. Jobs behind doors count as if they had started when they got them.
func dueAt(s *scene.Scene, of *stock, set *config.NodeSet, asks asks) (due time.Time, ok bool) {
	ends := map[string]time.Time{}
	for _, m := range s.Nodes() {
		if end, known := busyUntil(s, m); m.Set == set && known {
			ends[m.Name] = end
		}
	}
	for _, name := range slices.Concat(of.cold, of.coming, namesOf(of.left)) {
		ends[name] = s.Seen.Now
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

// busyUntil returns when a node's jobs should have ended, at the latest with its machine's lease. It
// reports false if that is unknown, or if the node has no job, is not idle and is not being powered
// down.
func busyUntil(s *scene.Scene, m *scene.Node) (end time.Time, known bool) {
	const out = slurm.Drain | slurm.Fail | slurm.Maintenance
	switch {
	case m.State.Base == slurm.Down || m.State.Flags&out != 0 || m.Doubted || m.Set.IsStatic(m.Index) || s.IsUnread(m) || IsForeign(s, m):
		return time.Time{}, false
	case isWarm(m):
		return s.Seen.Now.Add(m.Set.Flex.KeepIdle), true
	case len(m.Holders) == 0:
		return s.Seen.Now, m.State.Has(slurm.PoweringDown) || m.State.Has(slurm.PowerDown)
	}
	for _, j := range m.Holders {
		lasts := m.Set.Flex.MaxRunDuration
		if j.Limit.Kind == slurm.LimitSet && (lasts == 0 || j.Limit.Duration < lasts) {
			lasts = j.Limit.Duration
		}
		if lasts == 0 {
			return time.Time{}, false
		}
		end = scene.Later(end, j.Start.Add(lasts))
	}
	if until, _ := s.FreeUntil(m); !until.IsZero() && until.Before(end) {
		end = until
	}
	return scene.Later(end, s.Seen.Now), true
}

// share returns the free nodes that fit a job, at most as many as it needs besides required nodes
// that are not free yet.
func (of *stock) share(j *slurm.Job, asks asks) share {
	a := share{job: j}
	fit := asks.fit(append(slices.Clone(of.cold), namesOf(of.left)...))
	most := asks.count - len(without(asks.needs, fit))
	for _, name := range fit[:min(len(fit), most)] {
		if i := slices.IndexFunc(of.left, func(m *scene.Node) bool { return m.Name == name }); i >= 0 {
			a.left = append(a.left, of.left[i])
		} else {
			a.cold = append(a.cold, name)
		}
	}
	return a
}

// hide takes what a share still has out of the stock.
func (of *stock) hide(i int) {
	a := &of.aside[i]
	a.cold = slices.DeleteFunc(a.cold, func(name string) bool { return !slices.Contains(of.cold, name) })
	a.left = slices.DeleteFunc(a.left, func(m *scene.Node) bool { return !slices.Contains(of.left, m) })
	of.cold = without(of.cold, a.cold)
	of.left = slices.DeleteFunc(of.left, func(m *scene.Node) bool { return slices.Contains(a.left, m) })
}

// mayUse reports whether a job may use the nodes of a share: its own, that of a less important job,
// or one that is not due before the job ends.
func (h *Handout) mayUse(a share, j *slurm.Job, now time.Time) bool {
	return a.job == j || h.rank[j] < h.rank[a.job] || j.Limit.Kind == slurm.LimitSet && !now.Add(j.Limit.Duration).After(a.due)
}

// lend puts the shares that the job may use into the stock. The returned function takes the rest out
// again.
func (h *Handout) lend(of *stock, j *slurm.Job, now time.Time) (reclaim func()) {
	cold, left, lent := of.cold, of.left, []int(nil)
	for i, a := range of.aside {
		if h.mayUse(a, j, now) {
			cold, left, lent = append(slices.Clone(cold), a.cold...), append(slices.Clone(left), a.left...), append(lent, i)
		}
	}
	if len(lent) == 0 {
		return func() {}
	}
	formerCold, formerLeft := of.cold, of.left
	slices.Sort(cold)
	slices.SortFunc(left, func(a, b *scene.Node) int { return a.At - b.At })
	of.cold, of.left = cold, left
	return func() {
		if len(of.cold) == len(cold) && len(of.left) == len(left) {
			of.cold, of.left = formerCold, formerLeft
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
				names = append(names, a.cold...)
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

// keptFor returns the names in the shares that the job may use, and for messages, for which other
// job nodes are set aside.
func (h *Handout) keptFor(of *stock, j *slurm.Job, now time.Time) (own []string, rest string) {
	for _, a := range of.aside {
		switch {
		case h.mayUse(a, j, now):
			own = append(own, a.cold...)
		case rest == "":
			rest = fmt.Sprintf("; others are kept for job %s, which is more important and needs %d", a.job.Name(), a.job.NodeCount)
		}
	}
	return own, rest
}
