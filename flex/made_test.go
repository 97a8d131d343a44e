package flex

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

func TestLaggingListsCauseNoSecondCreation(t *testing.T) {
	eachInWorld(t, map[string]string{
		"the list of groups":   "regionInstanceGroupManagers.list",
		"the list of requests": "regionInstanceGroupManagerResizeRequests.list",
	}, func(t *testing.T, w *world, list string) {
		w.soldOut()
		w.fault(fakegce.Fault{Method: list, Lag: 30 * time.Second})
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.passes(20, 2*time.Second)
		assert.Equal(t, []string{"regionInstanceGroupManagers.insert", "regionInstanceGroupManagerResizeRequests.insert"}, w.mutations())
		assert.NotContains(t, w.slurm.comment[1], "there already")
		w.slurm.cancel(1)
		time.Sleep(time.Minute)
		w.settle()
		time.Sleep(3 * time.Minute)
		w.settle()
		assert.Empty(t, w.owned())
	})
}

// D10: another process, such as down --now, deletes what this process created.
func TestGroupThatDisappearsFromAListIsDeleted(t *testing.T) {
	for name, gone := range map[string]func(*testing.T, *world){
		"its group": func(t *testing.T, w *world) {
			require.NoError(t, w.Cloud.DeleteGroup(t.Context(), us, "alpha-a3-job-1"))
		},
		"its request": func(t *testing.T, w *world) {
			require.NoError(t, w.Cloud.CancelRequest(t.Context(), us, "alpha-a3-job-1", "a1"))
			require.NoError(t, w.Cloud.DeleteRequest(t.Context(), us, "alpha-a3-job-1", "a1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.soldOut()
				w.slurm.submit(1, "train", "alpha-a3-[0-1]")
				w.passes(3, 2*time.Second)
				s, _ := w.look()
				require.Len(t, s.Seen.Groups, 1)
				require.Len(t, s.Seen.Groups[0].Requests, 1)
				gone(t, w)
				s, _ = w.look()
				for _, g := range s.Seen.Groups {
					assert.Empty(t, g.Requests)
				}
				assert.Len(t, s.Seen.Groups, len(w.cloud.State().Groups))
			})
		})
	}
}

func TestListedInstancesWithoutCapacityChangeNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.soldOut()
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.settle()
		asked := w.mutations()
		w.passes(300, time.Minute) // longer than any boot timeout
		assert.Equal(t, asked, w.mutations())
		assert.Equal(t, slurm.JobConfiguring, w.slurm.queue()[1])

		w.slurm.cancel(1)
		time.Sleep(time.Minute)
		w.settle()
		assert.Empty(t, w.owned())
	}, func(o *fakegce.Options) { o.Switches.PendingInstances = true })
}

func TestUnlistedInstancesAreNotInsertedTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true
		w.fault(fakegce.Fault{Method: "instances.list", Lag: 30 * time.Second})
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.passes(20, 2*time.Second)
		assert.Equal(t, 1, w.cloud.Counts()["instances.bulkInsert"]+w.cloud.Counts()["regionInstances.bulkInsert"])
		assert.Len(t, w.cloud.State().Instances, 2)
	})
}

// Chaos, day 8148: a list showed an instance without a group, and the next list omitted that
// instance.
func TestInstancesOmittedFromAListAreNotInsertedTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.passes(4, 2*time.Second)
		require.Len(t, w.cloud.State().Instances, 2)
		time.Sleep(130 * time.Second)
		w.fault(fakegce.Fault{Method: "instances.list", Omitted: "alpha-a3-1"})
		w.passes(10, 2*time.Second)
		assert.Equal(t, 1, w.cloud.Counts()["instances.bulkInsert"]+w.cloud.Counts()["regionInstances.bulkInsert"])
	}, func(o *fakegce.Options) { o.BootTime = 5 * time.Minute })
}

func TestSlowBulkInsertIsNotRepeatedByTheSameProcess(t *testing.T) {
	begins := map[string]func(w *world){
		"a node without a job": func(w *world) { w.slurm.set("alpha-a3-0", "IDLE+CLOUD+POWERING_UP") },
		"a job's node, in two periods": func(w *world) {
			w.slurm.submit(1, "train", "alpha-a3-0")
			w.slurm.jobs[1].Start = time.Now().Add(-8 * time.Minute)
		},
		"a job's node, in one period": func(w *world) {
			w.slurm.submit(1, "train", "alpha-a3-0")
			w.slurm.jobs[1].Start = time.Now()
		},
	}
	for name, begin := range begins {
		for _, takes := range []time.Duration{150 * time.Second, 4 * time.Minute, 7 * time.Minute, 25 * time.Minute} {
			t.Run(name+", "+takes.String(), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true
					w.slurm.cfg.NodeSets[0].Zones = []string{"us-central1-a", "us-central1-b"}
					w.fault(fakegce.Fault{Method: "instances.list", Lag: 30 * time.Second})
					begin(w)
					defer w.daemon(nil)()
					time.Sleep(2*takes + 3*time.Minute)
					assert.Len(t, w.cloud.State().Instances, 1, "%v", w.owned())
				}, func(o *fakegce.Options) { o.OperationTime = takes })
			})
		}
	}
}

// Compute answers a repeated requestId with the operation that has failed.
func TestBulkInsertIsReallyRepeatedAfterAPassingFailure(t *testing.T) {
	for _, code := range []string{"INTERNAL_ERROR", "RESOURCE_OPERATION_RATE_EXCEEDED", "RESOURCE_NOT_READY", "QUOTA_EXCEEDED"} {
		t.Run(code, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true
				w.fault(fakegce.Fault{
					Method: "*.bulkInsert", Times: 1, OperationError: &fakegce.Problem{Code: code, Message: "try again"},
				})
				w.slurm.submit(1, "train", "alpha-a3-0")
				begun := time.Now()
				w.slurm.jobs[1].Start = begun
				defer w.daemon(nil)()
				for len(w.cloud.State().Instances) == 0 && time.Since(begun) < time.Hour {
					time.Sleep(time.Second)
				}
				assert.Less(t, time.Since(begun), 3*time.Minute, "after %d calls", w.cloud.Counts()["instances.bulkInsert"])
			})
		})
	}
}

// The new process counts the failed operations from zero, and must reach the insert that did act.
func TestNextProcessRepeatsNoInsertThatFollowedAPassingFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true
		w.slurm.cfg.NodeSets[0].Zones = []string{"us-central1-a", "us-central1-b"}
		w.fault(fakegce.Fault{
			Method: "*.bulkInsert", Times: 2, OperationError: &fakegce.Problem{Code: "RESOURCE_NOT_READY", Message: "try again"},
		})
		w.fault(fakegce.Fault{Method: "instances.list", Lag: 30 * time.Second})
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.slurm.jobs[1].Start = time.Now()
		for len(w.cloud.State().Instances) == 0 {
			w.mustPass()
		}
		w.begin()
		w.passes(20, 2*time.Second)
		assert.Len(t, w.cloud.State().Instances, 1)
	})
}

func TestRequestInCreationCountsAsActive(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.Options.MaxActiveRequests = 1
		w.soldOut()
		h := hang(w, "alpha-a3-job-1")
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.within(2 * time.Second)
		w.slurm.submit(2, "train", "alpha-a3-1")
		w.within(2 * time.Second)
		assert.Equal(t, map[string]int{"alpha-a3-job-1": 1}, h.begun())
		close(h.let)
		w.mustPass()
		assert.Equal(t, map[string]int{"alpha-a3-job-1": 1}, h.begun())
	})
}

func TestRequestKeepsItsTurnWhileItsGroupIsCreated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.Options.MaxActiveRequests = 1
		w.soldOut()
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.within(100 * time.Millisecond) // creating the group takes a second
		w.slurm.submit(2, "train", "alpha-a3-1")
		w.slurm.jobs[2].Priority = 100
		w.within(100 * time.Millisecond)
		time.Sleep(10 * time.Second)
		w.mustPass()
		groups := w.cloud.State().Groups
		require.Len(t, groups, 1)
		assert.Equal(t, "alpha-a3-job-1", groups[0].Name)
	})
}

func TestBootFailuresBlockTheNodesetUntilUnblock(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		set := w.slurm.cfg.NodeSets[0]
		set.Flex.BootTimeout, set.Flex.BootFailures = time.Minute, 1
		w.slurm.deaf = true // slurmd never registers
		w.served(1, "train", "alpha-a3-0")
		time.Sleep(2 * time.Minute)
		w.settle()
		assert.Empty(t, w.owned(), "it did not come up, and is deleted")

		w.begin() // a new process without memory
		w.served(2, "train", "alpha-a3-1")
		assert.Empty(t, w.owned(), "nothing more is asked for")
		assert.Contains(t, w.slurm.comment[2], "nodeset a3 is blocked because 1 machines in a row failed to boot; ask an admin")

		nodes, err := Unblock(t.Context(), w.slurm, w.Config, "a3")
		require.NoError(t, err)
		assert.Equal(t, []string{"alpha-a3-0"}, nodes)
		w.settle()
		assert.Contains(t, w.owned(), "group alpha-a3-job-2 in us-central1 of size 1")
		nodes, err = Unblock(t.Context(), w.slurm, w.Config, "a3")
		require.NoError(t, err)
		assert.Empty(t, nodes, "all nodes are forgotten")
	})
}

func TestAdminsBlockOutlastsTheDaemonUntilUnblock(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.soldOut()
		w.served(1, "train", "alpha-a3-0")
		assert.Contains(t, w.owned(), "group alpha-a3-job-1 in us-central1 of size 1")

		nodes, err := Block(t.Context(), w.slurm, w.Config, "a3", memo.Block{At: time.Now(), Cancels: true, Why: "driver update"})
		require.NoError(t, err)
		assert.Contains(t, nodes, "alpha-a3-0")
		w.settle()
		w.begin() // a new process without memory
		w.served(2, "train", "alpha-a3-1")
		assert.Equal(t, []string{"request alpha-a3-job-1/a1 for alpha-a3-0: CANCELLED"}, slices.DeleteFunc(w.owned(), func(line string) bool { return strings.HasPrefix(line, "group ") }))
		for _, job := range []uint32{1, 2} {
			assert.Contains(t, w.slurm.comment[job], "nodeset a3 is blocked by an admin: driver update")
		}

		unblocked, err := Unblock(t.Context(), w.slurm, w.Config, "a3")
		require.NoError(t, err)
		assert.ElementsMatch(t, nodes, unblocked)
		w.settle()
		assert.Contains(t, w.owned(), "group alpha-a3-job-2 in us-central1 of size 1")
	})
}

func TestBlockLeavesTextsOfOtherProgramsAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		foreign := "rack 7"
		require.NoError(t, w.slurm.UpdateNodes(t.Context(), []string{"alpha-a3-0"}, slurm.NodeChange{Extra: &foreign}))
		nodes, err := Block(t.Context(), w.slurm, w.Config, "a3", memo.Block{At: time.Now()})
		require.NoError(t, err)
		assert.NotContains(t, nodes, "alpha-a3-0")

		require.NoError(t, w.slurm.UpdateNodes(t.Context(), nodes, slurm.NodeChange{Extra: &foreign}))
		_, err = Block(t.Context(), w.slurm, w.Config, "a3", memo.Block{At: time.Now()})
		assert.EqualError(t, err, "the Extra of every node has another program's text; clear one (scontrol update nodename=alpha-a3-0 extra=)")
	})
}

// placing gives nodeset a3 compact placement and a machine type that supports it.
func placing(t *testing.T, w *world) {
	t.Helper()
	link, err := w.cloud.AddTemplate(us, fakegce.FlexTemplate("close", "a4-highgpu-8g"))
	require.NoError(t, err)
	set := w.slurm.cfg.NodeSets[0]
	set.Template, set.Placement, set.PlacementDistance = link, true, 2
}

// The other process died after it had created the group.
func TestOwnGroupOfAnotherProcessIsNotCalledAStrangers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.soldOut()
		w.slurm.submit(1, "train", "alpha-a3-0")
		_, p := w.look()
		w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Lag: 20 * time.Second})
		for _, a := range p.Actions {
			if c, ok := a.(action.CreateGroup); ok {
				require.NoError(t, w.Cloud.CreateGroup(t.Context(), c.Spec))
			}
		}
		w.begin()
		for range 30 {
			assert.Empty(t, w.mustPass().Plan.Problems)
			time.Sleep(time.Second)
		}
		assert.NotContains(t, w.slurm.comment[1], "already exists")
		require.Len(t, w.cloud.State().Groups, 1)
		assert.Len(t, w.cloud.State().Groups[0].Requests, 1)
	})
}

func TestOwnPolicyIsNotCalledAStrangers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		placing(t, w)
		w.soldOut()
		w.fault(fakegce.Fault{Method: "resourcePolicies.list", Lag: 40 * time.Second})
		w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.insert", Times: 6, Status: http.StatusServiceUnavailable})
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		for begun := time.Now(); len(w.cloud.State().Groups) == 0 && time.Since(begun) < time.Hour; {
			assert.NotContains(t, strings.Join(w.mustPass().Plan.Problems.Texts(), "\n"), "already exists")
			time.Sleep(time.Second)
		}
		assert.NotContains(t, w.slurm.comment[1], "already exists")
		assert.Equal(t, 1, w.cloud.Counts()["resourcePolicies.insert"])

		w.cancelled(1)
		time.Sleep(3 * time.Minute)
		w.settle()
		assert.Empty(t, w.cloud.State().Policies)
	})
}

func TestPlacementOutlivesItsGroup(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		placing(t, w)
		w.running(1, "train", "alpha-a3-[0-1]")
		require.Len(t, w.cloud.State().Policies, 1)
		w.cancelled(1)
		assert.Empty(t, w.owned())
		assert.Empty(t, w.cloud.State().Policies)
	})
}

func TestRejectedPlacementReturnsNodesAndLeavesNothing(t *testing.T) {
	const words = "Required 'compute.resourcePolicies.create' permission for 'projects/demo'"
	faults := map[string]fakegce.Fault{
		"at once":          {Status: http.StatusForbidden, Message: words},
		"in its operation": {OperationError: &fakegce.Problem{Code: "PERMISSION_DENIED", Message: words}},
	}
	eachInWorld(t, faults, func(t *testing.T, w *world, fault fakegce.Fault) {
		placing(t, w)
		fault.Method = "resourcePolicies.insert"
		w.fault(fault)
		w.served(1, "train", "alpha-a3-[0-1]")
		assert.Empty(t, w.owned(), "no group without its placement")
		assert.Equal(t, []uint32{1}, w.slurm.held)
		assert.Contains(t, w.slurm.comment[1], words)
	})
}
