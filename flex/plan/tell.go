package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// OwnComment begins every AdminComment that we write. One that begins otherwise
// is somebody else's, and stays.
const OwnComment = "flex-start: "

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
	texts := map[uint32][]string{}
	for _, c := range cohorts {
		if c.job == nil {
			continue
		}
		if text := w.waitText(c); text != "" {
			texts[c.job.ID] = append(texts[c.job.ID], text)
		}
	}
	for i := range w.snap.Jobs {
		j := &w.snap.Jobs[i]
		if texts[j.ID] == nil && holdsNodes(j.State) {
			texts[j.ID] = w.endText(j)
		}
	}
	ids := make([]uint32, 0, len(texts))
	for id := range texts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		text := OwnComment + strings.Join(slices.Compact(texts[id]), "; ")
		if len(texts[id]) > 0 && w.snap.Told[id] != text {
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
	text := fmt.Sprintf("waiting %s for %d × %s for %s", roughly(waited), len(r.Instances), w.machineType(c), clock(r.Duration))
	if r.Message != "" {
		text += "; last attempt: " + r.Message
	}
	return text
}

// endText says when a job's nodes end, if that is before its time limit: its
// limit is longer than the longest lease there is.
func (w *world) endText(j *slurm.Job) []string {
	var first time.Time
	for _, name := range j.Nodes {
		m := w.nodes[name]
		if m == nil {
			continue
		}
		longest := min(m.set.Flex.MaxRunDuration, mig.MaxDuration)
		if j.Limit.Kind == slurm.LimitSet && j.Limit.Duration <= longest || j.Limit.Kind == slurm.LimitUnknown {
			continue
		}
		for _, in := range w.instances[name] {
			if !in.Terminates.IsZero() && w.ours(in) && (first.IsZero() || in.Terminates.Before(first)) {
				first = in.Terminates
			}
		}
	}
	if first.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("its nodes end at %s, before its time limit", first.UTC().Format(time.RFC3339))}
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
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
