package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/mig"
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

func madeBy(p Plan) []string {
	return those(p, func(a action.Action) bool {
		return is[action.CreateGroup](a) || is[action.CreateRequest](a) || is[action.CancelRequest](a)
	})
}

// sharedBy returns the requests that are made with share_requests: n.
func sharedBy(n int, parts ...part) []string {
	return madeBy(planOf(with(fmt.Sprint("share_requests: ", n)), seen(parts...)))
}

// withdrawn adds nodes that power up for a cancelled task.
func withdrawn(list string) part { return freed(list, risingIdle) }

func TestArrayTasksShareAGroup(t *testing.T) {
	assert.Equal(t, []string{
		"create group alpha-a3-arr-5 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-arr-5/a1 for 00:15:00",
	}, sharedBy(1, tasks(0, 2)), "the others do not wait behind it in a group that is being made")
	assert.Equal(t, []string{
		"request 1 node (alpha-a3-0) in alpha-a3-arr-5/a1 for 00:15:00",
		"request 1 node (alpha-a3-1) in alpha-a3-arr-5/a2 for 00:15:00",
	}, sharedBy(1, tasks(0, 1), arrayGroup()))
	assert.Equal(t, []string{
		"create group alpha-a3-arr-5-p2 in us-central1", "request 2 nodes (alpha-a3-[2000-2001]) in alpha-a3-arr-5-p2/a1 for 00:15:00",
	}, sharedBy(9, tasks(2000, 2001)), "a group holds 1,000 nodes")
	several := and(awaits(7, "alpha-a3-[10-11]"), task(5, "10"))
	assert.Equal(t, []string{
		"create group alpha-a3-job-7 in us-central1", "request 2 nodes (alpha-a3-[10-11]) in alpha-a3-job-7/a1 for 00:15:00",
	}, sharedBy(9, several), "not tasks of several nodes")
}

func TestRequestHoldsUpToShareRequestsTasks(t *testing.T) {
	assert.Equal(t, []string{
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-arr-5/a1 for 00:15:00",
		"request 2 nodes (alpha-a3-[2-3]) in alpha-a3-arr-5/a2 for 00:15:00",
		"request 1 node (alpha-a3-4) in alpha-a3-arr-5/a3 for 00:15:00",
	}, sharedBy(2, tasks(0, 4), arrayGroup()))
	other := and(awaits(7, "alpha-a3-9"), task(6, "1"))
	assert.Equal(t, []string{
		"create group alpha-a3-arr-6 in us-central1", "request 1 node (alpha-a3-9) in alpha-a3-arr-6/a1 for 00:15:00",
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-arr-5/a1 for 00:15:00",
	}, sharedBy(9, other, tasks(0, 1), arrayGroup()), "nor does another array join")
}

// The other machines would lose their queue position at Google.
func TestSharedRequestIsKeptWhileHalfOfItIsNeeded(t *testing.T) {
	waiting := arrayGroup(accepted("alpha-a3-[0-3]"))
	assert.Empty(t, sharedBy(4, tasks(0, 3), waiting))
	assert.Empty(t, sharedBy(4, tasks(0, 1), withdrawn("alpha-a3-[2-3]"), waiting))
	assert.Empty(t, sharedBy(4, tasks(0, 1), nodes("alpha-a3-[2-3]", poweredDown), waiting))
	assert.Equal(t, []string{"cancel request alpha-a3-arr-5/a1"}, sharedBy(4, tasks(0, 0), withdrawn("alpha-a3-[1-2]"), nodes("alpha-a3-3", poweredDown), waiting))
	assert.Equal(t, []string{"cancel request alpha-a3-arr-5/a1"}, sharedBy(4, withdrawn("alpha-a3-[0-3]"), waiting))
}

func TestTaskAttemptsAreCountedSeparately(t *testing.T) {
	failing := failed("a1", "alpha-a3-0", mig.CauseCapacity, 30*time.Second)
	assert.Equal(t, []string{"request 1 node (alpha-a3-1) in alpha-a3-arr-5/a2 for 00:15:00"},
		sharedBy(4, tasks(0, 1), arrayGroup(failing)), "the first waits before its next")
	assert.Equal(t, []string{"request 1 node (alpha-a3-1) in alpha-a3-arr-5/a1 for 00:15:00"},
		sharedBy(4, tasks(0, 1), arrayGroup(), refused(demand.Outcome("alpha-a3-arr-5", "alpha-a3-0"), mig.CauseQuota, 30*time.Second, 1)))
	assert.Empty(t, sharedBy(4, tasks(0, 1), refused("alpha-a3-arr-5", mig.CauseQuota, 30*time.Second, 1)), "the group is for all")
}
