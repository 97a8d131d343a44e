package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// tasks adds tasks of array 5, from job 100 on, that each wait for a node of nodeset a3.
func tasks(from, to int) part {
	return func(s *setting) {
		for i := from; i <= to; i++ {
			node := fmt.Sprintf("alpha-a3-%d", i)
			awaits(uint32(100+i), node)(s)
			task(5, fmt.Sprint(i))(s)
		}
	}
}

// arrayGroup adds the group that tasks of array 5 share.
func arrayGroup(requests ...mig.Request) part {
	return group("alpha-a3-arr-5", mig.Stamp{NodeSet: "a3", Array: 5}, requests...)
}

func madeBy(p Plan) (requests []string) {
	for _, a := range p.Actions {
		switch a.(type) {
		case action.CreateGroup, action.CreateRequest, action.CancelRequest:
			requests = append(requests, a.String())
		}
	}
	return requests
}

// sharedBy returns the requests that are made with share_requests: n.
func sharedBy(t *testing.T, n int, parts ...part) []string {
	t.Helper()
	return madeBy(Compute(scene.Of(with(t, fmt.Sprint("share_requests: ", n)), seen(parts...))))
}

// withdrawn adds nodes that power up for a cancelled task.
func withdrawn(list string) part { return freed(list, risingIdle) }

func TestArrayTasksShareAGroup(t *testing.T) {
	assert.Equal(t, []string{
		"create group alpha-a3-arr-5 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-arr-5/a1 for 00:15:00",
	}, sharedBy(t, 1, tasks(0, 2)), "the others do not wait behind it in a group that is being made")
	assert.Equal(t, []string{
		"request 1 node (alpha-a3-0) in alpha-a3-arr-5/a1 for 00:15:00",
		"request 1 node (alpha-a3-1) in alpha-a3-arr-5/a2 for 00:15:00",
	}, sharedBy(t, 1, tasks(0, 1), arrayGroup()))
	assert.Equal(t, []string{
		"create group alpha-a3-arr-5-p2 in us-central1", "request 2 nodes (alpha-a3-[2000-2001]) in alpha-a3-arr-5-p2/a1 for 00:15:00",
	}, sharedBy(t, 9, tasks(2000, 2001)), "a group holds 1,000 nodes")
	several := and(awaits(7, "alpha-a3-[10-11]"), task(5, "10"))
	assert.Equal(t, []string{
		"create group alpha-a3-job-7 in us-central1", "request 2 nodes (alpha-a3-[10-11]) in alpha-a3-job-7/a1 for 00:15:00",
	}, sharedBy(t, 9, several), "not tasks of several nodes")
}

func TestRequestHoldsUpToShareRequestsTasks(t *testing.T) {
	assert.Equal(t, []string{
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-arr-5/a1 for 00:15:00",
		"request 2 nodes (alpha-a3-[2-3]) in alpha-a3-arr-5/a2 for 00:15:00",
		"request 1 node (alpha-a3-4) in alpha-a3-arr-5/a3 for 00:15:00",
	}, sharedBy(t, 2, tasks(0, 4), arrayGroup()))
	long := lastJob(func(j *slurm.Job) { j.Limit = slurm.ParseLimit("2:00:00") })
	assert.Equal(t, []string{
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-arr-5/a1 for 00:15:00",
		"request 1 node (alpha-a3-2) in alpha-a3-arr-5/a2 for 02:00:00",
	}, sharedBy(t, 9, tasks(0, 2), long, arrayGroup()), "a task with another lease has its own")
	other := and(awaits(7, "alpha-a3-9"), task(6, "1"))
	assert.Equal(t, []string{
		"create group alpha-a3-arr-6 in us-central1", "request 1 node (alpha-a3-9) in alpha-a3-arr-6/a1 for 00:15:00",
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-arr-5/a1 for 00:15:00",
	}, sharedBy(t, 9, other, tasks(0, 1), arrayGroup()), "nor does another array join")
}

// Only the requests take places, not the tasks.
func TestRequestOfManyTasksTakesOnePlace(t *testing.T) {
	cfg := with(t, "share_requests: 2")
	cfg.Options.MaxActiveRequests = 2
	p := Compute(scene.Of(cfg, seen(tasks(0, 4), arrayGroup())))
	assert.Equal(t, []string{
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-arr-5/a1 for 00:15:00",
		"request 2 nodes (alpha-a3-[2-3]) in alpha-a3-arr-5/a2 for 00:15:00",
	}, madeBy(p))
	assert.Contains(t, strings.Join(actions(p), "\n"), `AdminComment of job 104: "flex-start: waiting for its turn: place 1 in us-central1`)
}

// The other machines would lose their queue position at Google.
func TestSharedRequestIsKeptWhileHalfOfItIsNeeded(t *testing.T) {
	waiting := arrayGroup(accepted("alpha-a3-[0-3]"))
	assert.Empty(t, sharedBy(t, 4, tasks(0, 3), waiting))
	assert.Empty(t, sharedBy(t, 4, tasks(0, 1), withdrawn("alpha-a3-[2-3]"), waiting))
	assert.Empty(t, sharedBy(t, 4, tasks(0, 1), nodes("alpha-a3-[2-3]", poweredDown), waiting))
	assert.Equal(t, []string{"cancel request alpha-a3-arr-5/a1"}, sharedBy(t, 4, tasks(0, 0), withdrawn("alpha-a3-[1-2]"), nodes("alpha-a3-3", poweredDown), waiting))
	assert.Equal(t, []string{"cancel request alpha-a3-arr-5/a1"}, sharedBy(t, 4, withdrawn("alpha-a3-[0-3]"), waiting))
}

func TestUnneededMachineOfASharedRequestIsDeletedOnArrival(t *testing.T) {
	p := Compute(scene.Of(with(t, "share_requests: 2"), seen(runsOn(100, "alpha-a3-0"), task(5, "0"), nodes("alpha-a3-1", poweredDown),
		arrayGroup(succeeded("alpha-a3-[0-1]")), vms("alpha-a3-[0-1]", "alpha-a3-arr-5", "RUNNING"))))

	assert.Equal(t, []string{"delete instances alpha-a3-1 of alpha-a3-arr-5"}, actions(p), "and no other")
}

// A job of any kind gets the machine that is requested for its node, if the lease is long enough.
func TestJobOnANodeOfASharedRequestWaitsForItsMachine(t *testing.T) {
	waiting := arrayGroup(accepted("alpha-a3-[0-1]"))
	assert.Empty(t, sharedBy(t, 2, tasks(0, 0), awaits(7, "alpha-a3-1"), waiting))
	long := lastJob(func(j *slurm.Job) { j.Limit = slurm.ParseLimit("2:00:00") })
	assert.Equal(t, []string{"cancel request alpha-a3-arr-5/a1"}, sharedBy(t, 2, tasks(0, 0), awaits(7, "alpha-a3-1"), long, waiting))
	assert.Equal(t, []string{"cancel request alpha-a3-arr-5/a1"}, sharedBy(t, 2, tasks(0, 0), awaits(7, "alpha-a3-[1-2]"), waiting),
		"a job of two nodes needs both at once")
}

func TestTaskAttemptsAreCountedSeparately(t *testing.T) {
	failing := failed("a1", "alpha-a3-0", mig.CauseCapacity, 30*time.Second)
	assert.Equal(t, []string{"request 1 node (alpha-a3-1) in alpha-a3-arr-5/a2 for 00:15:00"},
		sharedBy(t, 4, tasks(0, 1), arrayGroup(failing)), "the first waits before its next")
	assert.Equal(t, []string{"request 1 node (alpha-a3-1) in alpha-a3-arr-5/a1 for 00:15:00"},
		sharedBy(t, 4, tasks(0, 1), arrayGroup(), refused(demand.Outcome("alpha-a3-arr-5", "alpha-a3-0"), mig.CauseQuota, 30*time.Second, 1)))
	assert.Empty(t, sharedBy(t, 4, tasks(0, 1), refused("alpha-a3-arr-5", mig.CauseQuota, 30*time.Second, 1)), "the group is for all")
}

// One change covers all nodes.
func TestNodesOfASharedRequestAreCommentedTogether(t *testing.T) {
	p := Compute(scene.Of(with(t, "share_requests: 4"), seen(tasks(0, 3), arrayGroup(accepted("alpha-a3-[0-3]")), asked(5*time.Minute))))
	var changes []string
	for _, a := range p.Actions {
		if c, ok := a.(action.SetNodes); ok && c.Comment != nil {
			changes = append(changes, slurm.Fold(c.Nodes))
		}
	}
	assert.Equal(t, []string{"alpha-a3-[0-3]"}, changes)
}

func TestTaskWaitCountsFromItsOwnFirstRequest(t *testing.T) {
	other := failed("a1", "alpha-a3-1", mig.CauseCapacity, 3*time.Hour)
	p := Compute(scene.Of(with(t, "share_requests: 4, provision_timeout: 7200"), seen(tasks(0, 0), started(100, time.Hour), arrayGroup(other, accepted("alpha-a3-0")))))
	assert.Empty(t, madeBy(p))
	assert.NotContains(t, strings.Join(actions(p), "\n"), "return")
}

func TestNewTemplateAppliesToLaterRequests(t *testing.T) {
	old := and(arrayGroup(accepted("alpha-a3-0")), lastGroup(func(g *mig.Group) { g.Template = "global/instanceTemplates/old" }))
	s := seen(tasks(0, 1), old)
	for name, tpl := range s.Templates {
		tpl.Link = "https://compute.googleapis.com/compute/v1/" + name
		s.Templates[name] = tpl
	}
	assert.Equal(t, []string{
		"create group alpha-a3-arr-5-r1 in us-central1", "request 1 node (alpha-a3-1) in alpha-a3-arr-5-r1/a1 for 00:15:00",
	}, madeBy(Compute(scene.Of(with(t, "share_requests: 4"), s))))
}

func TestLostMachineOfASharedGroupAffectsOnlyItsTask(t *testing.T) {
	given := []part{
		runsOn(100, "alpha-a3-0"), task(5, "0"), runsOn(101, "alpha-a3-1"), task(5, "1"), tasks(2, 2),
		arrayGroup(succeeded("alpha-a3-[0-1]"), accepted("alpha-a3-2")), vms("alpha-a3-1", "alpha-a3-arr-5", "RUNNING"),
	}
	assert.Equal(t, []string{"set nodes alpha-a3-0 down"}, withoutComments(Compute(scene.Of(with(t, "share_requests: 2"), seen(append(given, missing("alpha-a3-0"))...)))))
	again := []part{
		awaits(100, "alpha-a3-0"), task(5, "0"), runsOn(101, "alpha-a3-1"), task(5, "1"),
		arrayGroup(succeeded("alpha-a3-[0-1]")), vms("alpha-a3-1", "alpha-a3-arr-5", "RUNNING"),
	}
	assert.Equal(t, []string{"request 1 node (alpha-a3-0) in alpha-a3-arr-5/a2 for 00:15:00"}, sharedBy(t, 2, again...), "and gets another")
}

func TestMachineThatATaskHasLeftIsKeptSeparately(t *testing.T) {
	cfg := keeping(t)
	left := func(idle time.Duration) scene.Snapshot {
		return seen(nodes("alpha-fix-0", idleUp), onNodes("alpha-fix-0", func(n *slurm.Node) { n.LastBusyTime = noon.Add(-idle) }),
			nodes("alpha-fix-1", running), job(101, "train", "30:00", slurm.JobRunning, "alpha-fix-1"), task(5, "1"),
			group("alpha-fix-arr-5", mig.Stamp{NodeSet: "fix", Array: 5}, request("a1", mig.Succeeded, "alpha-fix-[0-1]", time.Hour)),
			leased("alpha-fix-[0-1]", "alpha-fix-arr-5", time.Hour, 50*time.Minute))
	}
	assert.Empty(t, actions(Compute(scene.Of(cfg, left(time.Minute)))))
	assert.Equal(t, []string{"set nodes alpha-fix-0 power_down"}, actions(Compute(scene.Of(cfg, left(31*time.Minute)))))
}

func TestSharedRequestIsReplacedForAllItsTasks(t *testing.T) {
	cfg := with(t, "share_requests: 2, refresh_after: 3600")
	waiting := arrayGroup(request("a1", mig.Accepted, "alpha-a3-[0-1]", time.Hour), request("a2", mig.Accepted, "alpha-a3-2", time.Hour))
	p := Compute(scene.Of(cfg, seen(tasks(0, 2), waiting, asked(2*time.Hour))))
	assert.Equal(t, []string{"cancel request alpha-a3-arr-5/a1"}, madeBy(p))
	for _, w := range p.Waits {
		assert.Equal(t, w.Nodes[0] != "alpha-a3-2", w.Request == "", "%v", w)
	}
}

// U1: the failure of a shared request is recorded under its first node.
func TestFailedSharedRequestIsReported(t *testing.T) {
	p := Compute(scene.Of(alphaConfig(t), seen(tasks(0, 0), arrayGroup(), refused(demand.Outcome("alpha-a3-arr-5", "alpha-a3-0"), mig.CauseRate, time.Second, 8))))
	assert.Contains(t, p.Problems[0].Text, "alpha-a3-arr-5: refused for now (rate limit) since ")
}
