package fakeslurm

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/slurm"
)

// span is for how long a node is planned for a job.
type span struct{ start, end time.Time }

// chance is a node and from when on a job can have it.
type chance struct {
	*node
	from time.Time
}

func (n *node) planned() bool { return !n.plan.start.IsZero() }

// wait notes why a job is not started, and plans nodes for it if it only has to
// wait for others to end.
func (p *pass) wait(j *job) {
	if j.count > len(j.partition.nodes) {
		j.reason = reasonTooMany
		return
	}
	if p.judged++; p.judged > maxJudged {
		j.reason = reasonPriority
		return
	}
	chances := make([]chance, 0, len(j.partition.nodes))
	var absent []*node
	reserved, named := false, 0 // of those named, how many can be had
	for _, n := range j.partition.nodes {
		from := p.freeFrom(n, j.partition)
		switch {
		case !n.usable() && len(n.completing) == 0:
			absent = append(absent, n)
		case n.reservedBefore(j.until(from)), n.onlyFor != nil && n.onlyFor != j.reservation:
			reserved = true
		default:
			chances = append(chances, chance{n, from})
			if slices.Contains(j.named, n) {
				named++
			}
		}
	}
	isAbsent := func(n *node) bool { return slices.Contains(absent, n) }
	switch {
	case named == len(j.named) && len(chances) >= j.count:
		p.plan(j, chances)
	case reserved && !slices.ContainsFunc(j.named, isAbsent):
		j.reason = reasonReserved
	default:
		j.reason = reasonOutOfNodes + slurm.Fold(names(absent))
	}
}

// plan keeps nodes for a job from the time when the last of them is free.
func (p *pass) plan(j *job, chances []chance) {
	j.reason = reasonPriority
	if !p.blocked[j.partition] {
		j.reason = reasonResources
	}
	p.blocked[j.partition] = true
	chances = soonest(j, chances)
	j.start = p.now
	for _, c := range chances {
		if c.from.After(j.start) {
			j.start = c.from
		}
	}
	for _, c := range chances {
		if !c.planned() {
			c.plan = span{j.start, j.until(j.start)}
		}
	}
}

// soonest are the nodes that a job is to have: those that it names, and the
// others that can be had first.
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

// freeFrom is when a node has room for another job, by the time limits of those
// that have it.
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
