package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// ends holds, for each kind of action, whether it ends, signals, moves, requeues, holds or cancels
// a job, or takes a node from a job.
var ends = map[string]string{
	"set_nodes":    "a node of a job is set down",
	"signal_job":   "its script is signalled",
	"requeue_job":  "it is requeued",
	"return_nodes": "its nodes are returned: the action writes the AdminComments of all their jobs first",

	"create_group": "", "create_request": "", "bulk_insert": "", "create_policy": "", "delete_policy": "", "delete_request": "", "delete_group": "",
	"cancel_request": "", "delete_instances": "", "delete_vms": "", // see sparesWhatAJobRunsOn
	"create_reservation": "", "set_reservation": "", "delete_reservation": "", "use_reservation": "", "comment_job": "",
}

func TestEachKindOfActionIsClassified(t *testing.T) {
	var known []string
	for kind := range ends {
		known = append(known, kind)
	}
	assert.ElementsMatch(t, action.Kinds(), known, "does the new kind end a job? Then its AdminComment comes first")
}

// commentsFirst: before an action ends, signals, moves or requeues a job, the job's AdminComment
// states the reason. Either an earlier pass wrote it, or an action of the same queue does, and the
// ending action needs that action. No later comment of the plan replaces that AdminComment.
func commentsFirst(s *sight, p plan.Plan) (wrong []string) {
	for i, a := range p.Actions {
		about := action.About(a)
		for _, job := range s.ended(a) {
			last := -1
			for k, c := range p.Actions {
				if c, ok := c.(action.CommentJob); ok && c.Job == job {
					last = k
				}
			}
			requeue, _ := a.(action.RequeueJob)
			switch {
			case last > i:
				wrong = append(wrong, fmt.Sprintf("job %d reads it afterwards: %s", job, about.Text))
			case last < 0 && !saysWhyOf(a, s.snap.Told[job]):
				wrong = append(wrong, fmt.Sprintf("job %d, told %q, reads nothing: %s", job, s.snap.Told[job], about.Text))
			case last >= 0 && (action.About(p.Actions[last]).Queue != about.Queue || !requeue.Urgent && !action.Needs(a, p.Actions[last])):
				wrong = append(wrong, fmt.Sprintf("nothing waits for the AdminComment of job %d: %s", job, about.Text))
			}
		}
		if back, ok := a.(action.ReturnNodes); ok && back.Reason == "" {
			wrong = append(wrong, fmt.Sprintf("no reason: %s", about.Text))
		}
	}
	return wrong
}

// ended returns the jobs that an action ends, signals, moves or requeues, except the subjects of
// ReturnNodes and ChangePartitions.
func (s *sight) ended(a action.Action) (jobs []uint32) {
	switch a := a.(type) {
	case action.SignalJob, action.RequeueJob:
		return []uint32{action.About(a).Job}
	case action.SetNodes:
		if a.State != "down" {
			return nil
		}
		for _, j := range s.snap.Jobs {
			has := func(name string) bool { return slices.Contains(a.Nodes, name) }
			if slices.ContainsFunc(j.Nodes, has) && j.State.HoldsNodes() && j.State != slurm.JobCompleting {
				jobs = append(jobs, j.ID)
			}
		}
	}
	return jobs
}

// saysWhyOf reports whether an AdminComment states the reason for the action.
func saysWhyOf(a action.Action, told string) bool {
	text, ours := strings.CutPrefix(told, memo.OwnComment)
	switch a := a.(type) {
	case action.SignalJob:
		return ours && (a.Signal == "" && strings.HasPrefix(text, memo.End) || strings.HasSuffix(text, memo.Sends+a.Signal))
	case action.RequeueJob:
		return ours && text == memo.Done{Deed: memo.Requeued, Reason: a.Because()}.String()
	case action.SetNodes:
		return tellsLoss(told)
	}
	return false
}

func tellsLoss(told string) bool {
	done, ok := memo.DoneOf(told)
	return ok && done.Deed == memo.Loss
}

// Jobs in random worlds rarely outlast their lease, so this test draws such jobs more often.
func TestEndingJobsReadWhyFirst(t *testing.T) {
	holds(t, commentsFirst, func(t *rapid.T, w *world) {
		for id, j := range w.jobs {
			j.State, j.Limit = slurm.JobRunning, slurm.Limit{Kind: slurm.Unlimited}
			w.jobs[id] = j
		}
		for name, in := range w.instances {
			in.Terminates = noon.Add(2 * time.Minute)
			w.instances[name] = in
			w.Reservations = append(w.Reservations, slurm.Reservation{Name: memo.Reservation(cluster, in.Terminates), Nodes: []string{in.Name}, Start: in.Terminates})
		}
		for _, set := range w.flexSets() {
			set.Flex.OnLeaseEnd = "requeue"
			set.Flex.LeaseEndWarning = pick(t, "warning", 0, 10*time.Minute)
		}
	})
}
