package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// singles adds one-node jobs of a user, from job 200 on, that each wait for a node of nodeset a3.
func singles(user string, from, to int) part {
	return func(s *setting) {
		for i := from; i <= to; i++ {
			awaits(uint32(200+i), fmt.Sprintf("alpha-a3-%d", i))(s)
			lastJob(func(j *slurm.Job) { j.User, j.Priority = user, 100 })(s)
		}
	}
}

// userGroup adds the group that the one-node jobs of a user share.
func userGroup(user string, requests ...mig.Request) part {
	return group(groupOfUser(user), mig.Stamp{NodeSet: "a3", User: mig.UserKey(user)}, requests...)
}

func groupOfUser(user string) string {
	return memo.SharedGroup("alpha", "a3", 0, mig.UserKey(user), 0)
}

// singlesIn returns the requests that are made with share_requests: 10 and that many places.
func singlesIn(places int, parts ...part) []string {
	cfg := with("share_requests: 10")
	cfg.Options.MaxActiveRequests = places
	return madeBy(planOf(cfg, seen(parts...)))
}

func asks(user, nodes, attempt string, count int) string {
	noun := "nodes"
	if count == 1 {
		noun = "node"
	}
	return fmt.Sprintf("request %d %s (%s) in %s/%s for 00:15:00", count, noun, nodes, groupOfUser(user), attempt)
}

// Everyone sees actions, even if Slurm hides jobs from other users.
func TestActionsForSharedRequestsNameNoUser(t *testing.T) {
	cfg := with("share_requests: 10")
	cfg.Options.MaxActiveRequests = 2
	var reasons []string
	for _, a := range planOf(cfg, seen(singles("ann", 0, 3))).Actions {
		assert.NotContains(t, action.About(a).Text+a.Because(), "ann")
		reasons = append(reasons, a.Because())
	}
	assert.Contains(t, reasons, "4 one-node jobs of one user wait for alpha-a3-[0-3]")
}

// Half of the free places are for the jobs that wait now.
func TestSingleJobsShareOnlyIfPlacesAreScarce(t *testing.T) {
	ann := userGroup("ann")
	assert.Equal(t, []string{asks("ann", "alpha-a3-0", "a1", 1), asks("ann", "alpha-a3-1", "a2", 1)}, singlesIn(4, ann, singles("ann", 0, 1)))
	assert.Equal(t, []string{asks("ann", "alpha-a3-[0-1]", "a1", 2), asks("ann", "alpha-a3-2", "a2", 1)}, singlesIn(4, ann, singles("ann", 0, 2)))
	assert.Equal(t, []string{asks("ann", "alpha-a3-[0-9]", "a1", 10), asks("ann", "alpha-a3-[10-19]", "a2", 10), asks("ann", "alpha-a3-[20-29]", "a3", 10)},
		singlesIn(3, ann, singles("ann", 0, 99)), "share_requests is the most")
	assert.Equal(t, []string{"create group alpha-a3-job-200 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-200/a1 for 00:15:00"},
		sharedBy(1, singles("ann", 0, 0)), "without share_requests each job has its own group")
}

func TestSingleJobsShareOnlyWithTheirEquals(t *testing.T) {
	long := lastJob(func(j *slurm.Job) { j.Limit = slurm.ParseLimit("2:00:00") })
	bob, ann := and(userGroup("bob"), singles("bob", 0, 2)), and(userGroup("ann"), singles("ann", 3, 5))
	assert.Equal(t, []string{asks("bob", "alpha-a3-[0-2]", "a1", 3), asks("ann", "alpha-a3-[3-5]", "a1", 3)}, singlesIn(2, bob, ann))
	assert.Equal(t, []string{asks("bob", "alpha-a3-[0-1]", "a1", 2), "request 1 node (alpha-a3-2) in " + groupOfUser("bob") + "/a2 for 02:00:00"}, singlesIn(2, bob, long),
		"a job with another lease has its own")
	assert.Equal(t, []string{asks("bob", "alpha-a3-[0-2]", "a1", 3), "request 1 node (alpha-a3-3) in alpha-a3-arr-5/a1 for 00:15:00"},
		singlesIn(2, bob, awaits(300, "alpha-a3-3"), task(5, "0"), arrayGroup()), "nor does an array task join")
}

// A place of the user's is as scarce as a place of the region.
func TestSingleJobsShareTheirUsersPlaces(t *testing.T) {
	cfg := with("share_requests: 10")
	cfg.Options.MaxActivePerUser = 2
	assert.Equal(t, []string{asks("ann", "alpha-a3-[0-3]", "a1", 4)}, madeBy(planOf(cfg, seen(userGroup("ann"), singles("ann", 0, 3)))))
}

// The job that would join a request takes no place, but it would be ahead in Google's queue.
func TestSingleJobOvertakesNoOtherUsersJob(t *testing.T) {
	first, last := and(singles("ann", 0, 1), important(200)), and(singles("ann", 4, 4), important(50))
	between := and(userGroup("ann"), singles("bob", 2, 2), userGroup("bob"))
	assert.Equal(t, []string{asks("ann", "alpha-a3-[0-1]", "a1", 2)}, singlesIn(1, first, between, last))
	assert.Equal(t, []string{asks("ann", "alpha-a3-[0-1,4]", "a1", 3), asks("bob", "alpha-a3-2", "a1", 1)}, singlesIn(2, first, between, last),
		"bob's job has a place")
	assert.Equal(t, []string{asks("ann", "alpha-a3-[0-1,4]", "a1", 3)}, singlesIn(1, first, userGroup("ann"), last))
}

func TestSharedGroupOfAUserIsDeletedWhenEmpty(t *testing.T) {
	given := []part{userGroup("ann", failed("a1", "alpha-a3-0", mig.CauseCapacity, 2*time.Hour)), created(3 * time.Hour), nodes("alpha-a3-0", poweredDown)}
	assert.Equal(t, []string{"delete group " + groupOfUser("ann")}, planned(seen(given...)))
	waits := func(s *setting) {
		s.Jobs = append(s.Jobs, slurm.Job{ID: 9, ArrayID: 9, State: slurm.JobPending, User: "ann"})
	}
	assert.Empty(t, planned(seen(append(given, waits)...)), "a waiting job needs its failures")
}
