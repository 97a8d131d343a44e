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

// toldFailures is how many attempts the owner of a job with that AdminComment was
// told to have failed; 0 if none.
func toldFailures(comment string) (n int) {
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

// tellJobs lets the owners of jobs know what their nodes wait for, and when
// they end before the job may. What a job was told last is not told again.
func (w *world) tellJobs(cohorts []*cohort) {
	waits := map[uint32][]string{}
	for _, c := range cohorts {
		if c.job == nil {
			continue
		}
		if text := w.waitText(c); text != "" {
			waits[c.job.ID] = append(waits[c.job.ID], text)
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
		if j := &w.snap.Jobs[i]; waits[j.ID] == nil && holdsNodes(j.State) && !w.isLosing(j) {
			texts[j.ID] = w.endText(j, waited[j.ID])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		if text := texts[id]; text != "" && w.snap.Told[id] != text {
			w.add(TellJob{Job: id, Text: text, Why: "its owner should know"})
		}
	}
}

// waitText says what a cohort waits for; empty if there is nothing to say yet.
func (w *world) waitText(c *cohort) string {
	if c.obstacle != "" {
		return c.obstacle
	}
	if c.live == nil {
		return ""
	}
	r := c.live.request
	waited := w.snap.Now.Sub(r.Created)
	if waited < tellAfter && r.Message == "" {
		return ""
	}
	if since := waitsSince(c); !since.IsZero() {
		waited = w.snap.Now.Sub(since) // also for earlier requests
	}
	text := fmt.Sprintf("waiting %s for %d × %s for %s", roughly(waited), len(r.Instances), w.machineType(c), clock(r.Duration))
	if limit := c.job.Limit; limit.Kind == slurm.LimitSet && limit.Duration > r.Duration {
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
		return OwnComment + "its nodes end at " + end.UTC().Format(time.RFC3339) + ", before its time limit"
	case waited && len(w.unbooted(j)) == 0:
		return OwnComment + "its nodes are there, until " + end.UTC().Format(time.RFC3339)
	}
	return ""
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
