package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// notice returns the text about what the claim's nodes wait for, for the owner of one of their
// jobs. It is empty while there is nothing to report. It gives the start of the wait instead of its
// length, so that it stays true without being written again.
func notice(w *demand.Wanted, v rules.Verdict, j *slurm.Job) string {
	c, n := v.Claim, v.Queued
	if why := v.Obstacle(); why != "" {
		return why
	}
	if n.Request == "" {
		return ""
	}
	if w.Seen.Now.Sub(n.Requested) < rules.TellAfter && n.Message == "" {
		return ""
	}
	since := n.Since // earlier requests count
	if c.Job == nil || c.Job.ID != j.ID {
		since = cmp.Or(j.Start, since)
	}
	wanted := c.Live.Request.Size()
	if c.Shares() {
		wanted = len(c.Nodes)
	}
	text := fmt.Sprintf(memo.WaitingSince+"%s for %d × %s for %s", since.UTC().Format(time.RFC3339), wanted, w.MachineType(c.Set), slurm.Clock(n.Lease))
	if others := c.Live.Request.Size() - 1; c.Shares() && others > 0 {
		text += fmt.Sprintf(", requested with %d others", others)
	}
	if limit := j.Limit; limit.Kind == slurm.LimitSet && limit.Duration > n.Lease {
		text += ", less than its time limit of " + slurm.Clock(limit.Duration)
	}
	if c.HasRivals() {
		text += " in partition " + j.Partition
	}
	if n.Message != "" {
		text += "; last attempt: " + n.Brief()
	}
	if n.Obstacle != "" {
		text += "; " + n.Obstacle
	}
	return text
}

// lossText describes the lost machines of a job for its owner; empty if the job lost none. It
// leaves out a loss while any of its nodes still responds to Slurm and no second list has confirmed
// the loss, because a single list may be wrong for a moment. The AdminComment of a warned job changes
// for a confirmed loss only: it records the signal, which is not to be sent twice.
func lossText(s *scene.Scene, j *slurm.Job) (text string) {
	warned := isWarned(s, j)
	for _, l := range s.Losses {
		mayWork := func(name string) bool {
			return (warned || !s.Node(name).State.Has(slurm.NotResponding)) && !s.Node(name).IsLost
		}
		if slices.Contains(l.Jobs, j.ID) && !slices.ContainsFunc(l.Nodes, mayWork) {
			if text != "" {
				text += "; "
			}
			text += l.String()
		}
	}
	return text
}

// EndText describes when a job's nodes end, if that is before the job's time limit or if the job's
// owner was last notified of a wait or an end that is now over. Otherwise it is empty. A warned job keeps
// its text while it is unknown whether a machine of it is lost: the end may be that machine's.
func EndText(s *scene.Scene, j *slurm.Job, waited bool) string {
	end := s.Ends[j.ID].At
	text := memo.OwnComment
	switch {
	case isWarned(s, j) && missesMachine(s, j):
		return s.Seen.Told[j.ID]
	case end.IsZero() && waited && j.State == slurm.JobRunning && isEndless(s, j):
		return text + memo.NoEnd
	case end.IsZero():
		return ""
	case s.Outlives(j, end):
		text += memo.End + end.UTC().Format(time.RFC3339) + beforeLimit
	case waited && haveCome(s, j):
		text += memo.There + end.UTC().Format(time.RFC3339)
	default:
		return ""
	}
	if told := s.Seen.Told[j.ID]; memo.Continues(told, text) {
		return told // keep the text when the records that it came from are deleted
	}
	if !haveCome(s, j) {
		return text
	}
	return text + waitText(s, j)
}

const beforeLimit = ", before its time limit"

// isEndless reports whether the job's machines have no lease. Each machine must be listed, because
// a missing one may be the one that ends.
func isEndless(s *scene.Scene, j *slurm.Job) bool {
	return haveCome(s, j) && !s.AnyNode(j.Nodes, func(m *scene.Node) bool {
		return m.Set.Flex.MaxRunDuration > 0 || m.IsUnread || !m.HasMachine()
	})
}

// isWarned reports whether the job's AdminComment records that the job was warned of the end of its
// nodes.
func isWarned(s *scene.Scene, j *slurm.Job) bool {
	_, warned := memo.BeforeSignal(s.Seen.Told[j.ID])
	return warned
}

// missesMachine reports whether the machine of one of the job's nodes is missing, but not certainly
// lost.
func missesMachine(s *scene.Scene, j *slurm.Job) bool {
	return s.AnyNode(j.Nodes, func(m *scene.Node) bool { return !m.HasMachine() && !m.IsLost })
}

// waitText describes how long the job waited for its machines, as the notice did during the wait.
// The wait starts when the job was allocated its nodes, or at its first request if it is already
// running, because Slurm resets the start of a running job. It ends when the last machine was
// created. The text is empty if the records are missing or the machines were created for other
// jobs. slurmdbd stores the text when the job ends, so sacct can show it.
func waitText(s *scene.Scene, j *slurm.Job) string {
	var first, last time.Time
	var types []string
	count := 0
	for _, name := range j.Nodes {
		for _, in := range s.Named(name).Machines {
			if in.Maker == nil || !scene.IsFor(in.Maker.Stamp, j) || in.Node == nil {
				continue
			}
			count++
			if in.Created.After(last) {
				last = in.Created
			}
			for _, r := range in.Maker.Requests {
				shared := in.Maker.Stamp.Shared() // then its own is the newest for the node
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
	return fmt.Sprintf(memo.Waited+"%s for %d × %s", scene.Roughly(last.Sub(first)), count, strings.Join(slices.Compact(types), ", "))
}

// haveCome reports whether each of the job's nodes has its machine and is up or powering up.
func haveCome(s *scene.Scene, j *slurm.Job) bool {
	return j.State != slurm.JobCompleting && !s.AnyNode(j.Nodes, func(m *scene.Node) bool {
		stays, _ := m.Stays()
		return !stays || m.Power != scene.Rising && m.Power != scene.On
	})
}

// waited returns the jobs with an AdminComment of ours or with a node Comment that records a wait.
func waited(s *scene.Scene) map[uint32]bool {
	jobs := map[uint32]bool{}
	for id, text := range s.Seen.Told {
		jobs[id] = memo.IsOurs(text)
	}
	for _, m := range s.Nodes {
		if memo.IsWait(m.Comment) {
			for _, j := range m.Holders {
				jobs[j.ID] = true
			}
		}
	}
	return jobs
}

// LossComment returns the AdminComment for a job with lost machines, or with the other reason if the
// job lost none; empty without a reason. It mentions if the job does not keep its other machines.
func LossComment(w *demand.Wanted, j *slurm.Job, other string) string {
	what := cmp.Or(lossText(w.Scene, j), other)
	if what == "" {
		return ""
	}
	if w.Short[j.ID] {
		what += memo.KeepsNone
	}
	return memo.OwnComment + memo.Done{Deed: memo.Loss, Reason: what}.String()
}

// AdminComments returns what the owners of jobs should know, by job: what their nodes wait for, which
// machines are lost, when the nodes end if that is before the time limit, and that a component's
// heterogeneous job is returned. A text is empty if there is nothing to report.
func AdminComments(w *demand.Wanted, verdicts []rules.Verdict) map[uint32]string {
	waits, underWay := map[uint32][]string{}, map[uint32]bool{}
	for _, v := range verdicts {
		for _, j := range v.Claim.Holders {
			underWay[j.ID] = v.UnderWay
			if text := notice(w, v, j); text != "" && j.State != slurm.JobCompleting {
				waits[j.ID] = append(waits[j.ID], text)
			}
		}
	}
	for _, held := range w.Handed.Held {
		if held.Hidden {
			waits[held.Job] = []string{held.Obstacle}
		}
	}
	texts := map[uint32]string{}
	for id, some := range waits {
		texts[id] = memo.OwnComment + strings.Join(slices.Compact(some), "; ")
	}
	waited, back := waited(w.Scene), map[uint32]string{} // by heterogeneous job: Slurm requeues it as a whole
	for _, v := range verdicts {
		if v.Do == rules.Returns && v.Claim.Job.HetID != 0 {
			back[v.Claim.Job.HetID] = memo.OwnComment + v.Return.Comment(v.Claim.Job.ID, time.Time{})
		}
	}
	for i := range w.Seen.Jobs {
		switch j := &w.Seen.Jobs[i]; {
		case back[j.HetID] != "" && j.State.HoldsNodes() && j.State != slurm.JobCompleting:
			texts[j.ID] = back[j.HetID]
		case waits[j.ID] != nil:
		case j.State.HoldsNodes():
			texts[j.ID] = cmp.Or(LossComment(w, j, ""), EndText(w.Scene, j, waited[j.ID]))
		case j.State.Waits() && !w.ShortLease(j).IsZero():
			texts[j.ID] = memo.OwnComment + memo.End + w.ShortLease(j).UTC().Format(time.RFC3339) + beforeLimit
		case j.State.Waits() && len(w.DoorsOf(j.ID)) == 0 && memo.IsOfNodes(w.Seen.Told[j.ID]):
			texts[j.ID] = memo.OwnComment + memo.Unplaced
		case j.State.Waits() && underWay[j.ID] && memo.IsOfNodes(w.Seen.Told[j.ID]) && !memo.Begins(w.Seen.Told[j.ID], memo.WaitingSince):
			texts[j.ID] = memo.OwnComment + memo.Booting
		}
	}
	return texts
}
