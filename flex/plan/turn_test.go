package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// hogged makes jobs of nodeset a3 wait for requests of their own. They start at job 1, and each has
// its number as priority.
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

// asksForNine lists the actions that request node alpha-a3-9 for job 9.
var asksForNine = []string{"create group alpha-a3-job-9 in us-central1", "request 1 node (alpha-a3-9) in alpha-a3-job-9/a1 for 00:15:00"}

// B9: the requests of one nodeset do not take the last places of a region, which nodesets without a
// request may need.
func TestNodesetLeavesAPlaceForTheOthers(t *testing.T) {
	cfg := withRequests(4) // us-central1 has nodesets a3 and fix, and bulk, which makes no requests
	another := and(awaits(9, "alpha-a3-9"))
	waits := []string{`set AdminComment of job 9: "flex-start: waiting for its turn: place 1 in us-central1, which has at most 4 active requests"`}
	assert.Equal(t, asksForNine, actions(planOf(cfg, seen(hogged(1, mig.Accepted), another))))
	assert.Equal(t, waits, actions(planOf(cfg, seen(hogged(3, mig.Accepted), another))), "the last is for nodeset fix")
	fix := and(awaits(20, "alpha-fix-0"))
	assert.Contains(t, actions(planOf(cfg, seen(hogged(3, mig.Accepted), another, fix))), "request 1 node (alpha-fix-0) in alpha-fix-job-20/a1 for 01:00:00")
	cfg.Options.MaxActiveRequests = 1
	assert.Equal(t, asksForNine, actions(planOf(cfg, seen(another))), "with a single queue position no job waits in vain")
}

// yields lists what a plan does to free places: the AdminComments of jobs that lose theirs, and the
// cancelled requests.
func yields(p Plan) []string {
	return those(p, func(a action.Action) bool {
		c, tells := a.(action.CommentJob)
		return tells && memo.Has(c.Text, memo.Yielded) || is[action.CancelRequest](a)
	})
}

// D3: a request that has held a place for an hour yields it to a more important job that waits.
func TestLongHeldPlaceIsFreedForAMoreImportantJob(t *testing.T) {
	cfg := withRequests(4)
	held := func(ago time.Duration) part { // places held by jobs 1 to 4 with these priorities
		return func(s *setting) {
			for i := range s.Groups {
				s.Groups[i].Requests[0].Created = noon.Add(-ago)
			}
		}
	}
	waits := func(priority uint64) part {
		return and(awaits(9, "alpha-a3-9"), important(priority))
	}
	in := func(name string, want []string, parts ...part) {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want, yields(planOf(cfg, seen(parts...)))) })
	}
	yielded := func(id int) []string {
		return []string{
			fmt.Sprintf(`set AdminComment of job %d: "flex-start: waiting for its turn: place 2 in us-central1, which has at most 4 active requests; it lost its place in Google's queue to a request of higher priority"`, id),
			fmt.Sprintf("cancel request alpha-a3-job-%d/a1", id),
		}
	}
	least := yielded(1)
	crowded := and(hogged(4, mig.Accepted), held(time.Hour), waits(1000))
	in("the least important one, after its job's notice", least, crowded)
	in("also for a job of a nodeset without live requests", least, hogged(4, mig.Accepted), held(time.Hour), awaits(20, "alpha-fix-0"), important(1000))
	in("not before", nil, hogged(4, mig.Accepted), held(59*time.Minute), waits(1000))
	in("not for one that is as important", nil, hogged(4, mig.Accepted), held(time.Hour), waits(1))
	in("of equals the youngest", yielded(2),
		hogged(4, mig.Accepted), held(2*time.Hour), waits(1000), func(s *setting) {
			s.Jobs[1].Priority, s.Groups[1].Requests[0].Created = 1, noon.Add(-time.Hour)
		})
	in("none that creates machines", nil, hogged(4, mig.Creating), held(time.Hour), waits(1000))
	in("nor one with its machine created", nil, hogged(1, mig.Accepted), held(time.Hour), waits(1000), func(s *setting) {
		cfg.Options.MaxActiveRequests = 1
		machinesOf(1, "alpha-a3-0")(s)
	})
	cfg.Options.MaxActiveRequests = 4
	in("one in a pass", least[1:], crowded, awaits(10, "alpha-a3-10"), important(1000), func(s *setting) {
		s.Told = map[uint32]string{1: `flex-start: waiting for its turn: place 3 in us-central1, which has at most 4 active requests` + memo.Yielded}
	})
	cfg.Options.MaxActiveRequests = 3
	in("none while another becomes free", []string{"cancel request alpha-a3-job-3/a1"}, hogged(3, mig.Accepted), held(time.Hour), waits(1000),
		onNodes("alpha-a3-2", func(n *slurm.Node) { n.State = slurm.ParseState(poweredDown) }), func(s *setting) { s.Jobs[2].State, s.Jobs[2].Nodes = slurm.JobCancelled, nil })
	cfg.Options.MaxActiveRequests = 4
	in("none for a node that another important job waits for", yielded(2),
		crowded, job(30, "shared", "15:00", configured, "alpha-a3-0"), important(2000))
	cfg.Options.YieldAfter = 0
	in("none if yield_after is 0", nil, hogged(4, mig.Accepted), held(100*time.Hour), waits(1000))
}

// D3: if Slurm does not accept the comment, the request is kept.
func TestRequestIsCancelledOnlyAfterItsOwnerIsNotified(t *testing.T) {
	cfg := withRequests(1)
	p := planOf(cfg, seen(hogged(1, mig.Accepted), asked(time.Hour), awaits(9, "alpha-a3-9"), important(1000)))
	at := slices.IndexFunc(p.Actions, is[action.CancelRequest])
	tells := slices.IndexFunc(p.Actions, func(a action.Action) bool { c, ok := a.(action.CommentJob); return ok && c.Job == 1 })
	require.Less(t, tells, at)
	assert.Equal(t, action.About(p.Actions[tells]).Queue, action.About(p.Actions[at]).Queue)
	assert.True(t, action.Needs(p.Actions[at], p.Actions[tells]))
}

// D3: the job that a place was freed for gets it, and the job that lost its place takes no other's.
func TestFreedPlaceGoesToTheImportantJob(t *testing.T) {
	cfg := withRequests(1)
	s := seen(hogged(1, mig.Cancelled), awaits(9, "alpha-a3-9"), important(1000))
	const lost = "flex-start: waiting for its turn: place 1 in us-central1, which has at most 1 active request" + memo.Yielded
	s.Told = map[uint32]string{1: lost}
	assert.Equal(t, asksForNine, actions(planOf(cfg, s)),
		"and its owner reads on why it waits")
	s = seen(hogged(2, mig.Accepted))
	s.Groups[0].Requests[0].State, s.Groups[1].Requests[0].Created = mig.Cancelled, noon.Add(-100*time.Hour)
	assert.Empty(t, yields(planOf(cfg, s)), "job 1 waits for job 2, which is more important")
}

// A static node ranks above all jobs.
func TestPlaceIsFreedForAStaticNode(t *testing.T) {
	cfg := withRequests(1)
	s := seen(nodes("alpha-one-0", risingIdle), awaits(7, "alpha-one-3"),
		nodeGroup(3, request("a1", mig.Accepted, "alpha-one-3", 2*time.Hour)), asked(time.Hour))
	assert.Equal(t, []string{"cancel request alpha-one-node-3/a1"}, cancelled(planOf(cfg, s)))
}

// D3: max_active_requests_per_user limits one user's requests in a region. Static nodes do not
// count.
func TestActiveRequestsAreLimitedPerUser(t *testing.T) {
	cfg := alphaCopy()
	cfg.Options.MaxActivePerUser = 2
	of := func(user string) part { return lastJob(func(j *slurm.Job) { j.User = user }) }
	ann := func(id uint32) part { return and(awaits(id, fmt.Sprint("alpha-a3-", id)), of("ann")) }
	waiting := and(ann(1), groupOf(1, accepted("alpha-a3-1")), asked(time.Hour), ann(2), groupOf(2, accepted("alpha-a3-2")), asked(time.Hour))
	asks := []string{"create group alpha-a3-job-3 in us-central1", "request 1 node (alpha-a3-3) in alpha-a3-job-3/a1 for 00:15:00"}
	made := func(parts ...part) []string { return madeBy(planOf(cfg, seen(parts...))) }
	assert.Empty(t, made(waiting, ann(3)))
	assert.Equal(t, "flex-start: waiting for its turn: its user has 2 of at most 2 active requests in us-central1", tells(planOf(cfg, seen(waiting, ann(3))))[3])
	assert.Equal(t, asks, made(waiting, awaits(3, "alpha-a3-3"), of("bob")))
	assert.Len(t, made(waiting, nodes("alpha-one-[0-1]", risingIdle)), 4, "static nodes belong to no user")
	elsewhere := and(awaits(3, "alpha-one-3"), of("ann"))
	assert.Len(t, made(waiting, elsewhere), 2, "nor does another region count")
	assert.Equal(t, []string{"cancel request alpha-a3-job-2/a1"}, made(waiting, ann(3), important(5), func(s *setting) { s.Jobs[0].Priority = 1 }),
		"and a more important job of the user's gets the place of another")
	assert.Empty(t, made(waiting, awaits(4, "alpha-a3-4"), groupOf(4, accepted("alpha-a3-4")), asked(9*time.Hour), of("bob"), ann(3), important(1), func(s *setting) { s.Jobs[0].Priority, s.Jobs[1].Priority = 1, 1 }),
		"but none of another user's")
	cfg.Options.MaxActivePerUser = 0
	assert.Equal(t, asks, made(waiting, ann(3)), "0 is off")
}

// B16
func TestJobThatWaitedWithoutADaemonIsRequestedFirst(t *testing.T) {
	given := func(requests ...part) scene.Snapshot {
		return seen(awaits(7, "alpha-a3-0"), started(7, 3*time.Hour), and(requests...))
	}
	waiting := func(ago time.Duration) part { return and(queued("alpha-a3-0", ago)) }
	early := groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, 2*time.Hour))
	const back = "return alpha-a3-0 to Slurm and requeue job 7: no capacity for 1 × a3-machine in 2h00m (provision_timeout 02:00:00)"
	cfg := with("provision_timeout: 7200")
	assert.Equal(t, asksForSeven,
		actions(planOf(cfg, given())))
	assert.NotContains(t, actions(planOf(cfg, given(waiting(time.Minute)))), back, "and has provision_timeout from then on")
	assert.Equal(t, back, actions(planOf(cfg, given(waiting(2*time.Hour))))[0])
	assert.Contains(t, actions(planOf(cfg, given(early))), "request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 00:15:00", "an earlier process asked, and no process since")
}
