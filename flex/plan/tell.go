package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// OwnComment begins every AdminComment that we write. One that begins otherwise
// is somebody else's, and stays.
const OwnComment = "flex-start: "

const warnedForm = OwnComment + "told %s: "

// Warning is the AdminComment of a job that Slurm would not requeue, from when
// its owner was told that it would be lost.
func Warning(at time.Time, text string) string {
	return fmt.Sprintf(warnedForm, at.UTC().Format(time.RFC3339)) + text
}

// WarnedAt tells when the owner of a job with that AdminComment was told that
// it would be lost. It reports false if that has not happened.
func WarnedAt(comment string) (time.Time, bool) {
	text, told := strings.CutPrefix(comment, OwnComment+"told ")
	word, _, ok := strings.Cut(text, ": ")
	at, err := time.Parse(time.RFC3339, word)
	return at, told && ok && err == nil
}

// ToldFailures is how many attempts the owner of a job with that AdminComment was
// told to have failed; 0 if none.
func ToldFailures(comment string) (n int) {
	if _, text, ok := strings.Cut(comment, "attempt "); ok && strings.HasPrefix(comment, OwnComment) {
		_, _ = fmt.Sscanf(text, "%d failed", &n)
	}
	return n
}

// TellJob writes a job's AdminComment, which its owner sees in scontrol show job
// and in squeue -O admin_comment.
type TellJob struct {
	Job  uint32
	Text string
	Why
}

func (a TellJob) String() string { return fmt.Sprintf("tell job %d %q", a.Job, a.Text) }

// Queue is the job's own.
func (a TellJob) Queue() string { return jobQueue(a.Job) }

func jobQueue(id uint32) string { return fmt.Sprintf("job/%d", id) }

// tellsAtOnce is how many AdminComments a round writes at most. Each is two of
// slurmctld's calls, and a shared node may have hundreds of jobs.
const tellsAtOnce = 100

// tellJobs lets the owners of jobs know what their nodes wait for, and when
// they end before the job may. What a job was told last is not told again, and
// what the give-back of this plan tells it stands.
func (w *world) tellJobs(cohorts []*cohort) {
	waits := map[uint32][]string{}
	for _, c := range cohorts {
		for _, j := range w.holders(c.nodes) {
			if text := w.waitText(c, j); text != "" && j.State != slurm.JobCompleting {
				waits[j.ID] = append(waits[j.ID], text)
			}
		}
	}
	texts := map[uint32]string{}
	for id, some := range waits {
		texts[id] = OwnComment + strings.Join(slices.Compact(some), "; ")
		if at, warned := WarnedAt(w.snap.Told[id]); warned {
			texts[id] = Warning(at, strings.Join(slices.Compact(some), "; "))
		}
	}
	waited := w.waited()
	for i := range w.snap.Jobs {
		switch j := &w.snap.Jobs[i]; {
		case waits[j.ID] != nil || w.isLosing(j):
		case holdsNodes(j.State):
			texts[j.ID] = w.endText(j, waited[j.ID])
			if lost := w.lossText(j); lost != "" {
				texts[j.ID] = OwnComment + lost
			}
		case j.State.Waits() && isOfNodes(w.snap.Told[j.ID]):
			texts[j.ID] = OwnComment + toldBack
		}
	}
	for _, id := range w.returned() {
		delete(texts, id)
	}
	w.tell(texts)
}

// tell plans to write these AdminComments, by job, unless they are there already.
// Where there are too many, jobs that were told nothing yet come first.
func (w *world) tell(texts map[uint32]string) {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(id uint32) bool {
		return texts[id] == "" || texts[id] == w.snap.Told[id]
	})
	slices.SortStableFunc(ids, func(a, b uint32) int {
		return cmp.Compare(min(len(w.snap.Told[a]), 1), min(len(w.snap.Told[b]), 1))
	})
	if more := len(ids) - tellsAtOnce; more > 0 {
		ids = ids[:tellsAtOnce]
		w.expect(fmt.Sprintf("%d more jobs to be told what they wait for", more))
	}
	for _, id := range ids {
		w.add(TellJob{Job: id, Text: texts[id], Why: "its owner should know"})
	}
}

// returned are the jobs whose nodes the plan gives back.
func (w *world) returned() (ids []uint32) {
	for _, a := range w.plan.Actions {
		if a, ok := a.(GiveBack); ok {
			ids = append(append(ids, a.Job), a.Others...)
		}
	}
	return ids
}

// What a job is told of nodes that it has, which is over when it has none.
const (
	toldWaiting = "waiting "
	toldThere   = "its nodes are there, until "
	toldEnd     = "its nodes end at "
	toldBack    = "its nodes went back to Slurm; slurmflex requests machines again once Slurm allocates nodes to the job"
)

// isOfNodes reports whether an AdminComment of ours speaks of nodes that the job has.
func isOfNodes(comment string) bool {
	text, ours := strings.CutPrefix(comment, OwnComment)
	return ours && slices.ContainsFunc([]string{toldWaiting, toldThere, toldEnd}, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// waitText says to a job of a cohort's nodes what they wait for; empty if there is
// nothing to say yet.
func (w *world) waitText(c *cohort, j *slurm.Job) string {
	if c.obstacle != "" {
		return c.obstacle
	}
	if c.live == nil {
		if refused := w.snap.Refused[c.group]; refused.Message != "" && refused.Times == 0 && c.mayAsk {
			return fmt.Sprintf("the request could not be made (%s): %s; trying again", refused.Cause, strings.TrimSuffix(refused.Message, "."))
		}
		return ""
	}
	r := c.live.request
	waited := w.snap.Now.Sub(r.Created)
	if waited < tellAfter && r.Message == "" {
		return ""
	}
	if since := cmp.Or(j.Start, waitsSince(c)); !since.IsZero() {
		waited = w.snap.Now.Sub(since) // also for earlier requests
	}
	text := fmt.Sprintf(toldWaiting+"%s for %d × %s for %s", roughly(waited), len(r.Instances), w.machineType(c), clock(r.Duration))
	if limit := j.Limit; limit.Kind == slurm.LimitSet && limit.Duration > r.Duration {
		text += ", less than its time limit of " + clock(limit.Duration)
	}
	if r.Message != "" {
		text += "; last attempt: " + r.Message
	}
	return text
}

// isLosing reports whether the job's owner was told that it would be lost, and
// its nodes are not all up yet: what it was told stands.
func (w *world) isLosing(j *slurm.Job) bool {
	_, warned := WarnedAt(w.snap.Told[j.ID])
	return warned && slices.ContainsFunc(j.Nodes, func(name string) bool {
		return w.nodes[name] != nil && w.nodes[name].power == rising
	})
}

// endText says when a job's nodes end, if that is before its time limit, or if
// its owner was told that it waits, which it does no longer; else it is empty.
func (w *world) endText(j *slurm.Job, waited bool) string {
	end := w.firstEnd(j)
	switch {
	case end.IsZero():
		return ""
	case w.outlives(j, end):
		return OwnComment + toldEnd + end.UTC().Format(time.RFC3339) + ", before its time limit"
	case waited && w.haveCome(j):
		return OwnComment + toldThere + end.UTC().Format(time.RFC3339)
	}
	return ""
}

// haveCome reports whether each of the job's nodes has its machine, and is up or
// will be.
func (w *world) haveCome(j *slurm.Job) bool {
	return j.State != slurm.JobCompleting && !slices.ContainsFunc(j.Nodes, func(name string) bool {
		m := w.nodes[name]
		stays, _ := w.machine(name)
		return m != nil && (!stays || m.power != rising && m.power != up)
	})
}

// firstEnd is when the first of the job's nodes ends; zero if none is known to.
func (w *world) firstEnd(j *slurm.Job) (first time.Time) {
	for _, name := range j.Nodes {
		for _, in := range w.instances[name] {
			if !in.Terminates.IsZero() && w.ours(in) && (first.IsZero() || in.Terminates.Before(first)) {
				first = in.Terminates
			}
		}
	}
	return first
}

// outlives reports whether the job may run on after its nodes have ended. Until
// it runs its start is not known, and only a limit longer than the longest lease
// tells.
func (w *world) outlives(j *slurm.Job, end time.Time) bool {
	switch {
	case j.Limit.Kind == slurm.LimitUnknown:
		return false
	case j.Limit.Kind != slurm.LimitSet:
		return true
	case j.State == slurm.JobRunning && !j.Start.IsZero():
		return j.Start.Add(j.Limit.Duration).After(end)
	}
	return slices.ContainsFunc(j.Nodes, func(name string) bool {
		m := w.nodes[name]
		return m != nil && j.Limit.Duration > min(m.set.Flex.MaxRunDuration, mig.MaxDuration)
	})
}

// waited are the jobs whose owner, or a comment of whose nodes, was told of a
// wait.
func (w *world) waited() map[uint32]bool {
	jobs := map[uint32]bool{}
	for id, text := range w.snap.Told {
		jobs[id] = strings.HasPrefix(text, OwnComment)
	}
	for _, m := range w.members {
		if strings.HasPrefix(m.Comment, waitPrefix) {
			for _, j := range m.jobs {
				jobs[j.ID] = true
			}
		}
	}
	return jobs
}

// machineType is the nodeset's, from its template, or else the nodeset's name.
func (w *world) machineType(c *cohort) string {
	return cmp.Or(w.snap.Templates[c.set.Template].Template.MachineType, c.set.Name)
}

// roughly gives a wait in steps that grow with it, so that what a job is told
// does not change every round: minutes, from an hour on tens of minutes.
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
