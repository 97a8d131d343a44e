package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestWaitOutlastsAChangeOfTheConfiguration(t *testing.T) {
	given := func(of uint32, limit string) scene.Snapshot {
		return seen(awaits(7, "alpha-a3-0"), timeLimit(limit),
			group("alpha-a3-job-7", forJob("a3", of), request("a1", mig.Accepted, "alpha-a3-0", 20*time.Minute)))
	}
	cancelled := []string{"cancel request alpha-a3-job-7/a1"}
	longer := parsed(strings.Replace(alpha, "job_duration_margin: 0", "job_duration_margin: 600", 1))
	assert.Empty(t, actions(planOf(longer, given(7, "20:00"))), "its lease does not change")
	assert.Equal(t, cancelled, actions(planOf(longer, given(7, "21:00"))), "the job itself needs longer")
	assert.Equal(t, cancelled, actions(planOf(longer, given(7, "UNLIMITED"))))
	assert.Equal(t, cancelled, actions(planOf(longer, given(6, "20:00"))), "another job's is no longer enough")
}

func TestJobsOfManyKindsGetTheirNodes(t *testing.T) {
	in := situations(t, alphaConfig)
	in("on a shared node the lease is the longest of the jobs' time limits", seen(nodes("alpha-a3-0", risingMixed),
		job(7, "shared", "15:00", configured, "alpha-a3-0"), job(8, "shared", "20:00", configured, "alpha-a3-0"),
		job(9, "shared", "10:00", configured, "alpha-a3-0")),
		"create group alpha-a3-job-7 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:20:00")
	in("a node is requested that another job shows, too, which completes on nodes that do not answer", seen(nodes("alpha-a3-0", poweringUp),
		job(6, "train", "15:00", slurm.JobCompleting, "alpha-a3-[0-1]"), job(7, "train", "15:00", configured, "alpha-a3-0")),
		"create group alpha-a3-job-7 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00")
	in("a shared node stays wanted when one of its jobs is cancelled", seen(nodes("alpha-a3-0", risingMixed),
		job(8, "shared", "15:00", configured, "alpha-a3-0"),
		groupOf(7, request("a1", mig.Accepted, "alpha-a3-0", 20*time.Minute))))
	in("a heterogeneous job's first component is asked for after the others, because it has the script",
		seen(nodes("alpha-a3-0", poweringUp), nodes("alpha-fix-[0-1]", poweringUp),
			job(6, "train", "10:00", configured, "alpha-a3-0"), component(6, 0),
			job(7, "train", "10:00", configured, "alpha-fix-0"), component(6, 1),
			job(8, "train", "10:00", configured, "alpha-fix-1"), component(6, 2)),
		"create group alpha-fix-job-7 in us-central1",
		"request 1 node (alpha-fix-0) in alpha-fix-job-7/a1 for 01:00:00",
		"create group alpha-fix-job-8 in us-central1",
		"request 1 node (alpha-fix-1) in alpha-fix-job-8/a1 for 01:00:00",
		`set AdminComment of job 6: "flex-start: the other components of job 6 are requested first, because this one runs the script"`)
	in("a heterogeneous job's first component is asked for when the others have their machines",
		seen(nodes("alpha-a3-0", poweringUp), nodes("alpha-fix-0", poweringUp),
			job(6, "train", "10:00", configured, "alpha-a3-0"), component(6, 0),
			job(7, "train", "10:00", configured, "alpha-fix-0"), component(6, 1),
			group("alpha-fix-job-7", forJob("fix", 7), request("a1", mig.Succeeded, "alpha-fix-0", time.Hour)),
			vms("alpha-fix-0", "alpha-fix-job-7", "RUNNING")),
		"create group alpha-a3-job-6 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-6/a1 for 00:10:00")
	in("a job in a partition without configuration is served",
		seen(nodes("alpha-a3-[0-1]", poweringUp), job(7, "nowhere", "15:00", configured, "alpha-a3-0"),
			job(8, "train", "15:00", configured, "alpha-a3-1")), "create group alpha-a3-job-7 in us-central1",
		"request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00", "create group alpha-a3-job-8 in us-central1",
		"request 1 node (alpha-a3-1) in alpha-a3-job-8/a1 for 00:15:00")
	in("a job is served beside unknown nodesets and nodes in unknown states",
		seen(awaits(7, "alpha-a3-0"), awaits(8, "alpha-new-0"), nodes("alpha-a3-1", poweringUp+"+LEVITATING"),
			job(9, "train", "15:00", configured, "alpha-a3-1")),
		"create group alpha-a3-job-7 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00")
	in("a job in an unknown state keeps its nodes", seen(nodes("alpha-a3-0", poweringDown),
		job(7, "train", "15:00", "LEVITATING", "alpha-a3-0"), groupOf(7), machinesOf(7, "alpha-a3-0")))
}

func TestUnreadableTimeLimitIsReported(t *testing.T) {
	for list, want := range map[string][]string{
		"alpha-a3-0":  {"alpha-a3-job-7: the time limit of job 7 is not understood, and its lease is 7-00:00:00; set it again: scontrol update jobid=7 timelimit=TIME"},
		"alpha-fix-0": nil, // its lease does not depend on the time limit
	} {
		p := alphaPlan(awaits(7, list), timeLimit("SOON"))
		assert.Len(t, p.Actions, 2)
		assert.Equal(t, want, p.Problems.Texts())
	}
}

// A3: no text in the AdminComment decides whether a job loses nodes.
func TestOnlyJobsThatSlurmRequeuesReturn(t *testing.T) {
	const refused, late = "return alpha-a3-0 to Slurm and hold job 7: STOCKOUT: none", "return alpha-a3-0 to Slurm and requeue job 7: no capacity for 1 × a3-machine in 1h00m (provision_timeout 00:10:00)"
	for name, c := range map[string]struct {
		requeues, unread bool
		told             string
		hopeless, not    []string // the actions if no attempt can help the job, and if one may
	}{
		"a job that is requeued":        {requeues: true, hopeless: []string{refused}, not: []string{late}},
		"with a forged warning":         {requeues: true, told: "flex-start: told 2026-11-21T11:00:00Z: x", hopeless: []string{refused}, not: []string{late}},
		"of salloc":                     {},
		"of salloc, with a forged text": {told: "flex-start: requeued: x"},
		"unknown":                       {unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(awaits(7, "alpha-a3-0"), started(7, time.Hour),
				groupOf(7, failed("a1", "alpha-a3-0", mig.CauseConfig, time.Second)), told(7, c.told), askedFor(time.Hour))
			if s.Records[7] = (slurm.JobRecord{Batch: true, Requeue: c.requeues}); c.unread {
				delete(s.Records, 7)
			}
			does := func(cfg *config.Config) []string {
				return slices.DeleteFunc(actions(planOf(cfg, s)), func(a string) bool {
					return strings.HasPrefix(a, "set AdminComment") || strings.HasPrefix(a, "set nodes")
				})
			}
			assert.ElementsMatch(t, c.hopeless, does(alphaConfig), "of a request that is refused")
			s.Groups[0].Requests[0].Cause = mig.CauseCapacity
			assert.ElementsMatch(t, c.not, does(with("provision_timeout: 600")), "of one that finds no capacity")
		})
	}
}

func TestOnlyCancelEndsTheWaitOfAJobThatSlurmWouldEnd(t *testing.T) {
	s := seen(awaits(7, "alpha-a3-0"), started(7, time.Hour), queued("alpha-a3-0", time.Hour))
	plan := func(timeout int, then string) Plan {
		return planOf(with(fmt.Sprintf("provision_timeout: %d, on_provision_timeout: %s", timeout, then)), s)
	}
	for _, then := range []string{"requeue", "hold", "cancel"} {
		assert.Equal(t, noon.Add(time.Hour), plan(7200, then).Waits[0].Until, then)
	}
	s.Records[7] = slurm.JobRecord{Batch: true}
	for _, then := range []string{"requeue", "hold"} {
		assert.Zero(t, plan(7200, then).Waits[0].Until, then)
		assert.Empty(t, madeBy(plan(600, then)), then)
	}
	assert.Equal(t, noon.Add(time.Hour), plan(7200, "cancel").Waits[0].Until)
	assert.Contains(t, actions(plan(600, "cancel")), "return alpha-a3-0 to Slurm and cancel job 7: no capacity for 1 × a3-machine in 1h00m (provision_timeout 00:10:00)")
	s.Records[7] = slurm.JobRecord{Batch: true, Deadline: noon.Add(15 * time.Minute)}
	assert.Contains(t, strings.Join(actions(plan(0, "requeue")), "\n"), "and cancel job 7: ", "its --deadline cannot be met")
}

func TestReturnedJobLeavesAnotherTheNodeOfItsRequest(t *testing.T) {
	s := seen(nodes("alpha-a3-[0-1]", poweringUp), job(7, "shared", "1:00:00", configured, "alpha-a3-0"),
		job(8, "shared", "1:00:00", configured, "alpha-a3-[0-1]"),
		group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", mig.MaxDuration)))
	s.Refused["alpha-a3-job-8"] = scene.Refusal{Trouble: mig.Trouble{Cause: mig.CauseConfig, Message: "no"}, At: noon.Add(-time.Second), Times: 1}
	assert.Contains(t, planOf(alphaConfig, s).Actions, action.ReturnNodes{
		OfJob: action.OfJob{Job: 8}, Name: "8", Nodes: []string{"alpha-a3-1"}, Reason: "no", Then: action.Hold,
	})
}

// slurmdbd keeps the last AdminComment, so sacct can show it.
func TestOwnerReadsHowLongTheJobWaited(t *testing.T) {
	const end = "flex-start: its nodes are there, until 2026-11-21T13:00:00Z"
	given := func(told string, requests ...mig.Request) scene.Snapshot {
		return seen(runsOn(7, "alpha-a3-[0-1]"), timeLimit("1:00:00"),
			group("alpha-a3-job-7", forJob("a3", 7), requests...), ending("alpha-a3-[0-1]", "alpha-a3-job-7", 0, time.Hour),
			reserved("slurmflex-alpha-1795266000", "alpha-a3-[0-1]", noon.Add(time.Hour)),
			func(s *setting) { s.Told = map[uint32]string{7: told} })
	}
	records := []mig.Request{failed("a1", "alpha-a3-[0-1]", mig.CauseCapacity, 130*time.Minute), request("a2", mig.Succeeded, "alpha-a3-[0-1]", time.Hour)}
	waiting := given("flex-start: waiting 2h for 2 × a3", records...)
	assert.Equal(t, end+"; waited 2h10m for 2 × a3-machine", tells(planOf(alphaConfig, waiting))[7])
	assert.Empty(t, tells(planOf(alphaConfig, given(end+"; waited 2h10m for 2 × a3-machine"))), "the records are gone")
}

func TestJobOnTheSameNodeIsNotLostUnannounced(t *testing.T) {
	s := seen(awaits(7, "alpha-a3-0"), shared, timeLimit("1:00:00"), important(9), started(7, 130*time.Minute),
		job(8, "shared", "1:00:00", configured, "alpha-a3-0"), refused("alpha-a3-job-7", mig.CauseCapacity, time.Second, 1), askedFor(130*time.Minute))
	for then, want := range map[string][]string{"requeue": nil, "hold": nil, "cancel": {
		"return no nodes to Slurm and cancel job 7: no capacity for 1 × a3-machine in 2h10m (provision_timeout 02:00:00)",
	}} {
		assert.Equal(t, want, returned(planOf(with("provision_timeout: 7200, on_provision_timeout: "+then), s)), "job 8 waits on")
	}
	s.Refused["alpha-a3-job-7"] = scene.Refusal{Trouble: mig.Trouble{Cause: mig.CauseConfig, Message: "no"}, At: noon.Add(-time.Second), Times: 1}
	assert.Contains(t, planOf(alphaConfig, s).Actions, action.ReturnNodes{
		OfJob: action.OfJob{Job: 7}, Name: "7", Others: []uint32{8}, Nodes: []string{"alpha-a3-0"}, Reason: "no", Then: action.Hold,
	}, "nothing could help either of them")
}

func TestJobWithAHopelessRequestRetriesOnlyOnceReleased(t *testing.T) {
	given := func(started, refused time.Duration) scene.Snapshot {
		return seen(awaits(7, "alpha-a3-0"), groupOf(7, failed("a1", "alpha-a3-0", mig.CauseConfig, refused)),
			func(s *setting) { s.Jobs[0].Start = noon.Add(-started) })
	}
	assert.Equal(t, []string{"return alpha-a3-0 to Slurm and hold job 7: STOCKOUT: none"}, planned(given(61*time.Minute, time.Hour)))
	assert.Equal(t, []string{"request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 00:15:00"},
		planned(given(time.Minute, time.Hour)), "an admin has released it since")
	assert.Equal(t, []string{`set AdminComment of job 7: "flex-start: attempt 1 failed: STOCKOUT: none; retrying at 2026-11-21T12:00:58Z"`},
		planned(given(time.Second, 2*time.Second)), "an admin has released it at once")
}
