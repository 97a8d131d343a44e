package sweeps

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// endInTime ends running jobs cleanly before their nodes' lease ends or their hosts are maintained.
// First, lease_end_warning before the end, it signals the script of a job that asked for the
// signal, once, so that the script can save its work: any other script would die of the signal.
// Then it requeues the job, early enough for slurmctld to end it before Compute deletes the
// machines. A job that Slurm would not requeue runs on; since its start, its AdminComment shows
// when its nodes end. Two passes must have seen that end: the reservation in Slurm is from an
// earlier pass. endInTime writes each reason to the AdminComment before it acts.
func endInTime(s *Step) {
	if s.Seen.Skew > scene.MaxSkew {
		return
	}
	endings := leaseEnds(s.Scene)
	for _, id := range slices.Sorted(maps.Keys(endings)) {
		e := endings[id]
		left, flex := e.At.Sub(s.Seen.Now), e.Node.Set.Flex
		told, warned := memo.BeforeSignal(report.EndText(s.Scene, e.Job, false))
		why := action.Why(fmt.Sprintf("%s at %s, before its time limit", e.What, e.At.UTC().Format(time.RFC3339)))
		rec, known := s.Seen.Records[e.ID]
		warns := known && (!rec.Batch || memo.AsksSignal(rec.Comment)) // otherwise only its AdminComment warns it
		requeuesNow := flex.OnLeaseEnd == config.RequeueFirst && left <= s.Config.RequeueLead() && (rec.Requeues() || !known)
		// A signal that cannot be sent must not delay the requeue, and must not be sent after it.
		requeued := memo.OwnComment + memo.Done{Deed: memo.Requeued, Reason: string(why)}.String()
		late := left < lastTry || s.Seen.Told[e.ID] == requeued
		switch {
		case left <= 0:
		case flex.LeaseEndWarning > 0 && left <= flex.LeaseEndWarning && warns && !warned && !(requeuesNow && late):
			a := action.SignalJob{OfJob: action.OfJob{Job: e.ID}, Why: why}
			text := memo.OwnComment + told
			first := text
			if rec.Batch {
				a.Signal = warnSignal
				first += memo.Sends + a.Signal
			}
			a.Text = memo.Sent(text, s.Seen.Now, a.Signal)
			s.notify(a.Job, first, "")
			s.do(a)
		case requeuesNow:
			a := action.RequeueJob{OfJob: action.OfJob{Job: e.ID}, Urgent: left <= lastTry, Why: why}
			s.notify(a.Job, requeued, "")
			s.do(a)
			s.Soon = true // the job leaves its nodes
		}
	}
}

// warnSignal is the signal of lease_end_warning.
const warnSignal = "USR1"

// lastTry is how long before its nodes end a job is requeued even if its AdminComment cannot be
// written: after that, Compute would delete the machines under the job.
const lastTry = time.Minute

// leaseEnding is a running job with a lease that ends before the job does.
type leaseEnding struct {
	*slurm.Job
	scene.End
}

// leaseEnds returns those jobs by ID. A heterogeneous job is signalled and requeued as a whole. For
// such a job leaseEnds returns the component with the first lease end, by the ID of the whole job.
func leaseEnds(s *scene.Scene) map[uint32]leaseEnding {
	first := map[uint32]leaseEnding{}
	for i := range s.Seen.Jobs {
		j := &s.Seen.Jobs[i]
		if j.State != slurm.JobRunning {
			continue
		}
		end := s.Ends[j.ID]
		if end.Node == nil || !s.Outlives(j, end.At) || !isReserved(s, end.Node.Name, end.At) {
			continue
		}
		whole := cmp.Or(j.HetID, j.ID)
		known, others := first[whole]
		if !others || cmp.Or(end.At.Compare(known.At), cmp.Compare(j.ID, known.ID)) < 0 {
			first[whole] = leaseEnding{j, end}
		}
	}
	return first
}

// isReserved reports whether a reservation of ours keeps jobs off the node from that lease end on.
func isReserved(s *scene.Scene, node string, end time.Time) bool {
	return slices.ContainsFunc(s.Holds, func(h scene.Hold) bool {
		return h.Kind == memo.LeaseHold && h.At.Equal(end.Truncate(time.Minute)) && slices.Contains(h.Nodes, node)
	})
}
