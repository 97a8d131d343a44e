package flex

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

func TestFailedGroupStopsNoOther(t *testing.T) {
	inWorld(t, func(w *world) {
		w.soldOut()
		w.fault(fakegce.Fault{
			Method: "regionInstanceGroupManagers.insert", Object: "/europe-west4/", Status: http.StatusForbidden,
			Message: "Required 'compute.instanceGroupManagers.create' permission for 'projects/demo'",
		})
		w.oneJob()
		w.slurm.submit(2, "shared", "alpha-one-0")
		out := w.mustPass()
		assert.Equal(w, 2, out.Failed, "the group, and the request that would have followed it")
		assert.True(w, out.soon())
		assert.Equal(w, 1, w.log.FilterMessage("action failed").FilterLevelExact(zap.ErrorLevel).Len())
		w.owns("group alpha-a3-job-1 in us-central1 of size 1",
			"request alpha-a3-job-1/a1 for alpha-a3-0: ACCEPTED")

		w.settle()
		assert.Contains(w, w.slurm.updated(), "alpha-one-0 power_down_force slurmflex: 403 forbidden: "+
			"Required 'compute.instanceGroupManagers.create' permission for 'projects/demo'")
	})
}

// A4: a rejected update of one node stops no other update. It is retried less and less often, down
// to once a minute.
func TestRejectedNodeUpdateStopsNoOther(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		require.NoError(w, w.slurm.Cluster.UpdateNodes(w.Context(), names("alpha-one-0"), slurm.NodeChange{State: "power_down_force"}))
		time.Sleep(2 * time.Second)
		w.slurm.Freeze("alpha-one-0", true)
		// The partition is exclusive: the job's nodes will be powered down after the job.
		w.oneJob()
		assert.Equal(w, 1, w.mustPass().Failed)
		assert.True(w, w.slurm.state("alpha-a3-0").Has(slurm.PowerDown), "in the same pass")
		assert.Contains(w, w.owned(), "group alpha-a3-job-1 in us-central1 of size 1")
		w.passes(600, time.Second)
		tries := slices.DeleteFunc(w.slurm.updated(), func(u string) bool { return u != "alpha-one-0 resume " })
		assert.InDelta(w, 10+5, len(tries), 2, "in ten minutes")

		w.slurm.Freeze("alpha-one-0", false)
		time.Sleep(time.Minute)
		w.mustPass()
		assert.Equal(w, "IDLE+CLOUD+POWERED_DOWN", w.slurm.state("alpha-one-0").String())
	})
}

func TestPlannedActionsAreExecuted(t *testing.T) {
	eachStory(t, map[string]func(*world){
		"a group that is deleted under a waiting request is created again": func(w *world) {
			w.soldOut()
			h := hang(w, "alpha-a3-job-1")
			w.oneJob()
			w.within(2 * time.Second)
			require.NoError(w, h.DeleteGroup(w.Context(), us, "alpha-a3-job-1"))
			close(h.let)
			time.Sleep(time.Second)
			w.settle()
			w.owns("group alpha-a3-job-1 in us-central1 of size 1",
				"request alpha-a3-job-1/a1 for alpha-a3-0: ACCEPTED")
			assert.Equal(w, map[uint32]slurm.JobState{1: slurm.JobConfiguring}, w.slurm.queue())
		},
		"an action that fails stops only what needs it": func(w *world) {
			for _, method := range []string{"resourcePolicies.insert", "regionInstanceGroupManagerResizeRequests.delete"} {
				w.fault(fakegce.Fault{Method: method, Status: http.StatusForbidden})
			}
			w.waiting(1, "train", "alpha-a3-0")
			w.cloud.ResetCalls()
			there := action.Of{Group: mig.GroupID{Region: us, Name: "alpha-a3-job-1"}}
			made := action.Of{Group: mig.GroupID{Region: us, Name: "alpha-a3-job-2"}}
			p := plan.Plan{Actions: []action.Action{
				// Deleting a group that does not exist succeeds.
				action.DeleteGroup{Of: action.Of{Group: mig.GroupID{Region: us, Name: "alpha-none"}}},
				action.CreatePolicy{Of: made, Spec: mig.PolicySpec{Name: made.Group.Name, Region: us}},
				action.CreateGroup{Of: made, Spec: mig.GroupSpec{Name: made.Group.Name, Region: us}},
				action.CreateRequest{Of: made, Spec: mig.RequestSpec{Name: "a1", Instances: names("alpha-a3-1")}},
				action.DeleteRequest{Of: there, Request: "a1"},
				action.CancelRequest{Of: there, Request: "a1"},
				action.DeleteGroup{Of: there},
			}}
			assert.Equal(w, 5, w.flights.Apply(w.Context(), w.hands(), p.Actions, p.Needed, time.Minute))
			assert.ElementsMatch(w, []string{
				"regionInstanceGroupManagers.delete", "resourcePolicies.insert",
				"regionInstanceGroupManagerResizeRequests.delete", "regionInstanceGroupManagerResizeRequests.cancel",
			}, w.mutations(), "neither a group without its policy, nor a request without its group, nor the deletion of a group that is not empty")
			assert.Zero(w, w.flights.Apply(w.Context(), w.hands(), nil, nil, time.Minute), "each is counted once")
		},
	})
}

// A6: Slurm restarts a job with --requeue=expedite immediately, on nodes in any state. The job's
// group keeps its failure count.
func TestExpeditedJobWaitsForItsNextAttempt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.slurm.cfg.NodeSets[0].Flex.MaxAttempts = 1
		w.refuses("regionInstanceGroupManagerResizeRequests.insert", "QUEUING_INFEASIBLE_NO_CAPACITY", "none")
		w.oneJob()
		back, waited := 0, false
		w.slurm.rows = func(j *slurm.Job) {
			if j.State == slurm.JobPending {
				j.State = slurm.JobExpediting
			}
		}
		for range 20 * 60 {
			w.mustPass()
			time.Sleep(time.Second)
			waits := w.slurm.JobState(1) == slurm.JobPending
			if waits && !waited {
				back++
				require.NoError(w, w.slurm.Start(1))
			}
			waited = waits
		}
		assert.Equal(w, 5, w.cloud.Counts()["regionInstanceGroupManagerResizeRequests.insert"], "at 0, 1, 3, 7 and 15 minutes")
		assert.Equal(w, 5, back, "once for each that failed")
	})
}

func TestHangingActionDelaysNoOther(t *testing.T) {
	inWorld(t, func(w *world) {
		w.soldOut()
		h := hang(w, "alpha-a3-job-1")
		impatient := func() {
			w.Helper()
			w.within(5 * time.Second)
		}
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		start := time.Now()
		impatient()
		assert.Equal(w, 5*time.Second, time.Since(start), "patience is over")

		w.slurm.submit(2, "train", "alpha-a3-2")
		impatient()
		impatient()
		assert.Contains(w, w.owned(), "request alpha-a3-job-2/a1 for alpha-a3-2: ACCEPTED")
		assert.Equal(w, map[string]int{"alpha-a3-job-1": 1, "alpha-a3-job-2": 1}, h.begun())

		// Slurm places job 3 on a node that is still being requested for job 1.
		w.slurm.cancel(1)
		w.slurm.submit(3, "train", "alpha-a3-1")
		impatient()
		assert.NotContains(w, h.begun(), "alpha-a3-job-3", "one machine would come twice")

		close(h.let)
		synctest.Wait()
		w.settle()
		w.settle()
		assert.ElementsMatch(w, []string{
			"group alpha-a3-job-2 in us-central1 of size 1",
			"request alpha-a3-job-2/a1 for alpha-a3-2: ACCEPTED",
			"group alpha-a3-job-3 in us-central1 of size 1",
			"request alpha-a3-job-3/a1 for alpha-a3-1: ACCEPTED",
		}, w.owned())
	})
}

func TestHundredJobsWaitOnlyForTheRateLimitAndLogLittle(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.soldOut()
		w.slurm.cfg.NodeSets[0].DynamicMax = 100
		w.slurm = newController(w.Context(), w.slurm.cfg)
		w.begin()
		for i := range 100 {
			w.slurm.submit(uint32(i+1), "train", fmt.Sprintf("alpha-a3-%d", i))
		}
		begun := time.Now()
		assert.Zero(w, w.mustPass().Failed)
		assert.Less(w, time.Since(begun), 11*time.Second, "400 calls: 200 at once, then 20 a second; their operations alone take 200 s")
		assert.Len(w, w.cloud.State().Groups, 100)
		defer w.daemon(nil)()
		time.Sleep(time.Hour)
		assert.Equal(w, 100, w.log.FilterMessage("machines requested").Len())
		assert.Less(w, w.log.Len(), 200)
	})
}

func TestActionsTimeOutAfterThreeMinutes(t *testing.T) {
	inWorld(t, func(w *world) {
		h := hang(w, "alpha-a3-job-1")
		w.slurm.submit(1, "shared", "alpha-a3-0")
		begun := time.Now()
		assert.Equal(w, 1, w.mustPass().Failed)
		assert.Equal(w, time.Second+3*time.Minute, time.Since(begun), "the group was there after a second")

		close(h.let)
		w.settle()
		assert.Equal(w, map[string]int{"alpha-a3-job-1": 2}, h.begun())
		assert.Empty(w, w.slurm.updated(), "no reason to return nodes")
	})
}

func TestNextPassSeesActionsThatEndDuringALook(t *testing.T) {
	inWorld(t, func(w *world) {
		w.soldOut()
		h := hang(w, "alpha-a3-job-1")
		w.oneJob()
		w.within(5 * time.Second)

		w.slurm.cancel(1)
		w.slurm.submit(2, "train", "alpha-a3-0")
		w.fault(fakegce.Fault{Method: "instances.list", Delay: 20 * time.Second, Times: 2})
		time.AfterFunc(10*time.Second, func() { close(h.let) })
		w.mustPass()
		assert.Equal(w, map[string]int{"alpha-a3-job-1": 1}, h.begun(), "it looked before the request for job 1 was there")
		w.settle()
		w.owns("group alpha-a3-job-1 in us-central1 of size 1",
			// for job 2, which adopts the request
			"request alpha-a3-job-1/a1 for alpha-a3-0: ACCEPTED")
	})
}
