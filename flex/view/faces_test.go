package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// situations lists what may happen to job 812, and the words that the first line of every output
// must contain: the AdminComment, why, and the row of status, which the page and the JSON share. An
// output without such a line is empty.
var situations = []struct {
	name                 string
	given                func(*world)
	comment, why, status string
}{
	{
		"the request waits for capacity", func(s *world) {
			s.requested(mig.Trouble{Cause: mig.CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED: none"})
		},
		"no capacity", "no capacity", "queued: last attempt: no capacity",
	},
	{"the request waits for a quota", func(s *world) {
		s.requested(mig.Trouble{Cause: mig.CauseQuota, Message: "QUOTA_EXCEEDED: no", Quota: mig.UsedUp{Metric: "GPUS", Limit: 8, Region: "us-central1"}})
	}, "quota GPUS is used up (limit 8 in us-central1)", "quota GPUS is used up (limit 8 in us-central1)", "queued: last attempt: quota GPUS is used up (limit 8 in us-central1)"},
	{"the request is new", func(s *world) { s.waiting(812, "alpha-a3-[0-1]") }, "", "slurmflex is about to request", "asking: "},
	{"Compute limits the rate", (*world).refusing, "refused for now (rate limit)", "refused for now (rate limit)", "waiting: refused for now (rate limit)"},
	{"Compute does not answer", func(s *world) {
		s.waiting(812, "alpha-a3-[0-1]")
		s.Snap.Refused["alpha-a3-job-812"] = scene.Refusal{Failing: scene.Failing{
			Cause: mig.CauseUnavailable, Message: "read tcp 10.0.0.2:43512: reset", Times: 2, Since: noon.Add(-time.Minute), Last: noon,
		}}
	}, "failing for now (Compute is unavailable)", "failing for now (Compute is unavailable)", "waiting: failing for now (Compute is unavailable)"},
	{"an attempt has failed", func(s *world) {
		s.waiting(812, "alpha-a3-[0-1]")
		s.group(812, request("a1", mig.Failed, "alpha-a3-[0-1]", "RESOURCE_POOL_EXHAUSTED: none left", 20*time.Second))
	}, "attempt 1 failed: no capacity", "Attempt 1 failed: no capacity", "waiting: attempt 1 failed: no capacity"},
	{"other jobs come first", func(s *world) {
		s.waiting(810, "alpha-a3-2")
		s.waiting(811, "alpha-a3-3")
		s.waiting(812, "alpha-a3-[0-1]")
	}, "waiting for its turn: place 1", "waiting for its turn: place 1", "waiting: waiting for its turn: place 1"},
	{
		"the nodeset is blocked", func(s *world) { s.block(); s.waiting(812, "alpha-a3-[0-1]") },
		"blocked because 2 machines in a row failed to boot", "2 machines in a row failed to boot", "waiting: nodeset a3 is blocked because 2 machines in a row failed to boot",
	},
	{
		"an admin has blocked the nodeset", func(s *world) { s.blockByHand(); s.waiting(812, "alpha-a3-[0-1]") },
		"blocked by an admin until 2026-11-21T13:00:00Z: driver update", "blocked until 13:00:00 by an admin: driver update", "waiting: nodeset a3 is blocked by an admin until 2026-11-21T13:00:00Z: driver update",
	},
	{"the region cannot be read", func(s *world) {
		s.waiting(812, "alpha-a3-[0-1]")
		s.Snap.Unseen["us-central1"] = errors.New("503 backendError")
	}, "", "region us-central1 could not be read", "waiting: region us-central1 could not be read"},
	{"the request is refused for good", func(s *world) {
		s.waiting(812, "alpha-a3-[0-1]")
		s.Snap.Refused["alpha-a3-job-812"] = scene.Refusal{Cause: mig.CausePermission, Message: "403 forbidden: no right", At: noon, Times: 1}
	}, "held at 2026-11-21T12:00:00Z: 403 forbidden: no right", "the job is held: 403 forbidden: no right", "returned: returned to Slurm: 403 forbidden: no right"},
	{"it is held", func(s *world) {
		s.back("JobHeldAdmin", memo.Done{Deed: memo.JobHeld, At: noon.Add(-time.Minute), Reason: "403 forbidden: no right"})
	}, "held at 2026-11-21T11:59:00Z: 403 forbidden: no right", "Held at 11:59:00: 403 forbidden: no right", "pending: pending in partition train: JobHeldAdmin"},
	{"it is requeued", func(s *world) {
		s.back("BeginTime", memo.Done{Deed: memo.Requeued, At: noon.Add(-time.Minute), Reason: "the machine did not join Slurm"})
	}, "requeued at 2026-11-21T11:59:00Z: the machine did not join Slurm", "Requeued at 11:59:00: the machine did not join Slurm", "pending: pending in partition train: BeginTime"},
	{"it has lost a machine", func(s *world) {
		s.job(812, "train", "alpha-a3-[0-1]", slurm.JobRunning)
		s.Nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+NOT_RESPONDING")
		s.machines("alpha-a3-job-812", "a3", "alpha-a3-0", 5*time.Hour)
		s.Snap.Missed = map[string]bool{"alpha-a3-1": true}
	}, "machine lost: the machine of alpha-a3-1 is gone", "The machine of alpha-a3-1 is gone", "lost: the machine of alpha-a3-1 is gone"},
	{"all nodes of the nodeset are in use", func(s *world) {
		s.full()
		s.pending(812, "Resources")
	}, "", "All 8 nodes of nodeset a3 are in use", "pending: pending in partition train: Resources"},
	{"it waits PENDING, and its request waits for capacity", func(s *world) {
		j := s.pending(812, "Reservation")
		j.NodeCount, j.Reservation = 2, memo.DoorReservation("alpha", "812", noon.Add(-time.Hour))
		s.Snap.Reservations = append(s.Snap.Reservations, slurm.Reservation{Name: j.Reservation, Start: noon.Add(5 * time.Minute), Nodes: scenetest.Names("alpha-a3-[0-1]")})
		s.group(812, request("a1", mig.Accepted, "alpha-a3-[0-1]", "ZONE_RESOURCE_POOL_EXHAUSTED: none", time.Hour))
	}, "no capacity", "no capacity", "queued: last attempt: no capacity"},
	{"its machines boot", func(s *world) { s.booting(812) }, "", "booting", "booting: "},
	{"its machines are up", func(s *world) {
		s.job(812, "train", "alpha-a3-[2-4]", slurm.JobConfiguring)
		s.Nodes("alpha-a3-[2-4]", "ALLOCATED+CLOUD+POWER_DOWN")
		s.machines("alpha-a3-job-812", "a3", "alpha-a3-[2-4]", 5*time.Hour)
	}, "", "All its nodes are up", "starting: "},
	{"it runs", func(s *world) {
		s.job(812, "train", "alpha-a3-[2-4]", slurm.JobRunning)
		s.Nodes("alpha-a3-[2-4]", "ALLOCATED+CLOUD+POWER_DOWN")
		s.machines("alpha-a3-job-812", "a3", "alpha-a3-[2-4]", 5*time.Hour)
	}, "", "It has been running", "running: "},
}

// requested makes job 812 wait with a request in trouble.
func (s *world) requested(trouble mig.Trouble) {
	s.waiting(812, "alpha-a3-[0-1]")
	r := request("a1", mig.Accepted, "alpha-a3-[0-1]", trouble.Message, time.Hour)
	r.Cause, r.Quota = trouble.Cause, trouble.Quota
	s.group(812, r)
}

// back puts job 812 back into the queue after it was held or requeued.
func (s *world) back(reason string, done memo.Done) {
	s.pending(812, reason).Start = noon.Add(time.Minute)
	s.Snap.Told[812] = memo.OwnComment + done.String()
}

// faces returns the outputs about job 812: the AdminComment, the text of why, and the rows of
// status.
func (s *world) faces(t *testing.T) (comment string, why Story, rows []string) {
	t.Helper()
	v := s.view()
	why, err := v.Why("812", noon)
	require.NoError(t, err)
	for _, r := range slices.Concat(v.Rows, v.Pending()) {
		if slices.Contains(r.Jobs, 812) {
			rows = append(rows, fmt.Sprintf("%s: %s", r.State, r.Detail(noon)))
		}
	}
	return s.comment(812), why, rows
}

// All outputs render one value, so they cannot contradict each other.
func TestEveryOutputNamesTheSameCause(t *testing.T) {
	for _, test := range situations {
		t.Run(test.name, func(t *testing.T) {
			s := newWorld()
			test.given(s)
			comment, why, rows := s.faces(t)
			assert.Contains(t, comment, test.comment)
			if test.comment == "" {
				assert.Empty(t, comment)
			}
			assert.Contains(t, why.Summary, test.why)
			assert.True(t, slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, test.status) }), "%q", rows)
			narrow(t, why.String())
		})
	}
}

// Slurm shows a start for a held job. It also shows the earliest start of a requeued job.
func TestStatusShowsOnlyStartsThatSlurmExpects(t *testing.T) {
	for reason, want := range map[string]string{
		"JobHeldAdmin": "pending: pending in partition train: JobHeldAdmin",
		"JobHeldUser":  "pending: pending in partition train: JobHeldUser",
		"BeginTime":    "pending: pending in partition train: BeginTime; can start at 12:01:00",
		"Resources":    "pending: pending in partition train: Resources; expected to start at 12:01:00",
	} {
		s := newWorld()
		s.pending(812, reason).Start = noon.Add(time.Minute)
		_, _, rows := s.faces(t)
		assert.Equal(t, []string{want}, rows)
	}
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
