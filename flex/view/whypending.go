package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// pending says what a job without nodes is waiting for.
func (t *teller) pending(j Job) {
	if kept, moves := strings.CutPrefix(j.Told, memo.OwnComment+memo.Moving); moves {
		t.moving(kept)
		return
	}
	sets := t.setsOf(j.Partition)
	rests := slices.ContainsFunc(sets, func(s NodeSet) bool { return !s.RestsUntil.IsZero() })
	t.lead("%s", pendingFor(j, t.at(j.StartAt), rests))
	if len(sets) == 0 {
		t.fact("Its partition has no flex-start nodes, so slurmflex has no part in this.")
		return
	}
	t.fact("slurmflex has not requested machines yet; it does so once Slurm allocates nodes to the job.")
	if j.NodeCount > 0 {
		t.fact("%s.", j.needs())
	}
	for _, set := range sets {
		if set.Block != nil {
			t.fact("Nodeset %s is %s.", set.Name, set.Blocked(t.now))
		}
		if !set.RestsUntil.IsZero() {
			t.fact("Nodeset %s is %s.", set.Name, set.Resting(t.now))
		} else if slurm.LacksNodes(j.Reason) {
			t.fact("%s.", set.free())
			t.holders(set)
		}
	}
}

// needs says what a pending job asks for.
func (j Job) needs() string {
	text := "It needs "
	if strings.ContainsAny(j.ArrayTask, "-,") {
		text = "Each of its tasks needs "
	}
	text += Count(j.NodeCount, "node")
	switch {
	case j.GPUs > 0 && j.NodeCount == 1:
		text += " with " + Count(j.GPUs, "GPU")
	case j.GPUs > 0:
		text += fmt.Sprintf(" with %s each", Count(j.GPUs, "GPU"))
	}
	return text
}

// free counts the nodes that Slurm could allocate now, and what the others are doing.
func (s NodeSet) free() string {
	count, nodes := map[string]int{}, 0
	var words []string
	for _, n := range s.States {
		if n.State == idle || n.State == poweredDown {
			nodes += n.Count
		}
		if count[n.State] == 0 {
			words = append(words, n.State)
		}
		count[n.State] += n.Count
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", count[word], word)
	}
	gpus := ""
	if machine, known := mig.KnownMachine(s.Machine); known && nodes*machine.GPUs > 0 {
		gpus = " with " + Count(nodes*machine.GPUs, "GPU")
	}
	text := fmt.Sprintf("Free in nodeset %s: %d of %s%s", s.Name, nodes, Count(s.Size, "node"), gpus)
	if len(words) == 0 {
		return text
	}
	return text + " (" + strings.Join(words, ", ") + ")"
}

// holder is a job that has nodes of a nodeset.
type holder struct {
	Job
	nodes string    // a hostlist
	until time.Time // at the latest; zero if unknown
}

// shownHolders is how many jobs a story names outside the details.
const shownHolders = 3

// holders says which jobs have the nodes of a nodeset until when, those that end
// first before the others.
func (t *teller) holders(set NodeSet) {
	all, say := t.holdersOf(set), t.fact
	for i, h := range all {
		text := fmt.Sprintf("Job %s%s has %s", h.Name(), inBrackets(h.User), h.nodes)
		switch {
		case !h.until.IsZero():
			text += " until " + t.on(h.until) + " at the latest"
		case !slurm.JobState(h.State).AtWork():
			text += ", not started yet"
		}
		if i == shownHolders {
			say("%s.", moreJobs(len(all)-i, set))
			say = t.detail
		}
		say("%s.", text)
	}
}

func moreJobs(n int, set NodeSet) string {
	if n == 1 {
		return "Another job has nodes of nodeset " + set.Name
	}
	return fmt.Sprintf("%d more jobs have nodes of nodeset %s", n, set.Name)
}

func (t *teller) holdersOf(set NodeSet) []holder {
	in := map[string]bool{}
	for _, n := range set.States {
		names, _ := slurm.Expand(n.Nodes)
		for _, name := range names {
			in[name] = true
		}
	}
	var all []holder
	for _, j := range t.Jobs {
		names, _ := slurm.Expand(j.Nodes)
		names = keep(names, func(name string) bool { return in[name] })
		if len(names) > 0 {
			all = append(all, holder{Job: j, nodes: slurm.Fold(names), until: t.end(j)})
		}
	}
	slices.SortStableFunc(all, func(a, b holder) int {
		return cmp.Or(cmp.Compare(unknownLast(a.until), unknownLast(b.until)), a.until.Compare(b.until))
	})
	return all
}

func unknownLast(at time.Time) int {
	if at.IsZero() {
		return 1
	}
	return 0
}

// end is when a job ends at the latest: at its time limit, or when the first of its
// leases ends. It is zero if neither is known.
func (v View) end(j Job) (end time.Time) {
	if j.Limit > 0 && !j.StartAt.IsZero() && slurm.JobState(j.State).AtWork() {
		end = j.StartAt.Add(time.Duration(j.Limit))
	}
	for _, r := range v.Rows {
		if slices.Contains(r.Jobs, j.ID) && !r.EndsAt.IsZero() && (end.IsZero() || r.EndsAt.Before(end)) {
			end = r.EndsAt
		}
	}
	return end
}
