package fakeslurm

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/slurm"
)

// span is the period that a node is planned for a job.
type span struct{ start, end time.Time }

// chance is a node with the time when a job can first use it.
type chance struct {
	*node
	from time.Time
}

func (n *node) planned() bool { return !n.plan.start.IsZero() }

// shape holds what determines the reason of a job without -w, --exclude, --constraint, --gres or reservation.
type shape struct {
	in    *partition
	count int
	limit slurm.Limit
}

// bfWindow is how far ahead backfill plans (bf_window).
const bfWindow = 24 * time.Hour

// wait sets the reason of a job that cannot start now, and plans nodes for it if busy or reserved
// nodes become available.
func (p *pass) wait(j *job) {
	kind := shape{j.partition, j.count, j.limit}
	plain := j.reservation == nil && len(j.named)+len(j.excluded) == 0 && j.spec.Features+j.spec.Gres == "" && !j.spec.OneSwitch
	switch {
	case j.count > len(j.partition.nodes):
		j.reason = reasonTooMany
	case j.reservation != nil:
		j.reason = p.lacking(j)
	case plain && p.known[kind] != "":
		j.reason = p.known[kind]
	case p.blocked[j.partition] && p.judged >= maxJudged:
		j.reason = reasonPriority
	case !p.weigh(j) && plain:
		p.known[kind] = j.reason
	}
}

// lacking returns why a job cannot start now in a reservation of the right size.
func (p *pass) lacking(j *job) string {
	var absent []*node
	for _, n := range j.reservation.nodes {
		if n.barred(j, p.now, j.until(p.now)) {
			return reasonMaintenance
		}
		if !n.usable() && len(n.completing) == 0 {
			absent = append(absent, n)
		}
	}
	if len(absent) == 0 {
		return reasonResources
	}
	return reasonOutOfNodes + slurm.Fold(names(absent))
}

// weigh plans nodes for a job, or sets the reason why no planned nodes are possible.
func (p *pass) weigh(j *job) (planned bool) {
	chances := make([]chance, 0, len(j.partition.nodes))
	var absent []*node
	reserved, hidden, busy := false, false, false
	named := 0 // number of named nodes that are available
	for _, n := range j.partition.nodes {
		if !j.suits(n) {
			continue
		}
		from, clear := p.clear(j, n, p.freeFrom(n, j.partition))
		switch {
		case !n.usable() && len(n.completing) == 0:
			absent = append(absent, n)
		case !clear:
			reserved = true
		case n.hidden:
			hidden = true
		default:
			chances = append(chances, chance{n, from})
			busy = busy || len(n.jobs) > 0
			if slices.Contains(j.named, n) {
				named++
			}
		}
	}
	isAbsent := func(n *node) bool { return slices.Contains(absent, n) }
	enough := slices.DeleteFunc(together(j, chances, func(c chance) *node { return c.node }), func(list []chance) bool { return len(list) < j.count })
	switch {
	case named == len(j.named) && len(enough) > 0:
		p.plan(j, enough)
		return true
	case (reserved || hidden) && busy:
		p.block(j)
	case reserved && !slices.ContainsFunc(j.named, isAbsent):
		j.reason = reasonReserved
	default:
		j.reason = reasonOutOfNodes + slurm.Fold(names(absent))
	}
	return false
}

// clear returns when reservations first let the job run on the node, and whether that time is
// within bfWindow.
func (p *pass) clear(j *job, n *node, from time.Time) (at time.Time, ok bool) {
	for again := true; again; {
		again = false
		for _, r := range n.reservations {
			if r.bars(j) && r.within(from, j.until(from)) {
				from, again = r.end, true
			}
		}
	}
	return from, from.Before(p.now.Add(bfWindow))
}

// arrayPlans is how many of an array's tasks backfill plans (bf_max_job_array_resv).
const arrayPlans = 20

// plan plans nodes of one of the lists for a job, from the time when the last of them is free, and then for
// further tasks of its array, whether or not these may run beside the first.
func (p *pass) plan(j *job, lists [][]chance) {
	p.block(j)
	if p.judged++; !p.backfills {
		return
	}
	shows := false
	for task := range max(1, min(len(j.tasks), arrayPlans)) {
		chances, start := soonestOf(j, lists, p.now)
		if !start.Before(p.now.Add(bfWindow)) && task > 0 {
			return
		}
		if task == 0 && (j.start.IsZero() || start.Before(j.start)) { // a job plans in each of its partitions
			j.start, shows = start, true
		}
		if shows {
			j.planned = nil
			for _, c := range chances {
				j.planned = append(j.planned, c.node)
			}
			slices.SortFunc(j.planned, byOrder)
			if p.c.habits.startOfLastTask {
				j.start = start
			}
		}
		end := j.until(start)
		for _, c := range chances {
			if !c.planned() {
				c.plan = span{start, end}
			}
			c.plan.end = later(c.plan.end, end)
		}
		for _, list := range lists {
			for i, c := range list {
				if c.planned() {
					list[i].from = later(c.from, c.plan.end)
				}
			}
		}
	}
}

// soonestOf returns the nodes of the list that is complete first, and the time of that.
func soonestOf(j *job, lists [][]chance, now time.Time) (chances []chance, start time.Time) {
	for _, list := range lists {
		first, at := soonest(j, list), now
		for _, c := range first {
			at = later(at, c.from)
		}
		if chances == nil || at.Before(start) {
			chances, start = first, at
		}
	}
	return chances, start
}

// block keeps nodes for a job that waits for busy nodes: the nodes that it names, or else its
// whole partition. The main scheduler starts no later job on them.
func (p *pass) block(j *job) {
	j.reason = reasonPriority
	if !p.blocked[j.partition] {
		j.reason = reasonResources
	}
	kept := j.named
	if len(kept) == 0 && !p.blocked[j.partition] {
		p.blocked[j.partition] = true
		kept = j.partition.nodes
	}
	for _, n := range kept {
		p.guarded[n] = true
	}
}

// soonest returns the nodes to plan for a job: those that it names, and the others that are
// free first.
func soonest(j *job, chances []chance) []chance {
	chosen := make([]chance, 0, j.count+1)
	others := j.count - len(j.named)
	for _, c := range chances {
		if slices.Contains(j.named, c.node) {
			continue
		}
		at, _ := slices.BinarySearchFunc(chosen, c, func(a, b chance) int { return cmp.Or(a.from.Compare(b.from), byOrder(a.node, b.node)) })
		if at < others {
			chosen = slices.Insert(chosen, at, c)
			chosen = chosen[:min(len(chosen), others)]
		}
	}
	for _, c := range chances {
		if slices.Contains(j.named, c.node) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// freeFrom returns when the node has room for another job, according to the time limits of its
// jobs.
func (p *pass) freeFrom(n *node, in *partition) time.Time {
	from := p.now
	if n.planned() {
		from = n.plan.end
	}
	if n.vacant(in) {
		return from
	}
	first, last := n.jobs[0].until(n.jobs[0].start), from
	for _, j := range n.jobs {
		end := j.until(j.start)
		first, last = earlier(first, end), later(last, end)
	}
	if in.Exclusive || n.jobs[0].partition.Exclusive {
		return last
	}
	return later(first, from)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
