package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// situations lists what may happen to job 812, which waits PENDING behind a door. The answers are in
// testdata/why.txt, and the states and causes in docs/reference.md.
var situations = []struct {
	name  string
	given func(*world)
}{
	{"the request waits for capacity", func(s *world) {
		s.requested(mig.Trouble{Cause: mig.CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED: none"})
	}},
	{"the request waits for a quota", func(s *world) {
		s.requested(mig.Trouble{Cause: mig.CauseQuota, Message: "QUOTA_EXCEEDED: no", Quota: mig.UsedUp{Metric: "GPUS", Limit: 8, Region: "us-central1"}})
	}},
	{"the request is new", (*world).waits},
	{"Compute limits the rate", (*world).refusing},
	{"Compute does not answer", func(s *world) {
		s.waits()
		s.Snap.Refused["alpha-a3-job-812"] = scene.Refusal{Failing: scene.Failing{
			Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: "read tcp 10.0.0.2:43512: reset"}, Times: 2, Since: at(-1), Last: noon,
		}}
	}},
	{"an attempt has failed", func(s *world) {
		s.waits()
		s.group(812, request("a1", mig.Failed, "alpha-a3-[0-1]", "RESOURCE_POOL_EXHAUSTED: none left", 20*time.Second))
	}},
	{"other jobs come first", func(s *world) {
		s.waiting(810, "alpha-a3-2")
		s.waiting(811, "alpha-a3-3")
		s.waits()
	}},
	{"the nodeset is blocked", func(s *world) { s.block(twoBoots); s.waits() }},
	{"an admin has blocked the nodeset", func(s *world) {
		s.block(memo.Block{At: noon, Until: at(60), Why: "driver update"}.String())
		s.waits()
	}},
	{"a limit would be passed", func(s *world) { s.limit(480); s.waits() }},
	{"the region cannot be read", func(s *world) {
		s.waits()
		s.unseen("us-central1", "503 backendError")
	}},
	{"the request is refused for good", func(s *world) {
		s.waits()
		s.forbidden("403 forbidden: no right")
	}},
	{"it is held", func(s *world) {
		s.back("JobHeldAdmin", memo.Done{Deed: memo.JobHeld, At: at(-1), Reason: "403 forbidden: no right"})
	}},
	{"it is requeued", func(s *world) {
		s.back("BeginTime", memo.Done{Deed: memo.Requeued, At: at(-1), Reason: "the machine did not join Slurm"})
	}},
	{"it has lost a machine", func(s *world) {
		s.job(812, "train", "alpha-a3-[0-1]", slurm.JobRunning)
		s.Nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+NOT_RESPONDING")
		s.machines("alpha-a3-job-812", "alpha-a3-0", 5*time.Hour)
		s.Snap.Missed = map[string]bool{"alpha-a3-1": true}
	}},
	{"all nodes of the nodeset are in use", func(s *world) {
		s.full()
		s.pending(812, "Resources")
	}},
	{"its machines boot", func(s *world) {
		s.waits()
		s.machines("alpha-a3-job-812", "alpha-a3-[0-1]", 4*time.Hour)
		s.Snap.Instances[2].Created, s.Snap.Instances[3].Created = at(-1), at(-1)
	}},
	{"its machines are up", func(s *world) { s.up(812, "alpha-a3-[2-4]", slurm.JobConfiguring, 5*time.Hour) }},
	{"it runs", func(s *world) { s.up(812, "alpha-a3-[2-4]", slurm.JobRunning, 5*time.Hour) }},
	{"it is suspended", func(s *world) {
		s.up(812, "alpha-a3-[2-4]", slurm.JobSuspended, 5*time.Hour)
		s.Nodes("alpha-a3-[2-4]", "IDLE+CLOUD")
	}},
}

// requested makes job 812 wait with a request in trouble.
func (s *world) requested(trouble mig.Trouble) {
	s.waits()
	r := request("a1", mig.Accepted, "alpha-a3-[0-1]", trouble.Message, time.Hour)
	r.Cause, r.Quota = trouble.Cause, trouble.Quota
	s.group(812, r)
}

// back puts job 812 back into the queue after it was held or requeued.
func (s *world) back(reason string, done memo.Done) {
	s.pending(812, reason).Start = at(1)
	s.Snap.Told[812] = memo.OwnComment + done.String()
}

// faces returns the outputs about a job: the AdminComment, the answer of why, and the rows of status
// with their states.
func (s *world) faces(t *testing.T, job uint32) (comment string, why Answer, rows []string) {
	t.Helper()
	v := s.view()
	why = ask(t, v, fmt.Sprint(job))
	for _, r := range slices.Concat(v.Rows, v.Pending()) {
		if slices.Contains(r.Jobs, job) {
			rows = append(rows, strings.TrimSuffix(fmt.Sprintf("%s: %s", r.State, r.remark(noon).said(noon)), ": "))
		}
	}
	return s.comment(job), why, rows
}

// comment returns the AdminComment of a job after the pass.
func (s *world) comment(job uint32) string {
	comment := s.Snap.Told[job]
	for _, a := range plan.Compute(scene.Of(s.Config, s.Snap)).Actions {
		switch a := a.(type) {
		case action.CommentJob:
			if a.Job == job {
				comment = a.Text
			}
		case action.ReturnNodes:
			if a.Job == job {
				comment = memo.OwnComment + a.Comment(job, noon)
			}
		}
	}
	return comment
}
