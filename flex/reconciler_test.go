package flex

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

func TestAResumedJobGetsOneGroupAndOneRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cloud.SetCapacity("", "", 0)
		w.slurm.submit(812, "train", "alpha-a3-[0-3]")
		w.settle()

		require.Equal(t, []string{
			"group alpha-a3-job-812 in us-central1 of size 4",
			"request alpha-a3-job-812/a1 for alpha-a3-[0-3]: ACCEPTED",
		}, w.owned())
		g, _ := w.cloud.State().Group("alpha-a3-job-812")
		assert.Equal(t, time.Hour, g.Requests[0].Duration, "the job's time limit")
		assert.Equal(t, "projects/demo/regions/us-central1/instanceTemplates/flex", g.Template)
		stamp, ours := mig.ParseStamp(g.Description)
		assert.True(t, ours)
		assert.Equal(t, mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 812}, stamp)
	})
}

func TestTheSamePassAgainChangesNothing(t *testing.T) {
	stages := map[string]func(*world){
		"while a job waits for capacity": func(w *world) {
			w.cloud.SetCapacity("", "", 0)
			w.slurm.submit(1, "train", "alpha-a3-[0-1]")
			w.settle()
			time.Sleep(time.Minute) // then its nodes say so
			w.settle()
		},
		"while a job runs":      func(w *world) { w.running(1, "train", "alpha-a3-[0-1]") },
		"when all is put away":  func(w *world) { w.running(1, "train", "alpha-a3-0"); w.slurm.cancel(1); w.settle() },
		"while nodes come each": func(w *world) { w.running(1, "shared", "alpha-one-[0-1]") },
	}
	for name, arrive := range stages {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				arrive(w)
				w.cloud.ResetCalls()
				updates := w.slurm.updated()
				for range 3 {
					assert.False(t, w.mustPass(t.Context()).Soon())
					time.Sleep(time.Minute)
				}
				assert.Empty(t, w.mutations())
				assert.Equal(t, updates, w.slurm.updated())
			})
		})
	}
}

func TestASuspendedNodeLosesItsInstanceAndTheLastOneTheGroupToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "shared", "alpha-a3-[0-1]")
		w.slurm.cancel(1)
		w.settle()

		w.cloud.ResetCalls()
		w.slurm.set("alpha-a3-1", "IDLE+CLOUD+POWERING_DOWN")
		w.settle()
		assert.Equal(t, []string{"regionInstanceGroupManagers.deleteInstances"}, w.mutations())
		assert.Equal(t, []string{
			"group alpha-a3-job-1 in us-central1 of size 1",
			"request alpha-a3-job-1/a1 for alpha-a3-[0-1]: SUCCEEDED",
			"instance alpha-a3-0 of alpha-a3-job-1: RUNNING",
		}, w.owned())

		w.cloud.ResetCalls()
		w.slurm.set("alpha-a3-0", "IDLE+CLOUD+POWERING_DOWN")
		w.settle()
		assert.Equal(t, []string{
			"regionInstanceGroupManagers.deleteInstances", "regionInstanceGroupManagers.delete",
		}, w.mutations())
		assert.Empty(t, w.owned())
	})
}

func TestACancelledJobsRequestsAreCancelledAndItsNodesGoBack(t *testing.T) {
	for _, nodes := range []string{"alpha-a3-[0-1]", "alpha-one-[0-1]"} {
		t.Run(nodes, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cloud.SetCapacity("", "", 0)
				w.slurm.submit(1, "shared", nodes)
				w.settle()
				require.NotEmpty(t, w.owned())
				w.slurm.cancel(1)
				w.settle()
				assert.Empty(t, w.owned())
				assert.Equal(t, []string{
					nodes + " power_down_force slurmflex: no job waits for this node any more", nodes + " resume ",
				}, w.slurm.updated())
			})
		})
	}
}

func TestWithoutAnAnswerFromSlurmThereIsNoPass(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "train", "alpha-a3-0")
		before := w.owned()
		w.slurm.cancel(1) // there is a machine to delete
		down := errors.New("slurm_load_node error: Unable to contact slurm controller")
		w.slurm.refuse(down)
		w.cloud.ResetCalls()

		_, err := w.Pass(t.Context())
		require.ErrorIs(t, err, down)
		assert.EqualError(t, err, "read nodes: "+down.Error())
		snap, err := w.Observe(t.Context())
		require.ErrorIs(t, err, down)
		assert.Equal(t, plan.Snapshot{}, snap)
		assert.Empty(t, w.mutations())
		assert.Equal(t, before, w.owned())
	})
}

func TestARegionThatCannotBeReadIsLeftAsItIs(t *testing.T) {
	unreadable := map[string]fakegce.Fault{
		"groups":    {Method: "regionInstanceGroupManagers.list", Object: "/europe-west4/", Status: http.StatusForbidden},
		"requests":  {Method: "regionInstanceGroupManagerResizeRequests.list", Object: "/europe-west4/", Status: http.StatusForbidden},
		"instances": {Method: "instances.aggregatedList", Unreachable: []string{europe}},
	}
	for what, fault := range unreadable {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.running(1, "shared", "alpha-one-0")
				w.cloud.SetCapacity("", "", 0)
				w.slurm.submit(2, "shared", "alpha-one-1")
				w.settle()
				before := w.owned()
				w.slurm.cancel(1) // a machine to delete
				w.slurm.set("alpha-one-0", "IDLE+CLOUD+POWERED_DOWN")
				w.slurm.cancel(2)                          // a request to cancel
				w.slurm.submit(3, "shared", "alpha-one-2") // a group to create
				w.slurm.submit(4, "train", "alpha-a3-0")   // and one where all can be read

				require.NoError(t, w.cloud.AddFault(fault))
				out := w.mustPass(t.Context())
				assert.ElementsMatch(t, append(before,
					"group alpha-a3-job-4 in us-central1 of size 1",
					"request alpha-a3-job-4/a1 for alpha-a3-0: ACCEPTED",
				), w.owned())
				require.Len(t, out.Plan.Problems, 1, "one for the region, not one for each group")
				assert.Contains(t, out.Plan.Problems[0].Text, "region europe-west4 could not be read, and nothing is done in it: ")
				assert.Equal(t, 1, w.log.FilterMessage(out.Plan.Problems[0].Text).Len(), "an admin can read of it")

				w.cloud.ClearFaults()
				w.settle()
				assert.Contains(t, w.owned(), "request alpha-one-node-2/a1 for alpha-one-2: ACCEPTED")
				assert.NotContains(t, strings.Join(w.owned(), "\n"), "alpha-one-0")
			})
		})
	}
}

func TestAJobThatBeginsWhileTheCloudIsSlowKeepsItsNodes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cloud.SetCapacity("", "", 0)
		w.slurm.submit(1, "shared", "alpha-a3-0")
		w.settle()
		w.slurm.cancel(1)
		w.Cloud = listingCloud{w.Cloud, func() { w.slurm.submit(2, "shared", "alpha-a3-0") }}
		w.mustPass(t.Context())
		assert.NotContains(t, strings.Join(w.slurm.updated(), "\n"), "power_down", "job 2 has got the node that powered up for nobody")
		assert.Contains(t, w.owned(), "request alpha-a3-job-1/a1 for alpha-a3-0: ACCEPTED", "and what waits for it")
	})
}

// slowSlurm is a slurmctld that takes its time to list its nodes.
type slowSlurm struct{ *controller }

func (s slowSlurm) Nodes(ctx context.Context) ([]slurm.Node, error) {
	time.Sleep(2 * slurmAge)
	return s.controller.Nodes(ctx)
}

func TestASlowSlurmIsNotAskedTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Scheduler = slowSlurm{w.slurm}
		w.mustPass(t.Context())
		assert.Len(t, w.slurm.reads, 1)
	})
}

func TestWhatIsObservedOfAnUnreadRegionIsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "shared", "alpha-one-0,alpha-a3-0")
		for _, fault := range []fakegce.Fault{
			{Method: "instances.aggregatedList", Unreachable: []string{europe}},
			{Method: "regionInstanceGroupManagers.list", Object: "/europe-west4/", Status: http.StatusForbidden},
		} {
			require.NoError(t, w.cloud.AddFault(fault))
			snap, err := w.Observe(t.Context())
			require.NoError(t, err)
			assert.Contains(t, snap.Unseen, europe)
			require.Len(t, snap.Groups, 1)
			assert.Equal(t, us, snap.Groups[0].Region)
			assert.Equal(t, []string{"alpha-a3-0"}, mig.Names(snap.Instances))
			w.cloud.ClearFaults()
		}
	})
}

func TestCollectingOnlyCreatesNothingAndSetsNoNode(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "train", "alpha-a3-0")
		w.slurm.cancel(1)                        // a machine and a group to collect
		w.slurm.submit(2, "train", "alpha-a3-1") // nothing to collect
		w.slurm.submit(3, "train", "alpha-a3-2")
		w.slurm.cancel(3) // a node to return
		updates := w.slurm.updated()
		for range 5 {
			w.mustPass(t.Context(), OnlyCollect)
			time.Sleep(10 * time.Second)
		}
		assert.Empty(t, w.owned())
		assert.Equal(t, updates, w.slurm.updated())
	})
}

func TestARefusalIsForgottenAfterAnHour(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var refused refusals
	refused.note("g", &mig.Error{Op: "create group", Object: "g", Cause: mig.CauseQuota, Err: errors.New("none left")}, at, 0)
	assert.Equal(t, map[string]plan.Refusal{
		"g": {Cause: mig.CauseQuota, Message: "none left", At: at, Times: 1},
	}, refused.matter(at))

	assert.Len(t, refused.matter(at.Add(time.Hour)), 1)
	assert.Empty(t, refused.matter(at.Add(time.Hour+time.Second)))
}

func TestAJobCancelledWhileItsRequestIsMadeLeavesNothingInTheQueue(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cloud.SetCapacity("", "", 0)
		h := hang(w, "alpha-a3-job-1")
		w.slurm.submit(1, "train", "alpha-a3-0")
		_, err := w.pass(t.Context(), 5*time.Second)
		require.NoError(t, err)
		w.slurm.cancel(1)
		_, err = w.pass(t.Context(), 5*time.Second)
		require.NoError(t, err)
		close(h.let)
		time.Sleep(2 * time.Second)
		assert.NotEmpty(t, w.owned(), "it has come too late")
		w.settle()
		assert.Empty(t, w.owned())
	})
}

func TestAGroupWhoseLeasesHaveEndedIsDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "shared", "alpha-one-0")
		w.slurm.cancel(1)
		time.Sleep(2 * time.Hour)
		w.slurm.set("alpha-one-0", "DOWN+CLOUD+NOT_RESPONDING")
		w.settle()
		assert.Empty(t, w.owned())
		assert.Empty(t, w.slurm.eol)
	})
}
