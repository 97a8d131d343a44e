package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// limited returns alpha's configuration with one limit.
func limited(limit string) *config.Config {
	return parsed(alpha + "slurmflex: {limits: {all: " + limit + "}}\n")
}

// november sets what the limit has taken in November, in GPU hours and money. A machine of nodeset a3
// has 8 GPUs and costs 40 an hour.
func november(gpuHours, cost float64) part {
	return func(s *setting) {
		s.Spent = scene.Spent{
			Of: []scene.Spending{{
				From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
				Used: scene.Amount{GPU: gpuHours * 3600, Cost: cost},
			}},
			Hours: map[string]scene.Amount{"a3": {GPU: 8 * 3600, Cost: 40}, "one": {GPU: 3600, Cost: 10}}, Currency: "USD",
		}
		ofBio(s)
	}
}

// ofBio charges all jobs to account bio.
func ofBio(s *setting) {
	for i := range s.Jobs {
		s.Jobs[i].Account = "bio"
	}
}

// Each node of job 7 takes 2 GPU hours: 8 GPUs for 15 minutes.
func TestRequestThatWouldPassALimitWaits(t *testing.T) {
	waits := func(text string) []string {
		return []string{`set AdminComment of job 7: "flex-start: waiting for the limit of ` + text + `"`}
	}
	own := awaits(7, "alpha-a3-0")
	user := lastJob(func(j *slurm.Job) { j.User = "ada" })
	for name, test := range map[string]struct {
		limit string
		given part
		want  []string
	}{
		"what just fits is requested": {"{account: bio, gpu_hours: 500}", and(own, november(498, 0)), asksForSeven},
		"what does not fit waits": {
			"{account: bio, gpu_hours: 500}", and(own, november(498.5, 0)),
			waits("account bio: 499 of 500 GPU hours of November are used or reserved; this job would take up to 2"),
		},
		"the limit of a user": {
			"{user: ada, gpu_hours: 1, per: day}", and(own, user, november(0, 0)),
			waits("user ada: 0 of 1 GPU hours of November 1 are used or reserved; this job would take up to 2"),
		},
		"the limit of a partition": {
			"{partition: train, gpu_hours: 1, per: week}", and(own, november(0, 0)),
			waits("partition train: 0 of 1 GPU hours of the week from November 1 are used or reserved; this job would take up to 2"),
		},
		"the limit of the cluster": {
			"{gpu_hours: 1}", and(own, november(0, 0)),
			waits("the cluster: 0 of 1 GPU hours of November are used or reserved; this job would take up to 2"),
		},
		"money": {
			"{account: bio, cost: 100}", and(own, november(0, 90.5)),
			waits("account bio: 90.50 of 100 USD of November are used or reserved; this job would take up to 10.00"),
		},
		"another account's limit":   {"{account: chem, gpu_hours: 1}", and(own, november(900, 0)), asksForSeven},
		"another user's limit":      {"{user: eve, gpu_hours: 1}", and(own, user, november(900, 0)), asksForSeven},
		"another partition's limit": {"{partition: shared, gpu_hours: 1}", and(own, november(900, 0)), asksForSeven},
		"an unread history holds nothing back": {
			"{account: bio, gpu_hours: 1}", and(own, november(900, 0), func(s *setting) { s.Spent = scene.Spent{Err: errors.New("disk")} }), asksForSeven,
		},
	} {
		situations(t, limited(test.limit))(name, seen(test.given), test.want...)
	}
}

func TestLiveRequestsAndMachinesCountTowardsALimit(t *testing.T) {
	cfg := limited("{account: bio, gpu_hours: 500}")
	whole := func(more ...part) float64 {
		return planOf(cfg, seen(november(100, 0), and(more...), ofBio)).Limits[0].Whole.GPU / 3600
	}
	assert.InDelta(t, 102, whole(awaits(8, "alpha-a3-1")), 0.001, "the request that the pass makes")
	assert.InDelta(t, 102, whole(awaits(8, "alpha-a3-1"), groupOf(8, accepted("alpha-a3-1"))), 0.001, "a live request")
	running := and(runsOn(8, "alpha-a3-2"), timeLimit("1:00:00"), started(8, 30*time.Minute), leasedTo(8, "alpha-a3-2", 30*time.Minute, time.Hour))
	assert.InDelta(t, 108, whole(running), 0.001, "a job's machine from its creation up to the job's end")
	assert.InDelta(t, 100, whole(nodes("alpha-a3-2", "IDLE+CLOUD"), leasedTo(8, "alpha-a3-2", time.Hour, time.Hour)), 0.001, "not an idle machine")
	unread := func(s *setting) {
		s.LastKnown = map[string]scene.LastKnown{"us-central1": {Groups: s.Groups, Instances: s.Instances}}
		s.Groups, s.Instances, s.Unseen = nil, nil, map[string]error{"us-central1": errors.New("503")}
	}
	assert.InDelta(t, 108, whole(running, unread), 0.001, "in an unread region as last known")
	lastMinutes := func(s *setting) { s.Spent.Of[0].To = noon.Add(15 * time.Minute) }
	assert.InDelta(t, 106, whole(running, lastMinutes), 0.001, "or up to the end of the period")
	counted := func(s *setting) {
		in := s.Instances[0]
		s.Spent.Counted = map[string]time.Time{scene.LeaseOf(in.Zone, in.Name, in.Created): noon.Add(-15 * time.Minute)}
	}
	assert.InDelta(t, 106, whole(running, counted), 0.001, "what the history has counts once")
}

func TestMoreImportantJobsSpendALimitFirst(t *testing.T) {
	given := seen(awaits(7, "alpha-a3-0"), important(1), awaits(8, "alpha-a3-1"), important(2), november(497, 0))
	p := planOf(limited("{account: bio, gpu_hours: 500}"), given)
	assert.Equal(t, []string{"create group alpha-a3-job-8 in us-central1", "request 1 node (alpha-a3-1) in alpha-a3-job-8/a1 for 00:15:00"}, withoutComments(p))
	var waits []demand.Wait
	for _, w := range p.Waits {
		if w.Job == 7 {
			waits = append(waits, w)
		}
	}
	assert.Len(t, waits, 1)
	assert.Equal(t, "waiting for the limit of account bio: 499 of 500 GPU hours of November are used or reserved; this job would take up to 2", waits[0].Obstacle)
}

func TestUnreadHistoryIsAProblem(t *testing.T) {
	p := planOf(limited("{gpu_hours: 1}"), seen(func(s *setting) { s.Spent.Err = errors.New("disk") }))
	assert.Equal(t, []string{
		"the limits on GPU hours and cost hold back no job until this is fixed: disk",
	}, p.Problems.Texts())
	assert.Empty(t, p.Limits)
	assert.Equal(t, []string{"cost, estimate and why lack what happens until this is fixed: disk"},
		alphaPlan(func(s *setting) { s.Spent.Err = errors.New("disk") }).Problems.Texts())
}
