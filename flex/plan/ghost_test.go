package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// saying sets the members that the last group reports: those in there have a VM, and those in lost
// have lost theirs.
func saying(there, lost string) part {
	return func(s *setting) {
		var all []mig.Member
		for _, n := range names(there) {
			all = append(all, mig.Member{Name: n, Status: "RUNNING", Action: "NONE"})
		}
		for _, n := range names(lost) {
			all = append(all, mig.Member{Name: n, Action: "NONE"})
		}
		s.say(scene.Members{All: all})
	}
}

// silent makes the read of the last group's members fail.
func silent(s *setting) { s.say(scene.Members{Err: errors.New("503")}) }

func (s *setting) say(m scene.Members) {
	if s.Members == nil {
		s.Members = map[mig.GroupID]scene.Members{}
	}
	s.Members[s.Groups[len(s.Groups)-1].ID()] = m
}

func brought(list string, ago time.Duration) part {
	r := request("a1", mig.Succeeded, list, time.Hour)
	r.Created = noon.Add(-ago)
	return groupOf(7, r)
}

// B4: a request that has waited for a long time may have ended a moment ago.
func TestGroupDecidesWhetherAHiddenInstanceExists(t *testing.T) {
	wanted := and(awaits(7, "alpha-a3-0"), timeLimit("1:00:00"))
	in := situations(t, alphaConfig)
	in("exists if its group lists it, however long its request waited",
		seen(wanted, brought("alpha-a3-0", 49*time.Hour), counting(1), saying("alpha-a3-0", "")))
	in("may exist while the members are unread, even after its job's requeue",
		seen(nodes("alpha-a3-0", "IDLE+CLOUD+POWERING_UP"), job(7, "train", "1:00:00", slurm.JobPending, ""), groupOf(7), counting(1), silent))
	in("is not looked for under a node that another job has",
		seen(awaits(8, "alpha-a3-0"), timeLimit("1:00:00"), groupOf(7), counting(1), silent),
		"create group alpha-a3-job-8 in us-central1",
		"request 1 node (alpha-a3-0) in alpha-a3-job-8/a1 for 01:00:00")
	in("may show soon, whatever the group lists",
		seen(wanted, brought("alpha-a3-0", 9*time.Minute), counting(1), saying("", "alpha-a3-0")))
	in("is lost if the group lists it without a VM, and another group replaces it",
		seen(wanted, brought("alpha-a3-0", 10*time.Minute), counting(1), saying("", "alpha-a3-0")),
		"create group alpha-a3-job-7-r1 in us-central1",
		"request 1 node (alpha-a3-0) in alpha-a3-job-7-r1/a1 for 01:00:00")
	booted := func(at time.Duration) part {
		return onNodes("alpha-a3-0", func(n *slurm.Node) { n.BootTime = noon.Add(-at) })
	}
	in("is lost at once if its node has booted since: it has been there",
		seen(wanted, booted(7*time.Minute), brought("alpha-a3-0", 9*time.Minute), counting(1), saying("", "alpha-a3-0")),
		"create group alpha-a3-job-7-r1 in us-central1",
		"request 1 node (alpha-a3-0) in alpha-a3-job-7-r1/a1 for 01:00:00")
	in("may show soon if its node has booted before that request",
		seen(wanted, booted(10*time.Minute), brought("alpha-a3-0", 9*time.Minute), counting(1), saying("", "alpha-a3-0")))
	in("has left a group that counts it without listing it, and is requested there again",
		seen(wanted, brought("alpha-a3-0", 10*time.Minute), counting(1), saying("", "")),
		"request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 01:00:00")
	in("shows after it was requested again too early: that request is cancelled", seen(wanted, brought("alpha-a3-0",
		10*time.Minute), vms("alpha-a3-0", "alpha-a3-job-7", "STAGING"), counting(1), group("alpha-a3-job-7-r1",
		forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour))),
		"cancel request alpha-a3-job-7-r1/a1")
	p := alphaPlan(wanted, brought("alpha-a3-0", time.Hour), counting(1), silent)
	assert.Contains(t, p.Problems.Texts(), "group us-central1/alpha-a3-job-7 counts machines that Compute does not list, and is left alone until its members can be listed: 503")
}

func TestGroupThatCountsOtherThanTheListIsAskedForItsMembers(t *testing.T) {
	live := request("a2", mig.Accepted, "alpha-a3-1", time.Hour)
	for name, test := range map[string]struct {
		given scene.Snapshot
		asked bool
	}{
		"not if both agree":                      {seen(machinesOf(7, "alpha-a3-[0-1]"), groupOf(7), counting(2)), false},
		"more":                                   {seen(machinesOf(7, "alpha-a3-0"), groupOf(7), counting(2)), true},
		"more, and it creates them":              {seen(machinesOf(7, "alpha-a3-0"), groupOf(7), counting(2), creating(1)), false},
		"fewer":                                  {seen(machinesOf(7, "alpha-a3-[0-1]"), groupOf(7), counting(1)), true},
		"but for one beside a request":           {seen(machinesOf(7, "alpha-a3-0"), groupOf(7, live), counting(1)), true},
		"but for one of another group's request": {seen(machinesOf(7, "alpha-a3-1"), groupOf(8, live), counting(1), groupOf(7)), true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.asked, len(test.given.Miscounted(test.given.Groups)) == 1)
		})
	}
}

// B1: the list of instances alone would suggest that the group is empty.
func TestGroupWithHiddenMachinesIsKept(t *testing.T) {
	works := and(runsOn(7, "alpha-a3-[0-1]"), timeLimit("1:00:00"),
		brought("alpha-a3-[0-1]", time.Hour))
	recordless := func(s *setting) { s.Groups[0].Requests = nil }
	gone := []string{"delete group alpha-a3-job-7"}
	in := situations(t, alphaConfig)
	in("is kept while its job runs and the list lacks them", seen(works, counting(2), saying("alpha-a3-[0-1]", "")))
	in("and while its members are unread", seen(works, recordless, counting(2), silent))
	in("is kept while one of its nodes is up without a job", seen(nodes("alpha-a3-0", "IDLE+CLOUD"),
		brought("alpha-a3-0", time.Hour), counting(1), saying("alpha-a3-0", ""), vms("alpha-a3-0", "", "RUNNING")))
	in("is kept until they show, even without a job", seen(nodes("alpha-a3-[0-1]", poweredDown),
		brought("alpha-a3-[0-1]", time.Minute), counting(2), saying("alpha-a3-[0-1]", "")))
	in("is deleted when it has lost them and no job needs them", seen(nodes("alpha-a3-[0-1]", poweredDown),
		brought("alpha-a3-[0-1]", time.Minute), counting(2), saying("", "alpha-a3-[0-1]")), gone...)
	in("is deleted when it has lost them and their nodes have other machines", seen(works, counting(2),
		saying("", "alpha-a3-[0-1]"),
		group("alpha-a3-job-7-r1", forJob("a3", 7), request("a1", mig.Succeeded, "alpha-a3-[0-1]", time.Hour)),
		counting(2), vms("alpha-a3-[0-1]", "alpha-a3-job-7-r1", "RUNNING")), gone...)
	in("is kept when it has lost them and their nodes have no other machines", seen(works, counting(2),
		saying("", "alpha-a3-[0-1]")))
}

// B1: an instance that briefly shows without its group would count as orphaned.
func TestMachineThatShowsWithoutItsGroupKeepsItsRequest(t *testing.T) {
	waits := and(awaits(7, "alpha-a3-0"), timeLimit("1:00:00"))
	coming := and(waits, groupOf(7, request("a1", mig.Accepted, "alpha-a3-0", time.Hour)), counting(1), creating(1))
	in := situations(t, alphaConfig)
	in("does not cost the request that is bringing it", seen(coming, vms("alpha-a3-0", "", "PROVISIONING"),
		aged(20*time.Second)))
	in("nor if it shows with one that does not count it", seen(groupOf(8), job(8, "train", "1:00:00",
		slurm.JobPending, ""), created(10*time.Second), coming, vms("alpha-a3-0", "alpha-a3-job-8", "PROVISIONING"),
		aged(20*time.Second)))
	in("is another's if it was there before that request", seen(coming, vms("alpha-a3-0", "", "RUNNING"),
		aged(31*time.Second)),
		"cancel request alpha-a3-job-7/a1",
		`set AdminComment of job 7: "flex-start: instance alpha-a3-0 in us-central1-a has the name of `+`a node that waits, and slurmflex did not create it; unless it joins Slurm by itself, delete it"`)
	booting := seen(waits, brought("alpha-a3-0", time.Hour), counting(1), saying("alpha-a3-0", ""),
		vms("alpha-a3-0", "", "RUNNING"), aged(31*time.Minute))
	assert.Empty(t, planOf(alphaConfig, booting).Problems.Texts(), "it is not to be deleted as a stranger's")
}

// C5: a machine lost under a job appears as a problem, as a loss with its cause, and in the job's
// AdminComment.
func TestMachineLostUnderAJobIsReported(t *testing.T) {
	given := func(more ...part) Plan {
		return alphaPlan(runsOn(7, "alpha-a3-[0-1]"), timeLimit("1:00:00"), nodes("alpha-a3-0", running+"+NOT_RESPONDING"),
			brought("alpha-a3-[0-1]", time.Hour),
			ending("alpha-a3-1", "alpha-a3-job-7", time.Hour, time.Hour),
			reserved("slurmflex-alpha-1795266000", "alpha-a3-[0-1]", noon.Add(time.Hour)), and(more...))
	}
	in := func(name string, cause scene.LossCause, says string, p Plan) {
		t.Run(name, func(t *testing.T) {
			require.Len(t, p.Losses, 1)
			loss := p.Losses[0]
			assert.Equal(t, []string{"alpha-a3-0"}, loss.Nodes)
			assert.Equal(t, []uint32{7}, loss.Jobs)
			assert.Equal(t, cause, loss.Cause)
			assert.Contains(t, p.Problems.Texts(), says+"; it was in use by job 7")
			assert.Equal(t, "flex-start: machine lost: "+says, tells(p)[7])
		})
	}
	in("deleted by hand or lost", scene.Gone, "the machine of alpha-a3-0 is gone: deleted by somebody, or lost by Google", given())
	in("the lease has ended", scene.LeaseEnded, "the machine of alpha-a3-0 is gone: the lease ended at 2026-11-21T11:55:00Z",
		given(reserved("slurmflex-alpha-1795262100", "alpha-a3-0", noon.Add(-5*time.Minute))))
	in("stopped", scene.Stopped, "the machine of alpha-a3-0 is stopped, and cannot be started again",
		given(vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED")))
	answers := given(func(s *setting) { s.Nodes[0].State = slurm.ParseState(running) })
	assert.Len(t, answers.Losses, 1)
	assert.Empty(t, tells(answers), "its owner is notified when Slurm gets no answer either")
	for name, p := range map[string]Plan{
		"one that is there":              given(machinesOf(7, "alpha-a3-0")),
		"one of a region that is unread": given(unseen("us-central1"), func(s *setting) { s.Instances, s.Groups = nil, nil }),
	} {
		t.Run("not "+name, func(t *testing.T) { assert.Empty(t, p.Losses) })
	}
}

// U14: the machines of a job end within seconds of each other, and count as one loss.
func TestLossNamesTheFirstSecondInWhichALeaseEnded(t *testing.T) {
	p := alphaPlan(runsOn(7, "alpha-a3-[0-1]"), timeLimit("1:00:00"), nodes("alpha-a3-[0-1]", running+"+NOT_RESPONDING"),
		brought("alpha-a3-[0-1]", time.Hour),
		reserved("slurmflex-alpha-1795262100", "alpha-a3-[0-1]", noon.Add(-5*time.Minute)), func(s *setting) {
			s.Ends = map[string]time.Time{"alpha-a3-0": noon.Add(-5*time.Minute + 42*time.Second), "alpha-a3-1": noon.Add(-5*time.Minute + 40*time.Second)}
		})
	require.Len(t, p.Losses, 1)
	assert.Equal(t, "the machines of alpha-a3-[0-1] are gone: the lease ended at 2026-11-21T11:55:40Z", p.Losses[0].String())
}
