package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

// hogged has jobs of nodeset a3 wait for requests of theirs, from job 1 on, each of
// the priority of its number.
func hogged(n int, state mig.RequestState) part {
	return func(s *setting) {
		for i := range n {
			id, node := uint32(i+1), fmt.Sprintf("alpha-a3-%d", i)
			nodes(node, poweringUp)(s)
			job(id, "train", "15:00", configured, node)(s)
			important(uint64(id))(s)
			group(fmt.Sprintf("alpha-a3-job-%d", id), forJob("a3", id), request("a1", state, node, 15*time.Minute))(s)
		}
	}
}

// B9: requests of one nodeset do not take the last places of a region that nodesets
// without any could need.
func TestANodesetLeavesAPlaceForTheOthers(t *testing.T) {
	cfg := alphaConfig(t) // us-central1 has nodesets a3 and fix, and bulk, which makes no requests
	cfg.Options.MaxActiveRequests = 4
	another := and(nodes("alpha-a3-9", poweringUp), job(9, "train", "15:00", configured, "alpha-a3-9"))
	asks := []string{"create group alpha-a3-job-9 in us-central1", "request 1 node (alpha-a3-9) in alpha-a3-job-9/a1 for 00:15:00"}
	waits := []string{`set AdminComment of job 9: "flex-start: waiting for its turn: place 1 in us-central1, where 4 requests are active at most"`}
	assert.Equal(t, asks, actions(Compute(cfg, seen(hogged(1, mig.Accepted), another))))
	assert.Equal(t, waits, actions(Compute(cfg, seen(hogged(3, mig.Accepted), another))), "the last is for nodeset fix")
	fix := and(nodes("alpha-fix-0", poweringUp), job(20, "train", "15:00", configured, "alpha-fix-0"))
	assert.Contains(t, actions(Compute(cfg, seen(hogged(3, mig.Accepted), another, fix))), "request 1 node (alpha-fix-0) in alpha-fix-job-20/a1 for 01:00:00")
	cfg.Options.MaxActiveRequests = 1
	assert.Equal(t, asks, actions(Compute(cfg, seen(another))), "with one place for all nobody waits for nothing")
}

// B9: where all places were taken before they were kept, a more important job of a
// nodeset that has none gets that of the least important.
func TestTheLeastImportantRequestMakesRoomForANodesetThatHasNone(t *testing.T) {
	cfg := alphaConfig(t)
	cfg.Options.MaxActiveRequests = 4
	fix := func(priority uint64) part {
		return and(nodes("alpha-fix-[0-1]", poweringUp), job(20, "train", "15:00", configured, "alpha-fix-0"),
			important(priority), job(21, "train", "15:00", configured, "alpha-fix-1"), important(priority))
	}
	assert.Equal(t, []string{"cancel request alpha-a3-job-1/a1"}, cancelled(Compute(cfg, seen(hogged(4, mig.Accepted), fix(1000)))), "one, and the least important")
	assert.Empty(t, cancelled(Compute(cfg, seen(hogged(4, mig.Accepted), fix(1)))), "not for one that is no more important")
	assert.Empty(t, cancelled(Compute(cfg, seen(hogged(4, mig.Creating), fix(1000)))), "nor one that is CREATING")
	t.Run("and does not come back in its place", func(t *testing.T) {
		s := seen(hogged(4, mig.Accepted), fix(1000))
		s.Groups[0].Requests[0].State = mig.Cancelled
		p := Compute(cfg, s)
		assert.Contains(t, actions(p), "request 1 node (alpha-fix-0) in alpha-fix-job-20/a1 for 01:00:00")
		assert.Empty(t, cancelled(p))
		assert.NotContains(t, actions(p), "request 1 node (alpha-a3-0) in alpha-a3-job-1/a2 for 00:15:00")
	})
	t.Run("nor when that is served", func(t *testing.T) {
		s := seen(hogged(4, mig.Accepted))
		s.Groups[0].Requests[0].State = mig.Cancelled
		assert.NotContains(t, actions(Compute(cfg, s)), "request 1 node (alpha-a3-0) in alpha-a3-job-1/a2 for 00:15:00", "its place is kept")
	})
	cfg.Options.MaxActiveRequests = 1
	assert.Empty(t, cancelled(Compute(cfg, seen(hogged(1, mig.Accepted), fix(1000)))), "a nodeset keeps one")
}

// B16
func TestAJobThatHasWaitedWhileNoDaemonRanIsAskedForFirst(t *testing.T) {
	given := func(requests ...part) Snapshot {
		return seen(awaits(7, "alpha-a3-0"), started(7, 3*time.Hour), and(requests...))
	}
	waiting := func(ago time.Duration) part { return and(groupOf(7, accepted("alpha-a3-0")), asked(ago)) }
	early := groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, 2*time.Hour))
	const back = "return alpha-a3-0 to Slurm and requeue job 7: no capacity for 1 × a3-machine in 2h00m (provision_timeout 02:00:00)"
	cfg := with(t, "provision_timeout: 7200")
	assert.Equal(t, []string{"create group alpha-a3-job-7 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00"},
		actions(Compute(cfg, given())))
	assert.NotContains(t, actions(Compute(cfg, given(waiting(time.Minute)))), back, "and has provision_timeout from then on")
	assert.Equal(t, back, actions(Compute(cfg, given(waiting(2*time.Hour))))[0])
	assert.Contains(t, actions(Compute(cfg, given(early))), "request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 00:15:00", "an earlier process asked, and nobody since")
}
