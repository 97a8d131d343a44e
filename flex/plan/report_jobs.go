package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// tellsAtOnce is how many AdminComments a pass writes at most. Each is two of
// slurmctld's calls, and a shared node may have hundreds of jobs.
const tellsAtOnce = 100

// notify lets the owners of jobs know what their nodes wait for, and when
// they end before the job may. What a job was told last is not told again, nor
// anything beside a return.
func (d *draft) notify(w *wanted, verdicts []verdict) {
	waits := map[uint32][]string{}
	for _, v := range verdicts {
		for _, j := range v.cohort.holders {
			if text := v.notice(w, j); text != "" && j.State != slurm.JobCompleting {
				waits[j.ID] = append(waits[j.ID], text)
			}
		}
	}
	texts := map[uint32]string{}
	for id, some := range waits {
		texts[id] = memo.OwnComment + strings.Join(slices.Compact(some), "; ")
	}
	waited, back := waited(w.scene), map[uint32]string{} // by heterogeneous job, which Slurm takes back as a whole
	for _, v := range verdicts {
		if v.do == goesBack && v.cohort.job.HetID != 0 {
			back[v.cohort.job.HetID] = memo.OwnComment + v.back.Comment(v.cohort.job.ID, time.Time{})
		}
	}
	for i := range w.scene.Seen.Jobs {
		switch j := &w.scene.Seen.Jobs[i]; {
		case back[j.HetID] != "" && j.State.HoldsNodes() && j.State != slurm.JobCompleting:
			texts[j.ID] = back[j.HetID]
		case waits[j.ID] != nil:
		case j.State.HoldsNodes():
			texts[j.ID] = endText(w.scene, j, waited[j.ID])
			if lost := lossText(w.scene, j, d.plan.Losses); lost != "" {
				texts[j.ID] = memo.OwnComment + w.lossComment(j.ID, lost)
			}
		case j.State.Waits() && len(w.scene.DoorsOf(j.ID)) == 0 && memo.IsOfNodes(w.scene.Seen.Told[j.ID]):
			texts[j.ID] = memo.OwnComment + memo.Back
		}
	}
	d.tell(w.scene.Seen.Told, texts)
	for _, r := range d.yielded {
		d.addCancel(CancelRequest{Of: of(r.Group), Request: r.Request.Name, Yields: true, Why: "a more important request waits for its place"})
	}
}

// tell plans to write these AdminComments, by job, except those that are unchanged. If there are
// too many, jobs with a yielding request come first, then jobs without an AdminComment of ours.
func (d *draft) tell(told, texts map[uint32]string) {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(id uint32) bool {
		return texts[id] == "" || texts[id] == told[id] || d.heard[id]
	})
	slices.SortStableFunc(ids, func(a, b uint32) int {
		rank := func(id uint32) int {
			if _, yields := d.before[id]; yields {
				return -1
			}
			return min(len(told[id]), 1)
		}
		return cmp.Compare(rank(a), rank(b))
	})
	if more := len(ids) - tellsAtOnce; more > 0 {
		ids = ids[:tellsAtOnce]
		d.expect(fmt.Sprintf("%d more jobs to be told what they wait for", more))
	}
	for _, id := range ids {
		d.add(CommentJob{OfJob: OfJob{id}, Text: texts[id], Before: d.before[id], Why: "its owner should know"})
	}
}

// notice says to a job of the cohort's nodes what they wait for; empty if there is
// nothing to say yet.
func (v verdict) notice(w *wanted, j *slurm.Job) string {
	c, n := v.cohort, v.queued
	if why := v.obstacle(); why != "" {
		return why
	}
	if n.Request == "" {
		return ""
	}
	waited := w.scene.Seen.Now.Sub(n.Requested)
	if waited < tellAfter && n.Message == "" {
		return ""
	}
	if since := cmp.Or(j.Start, waitsSince(c)); !since.IsZero() {
		waited = w.scene.Seen.Now.Sub(since) // also for earlier requests
	}
	wanted := c.live.Request.Size()
	if c.shares() {
		wanted = len(c.nodes)
	}
	text := fmt.Sprintf(memo.Waiting+"%s for %d × %s for %s", roughly(waited), wanted, w.scene.MachineType(c.set), clock(n.Lease))
	if others := c.live.Request.Size() - 1; c.shares() && others > 0 {
		text += fmt.Sprintf(", requested with %d others", others)
	}
	if limit := j.Limit; limit.Kind == slurm.LimitSet && limit.Duration > n.Lease {
		text += ", less than its time limit of " + clock(limit.Duration)
	}
	if c.hasRivals() {
		text += " in partition " + j.Partition
	}
	if n.Message != "" {
		text += "; last attempt: " + n.Brief()
	}
	return text
}

// lossText says to a job that machines of its nodes are gone; empty if none is, or
// Slurm still gets an answer from one of them and no second list misses its machine: a list
// may be wrong for a moment.
func lossText(s *scene.Scene, j *slurm.Job, losses []scene.Loss) (text string) {
	for _, l := range losses {
		answers := func(name string) bool {
			return !s.Node(name).State.Has(slurm.NotResponding) && !s.IsLost(s.Node(name))
		}
		if slices.Contains(l.Jobs, j.ID) && !slices.ContainsFunc(l.Nodes, answers) {
			if text != "" {
				text += "; "
			}
			text += l.String()
		}
	}
	return text
}

// endText says when a job's nodes end, if that is before its time limit, or if
// its owner was told that it waits, which it does no longer; else it is empty.
func endText(s *scene.Scene, j *slurm.Job, waited bool) string {
	end, _ := s.FirstEnd(j)
	text := memo.OwnComment
	switch {
	case end.IsZero():
		return ""
	case outlives(s, j, end):
		text += memo.End + end.UTC().Format(time.RFC3339) + ", before its time limit"
	case waited && haveCome(s, j):
		text += memo.There + end.UTC().Format(time.RFC3339)
	default:
		return ""
	}
	if told := s.Seen.Told[j.ID]; memo.Continues(told, text) {
		return told // it stays as it is when the records that say so go
	}
	if !haveCome(s, j) {
		return text
	}
	return text + waitText(s, j)
}

// waitText says how long the job has waited for its machines, as the notice did while it
// waited: from when it was given its nodes, or from its first request if it runs, which
// sets its start, to the last machine. It is empty if the records do not say, or others'
// machines were there.
// slurmdbd stores it with the job's end, so that sacct has it.
func waitText(s *scene.Scene, j *slurm.Job) string {
	var first, last time.Time
	var types []string
	count := 0
	for _, name := range j.Nodes {
		for _, in := range s.MachinesOf(name) {
			if in.Maker == nil || !scene.IsFor(in.Maker.Stamp, j) || in.Node == nil {
				continue
			}
			count++
			if in.Created.After(last) {
				last = in.Created
			}
			for _, r := range in.Maker.Requests {
				shared := in.Maker.Stamp.Array != 0 // then its own is the newest for the node
				if first.IsZero() || !shared && r.Created.Before(first) || shared && r.Names(name) {
					first = r.Created
				}
			}
			types = append(types, s.MachineType(in.Node.Set))
		}
	}
	if first.IsZero() {
		return ""
	}
	if start := j.Start.Add(-s.Seen.Skew); !j.Start.IsZero() && start.Before(first) {
		first = start
	}
	slices.Sort(types)
	return fmt.Sprintf(memo.Waited+"%s for %d × %s", roughly(last.Sub(first)), count, strings.Join(slices.Compact(types), ", "))
}

// haveCome reports whether each of the job's nodes has its machine, and is up or
// will be.
func haveCome(s *scene.Scene, j *slurm.Job) bool {
	return j.State != slurm.JobCompleting && !slices.ContainsFunc(j.Nodes, func(name string) bool {
		m := s.Node(name)
		stays, _ := s.Stays(name)
		return m != nil && (!stays || m.Power != scene.Rising && m.Power != scene.On)
	})
}

// outlives reports whether the job may run on after its nodes have ended. Until
// it runs its start is not known, and only a limit longer than the longest lease
// says.
func outlives(s *scene.Scene, j *slurm.Job, end time.Time) bool {
	switch {
	case j.Limit.Kind == slurm.LimitUnknown:
		return false
	case j.Limit.Kind != slurm.LimitSet:
		return true
	case j.State == slurm.JobRunning && !j.Start.IsZero():
		return j.Start.Add(j.Limit.Duration).After(end)
	}
	return slices.ContainsFunc(j.Nodes, func(name string) bool {
		m := s.Node(name)
		return m != nil && m.Set.Flex.MaxRunDuration > 0 && j.Limit.Duration > min(m.Set.Flex.MaxRunDuration, mig.MaxDuration)
	})
}

// waited are the jobs whose owner, or a comment of whose nodes, was told of a
// wait.
func waited(s *scene.Scene) map[uint32]bool {
	jobs := map[uint32]bool{}
	for id, text := range s.Seen.Told {
		jobs[id] = memo.IsOurs(text)
	}
	for _, m := range s.Nodes() {
		if memo.IsWait(m.Comment) {
			for _, j := range m.Holders {
				jobs[j.ID] = true
			}
		}
	}
	return jobs
}

// roughly gives a wait in steps that grow with it, so that what a job is told
// does not change every pass: minutes, from an hour on tens of minutes.
func roughly(d time.Duration) string {
	step := time.Minute
	if d >= time.Hour {
		step = 10 * time.Minute
	}
	d = d.Truncate(step)
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
