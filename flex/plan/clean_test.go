package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// E10: backfill does not use a node after power_down_force until it is set idle.
func TestPoweredDownNodesAreOpenedToBackfill(t *testing.T) {
	const forced, down = memo.ReasonPrefix + "no job waits for this node any more", "IDLE+CLOUD+POWERED_DOWN"
	in := situations(t, alphaConfig)
	in("all at once, whatever the reason", seen(because("alpha-a3-[0-1]", down, forced), because("alpha-fix-0", down, memo.ReasonPrefix+"its instance is gone")),
		"set nodes alpha-a3-[0-1],alpha-fix-0 idle")
	in("once", seen(because("alpha-a3-0", down, memo.Usable)))
	in("not before they are powered down", seen(because("alpha-a3-0", poweringDown, forced), unseen("us-central1")))
	in("nor for an admin's reason", seen(because("alpha-a3-0", down, "broken fan")))
	in("nor while they are drained", seen(because("alpha-a3-0", "IDLE+CLOUD+DRAIN+POWERED_DOWN", forced)))
	in("nor when a job has got them", seen(because("alpha-a3-0", down, forced), job(7, "train", "15:00", configured, "alpha-a3-0")))
	in("a static node is powered up instead", seen(because("alpha-one-0", down, forced)), "set nodes alpha-one-0 power_up")
}

// deleting returns alpha's configuration with another max_deletions_per_pass.
func deleting(most int) *config.Config {
	cfg := alphaCopy()
	cfg.Options.MaxDeletions = most
	return cfg
}

func TestOrphanedInstanceIsDeleted(t *testing.T) {
	const beyond = "alpha-a3-[3000-3002]" // nodeset a3 has 3000 nodes
	orphaned := func(ago time.Duration) scene.Snapshot {
		return seen(groupOf(7), machinesOf(7, beyond), aged(ago))
	}
	in := situations(t, deleting(100))
	in("is deleted through the group that made it", orphaned(10*time.Minute),
		"delete instances alpha-a3-[3000-3002] of alpha-a3-job-7")
	in("not while it is young", orphaned(10*time.Minute-time.Second))
	situations(t, deleting(2))("at most max_deletions_per_pass at a time", orphaned(time.Hour),
		"delete instances alpha-a3-[3000-3001] of alpha-a3-job-7")
	in = situations(t, deleting(0))
	in("not when nothing may be deleted unasked", orphaned(time.Hour))
	in("counts by itself, and holds up nothing that Slurm asks for", seen(nodes("alpha-a3-[0-2]", poweringDown),
		groupOf(7), machinesOf(7, "alpha-a3-[0-2]")), "delete instances alpha-a3-[0-2] of alpha-a3-job-7")
	assert.Contains(t, planOf(deleting(2), orphaned(time.Hour)).Problems.Texts(),
		"more instances must be deleted than max_deletions_per_pass allows; if slurmctld lost its state, restore its StateSaveLocation, otherwise wait: the configuration knows no node of that name")
}

// The node's present job may have to wait for the deletion, and this does not count as a failed
// boot.
func TestMachinesOfAnotherJobAreDeletedWithinTheLimit(t *testing.T) {
	given := seen(awaits(8, "alpha-a3-[0-2]"), started(8, 30*time.Minute),
		groupOf(7), machinesOf(7, "alpha-a3-[0-2]"), aged(time.Hour))
	situations(t, deleting(2))("and nothing else", given, "delete instances alpha-a3-[0-1] of alpha-a3-job-7")
}

func TestRequestForUnconfiguredNodesIsCancelled(t *testing.T) {
	given := func(ago time.Duration, more ...part) scene.Snapshot {
		waits := group("alpha-gone-job-7", forJob("gone", 7), accepted("alpha-gone-[0-1]"))
		return seen(waits, asked(ago), and(more...))
	}
	in := situations(t, alphaConfig)
	in("is cancelled", given(10*time.Minute), "cancel request alpha-gone-job-7/a1")
	in("not while it is young", given(10*time.Minute-time.Second))
	in("not while a job waits", given(time.Hour, job(7, "train", "15:00", configured, "alpha-gone-[0-1]")))
}

func TestRequestsOfSuspendedNodesAreCancelled(t *testing.T) {
	in := situations(t, alphaConfig)
	in("only the one that names the node is cancelled, though others wait for the same template",
		seen(nodes("alpha-a3-0", poweringUp), nodes("alpha-a3-1", poweringDown), nodes("alpha-a3-[2-10]", poweringUp),
			job(7, "train", "15:00", configured, "alpha-a3-0"), groupOf(7, accepted("alpha-a3-0")),
			groupOf(8, accepted("alpha-a3-1")), job(9, "train", "15:00", configured, "alpha-a3-[2-10]"),
			groupOf(9, accepted("alpha-a3-[2-10]"))), "cancel request alpha-a3-job-8/a1")
	in("all of them are cancelled in one pass", seen(nodes("alpha-a3-[0-2]", poweringDown),
		groupOf(7, accepted("alpha-a3-0")), groupOf(8, accepted("alpha-a3-1")), groupOf(9, accepted("alpha-a3-2"))),
		"cancel request alpha-a3-job-7/a1", "cancel request alpha-a3-job-8/a1", "cancel request alpha-a3-job-9/a1")
	in("a group that has brought some nodes of a job loses what is left of it",
		seen(nodes("alpha-a3-[0-1]", poweringDown), machinesOf(7, "alpha-a3-0"),
			groupOf(7, accepted("alpha-a3-[0-1]"))),
		"cancel request alpha-a3-job-7/a1", "delete instances alpha-a3-0 of alpha-a3-job-7")
	in("a node is not resumed while its request lives", seen(nodes("alpha-a3-0", poweringDown),
		groupOf(7, request("a1", mig.Creating, "alpha-a3-0", time.Hour))))
}

// B11: a slurmctld that has lost its state shows every node as powered down.
func TestMachinesOfPoweredDownNodesAreDeleted(t *testing.T) {
	const made = 3 * time.Hour
	given := func(state string, change func(*slurm.Node)) scene.Snapshot {
		s := seen(nodes("alpha-a3-[0-2]", state), groupOf(7), machinesOf(7, "alpha-a3-[0-2]"), aged(made))
		for i := range s.Nodes {
			change(&s.Nodes[i])
		}
		return s
	}
	all, one := []string{"delete instances alpha-a3-[0-2] of alpha-a3-job-7"}, []string{"delete instances alpha-a3-0 of alpha-a3-job-7"}
	for name, c := range map[string]struct {
		given scene.Snapshot
		want  []string
	}{
		"go all at once while Slurm powers them down":            {given(poweringDown, func(*slurm.Node) {}), all},
		"or when it remembers that they were up":                 {given(poweredDown, func(n *slurm.Node) { n.BootTime = noon.Add(-made) }), all},
		"or that they did not come up in time":                   {given("DOWN+CLOUD+POWERED_DOWN", func(n *slurm.Node) { n.Reason = "ResumeTimeout reached" }), all},
		"and no more than may unasked when it remembers nothing": {given(poweredDown, func(*slurm.Node) {}), one},
		"or only the machines before these":                      {given(poweredDown, func(n *slurm.Node) { n.BootTime = noon.Add(-made - time.Second) }), one},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(deleting(1), c.given)
			assert.Equal(t, c.want, actions(p))
			assert.Equal(t, len(c.want[0]) == len(one[0]), len(p.Problems.Texts()) > 0)
		})
	}
}

// B14: a group was created by a process with a clock that was ahead.
func TestGroupFromTheFutureIsDeleted(t *testing.T) {
	given := func(in time.Duration) Plan {
		return alphaPlan(nodes("alpha-a3-0", poweredDown), groupOf(7), created(-in))
	}
	assert.Equal(t, []string{"delete group alpha-a3-job-7"}, actions(given(24*time.Hour)))
	assert.Empty(t, actions(given(4*time.Minute)), "a clock may differ by as much")
}

// B14: the nodes of such a request's instances are unknown.
func TestRequestWithoutInstanceNamesIsCancelled(t *testing.T) {
	given := func(count int, ago time.Duration) scene.Snapshot {
		r := mig.Request{Name: "resize", State: mig.Accepted, Count: count, Created: noon.Add(-ago)}
		return seen(nodes("alpha-a3-0", poweredDown), groupOf(7, r), counting(count), creating(count))
	}
	in := situations(t, alphaConfig)
	in("is cancelled", given(2, 10*time.Minute), "cancel request alpha-a3-job-7/resize")
	in("not while it is young", given(2, 9*time.Minute))
}

// B14: a name is unique only within a zone.
func TestSecondMachineOfANodeIsReported(t *testing.T) {
	s := seen(runsOn(7, "alpha-a3-0"), groupOf(7),
		machinesOf(7, "alpha-a3-0"), vms("alpha-a3-0", "", "RUNNING"), func(s *setting) { s.Instances[1].Zone = "us-central1-b" })
	const named = "node alpha-a3-0 has a machine in each of the zones us-central1-a, us-central1-b; " +
		"see which one Slurm uses (scontrol getaddrs alpha-a3-0) and delete the others"
	assert.Contains(t, planOf(alphaConfig, s).Problems.Texts(), named)
	s.Instances[1].Status = "STOPPING"
	assert.NotContains(t, planOf(alphaConfig, s).Problems.Texts(), named)
}

// An admin has abandoned the machine, or copied one with its metadata.
func TestMachineThatItsGroupDeniesIsReportedAndKept(t *testing.T) {
	const text = "instance alpha-a3-1 in us-central1-a is not a member of group alpha-a3-job-7, which its metadata names as its creator, and stays: " +
		"delete it when it is not needed (gcloud compute instances delete alpha-a3-1 --zone us-central1-a)"
	off := and(nodes("alpha-a3-[0-1]", poweredDown), groupOf(7), machinesOf(7, "alpha-a3-[0-1]"))
	elsewhere := func(s *setting) {
		s.say(scene.Members{All: []mig.Member{{Name: "alpha-a3-0", Zone: "us-central1-a"}, {Name: "alpha-a3-1", Zone: "us-central1-b"}}})
	}
	const one, both = "delete instances alpha-a3-0 of alpha-a3-job-7", "delete instances alpha-a3-[0-1] of alpha-a3-job-7"
	for name, test := range map[string]struct {
		given scene.Snapshot
		want  []string
		named bool
	}{
		"by name":                        {seen(off, saying("alpha-a3-0", "")), []string{one}, true},
		"by zone":                        {seen(off, elsewhere), []string{one}, true},
		"not while it is being stopped":  {seen(off, saying("alpha-a3-0", ""), func(s *setting) { s.Instances[1].Status = "STOPPING" }), []string{one}, false},
		"not if its group was not asked": {seen(off, silent), []string{both}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(alphaConfig, test.given)
			assert.Equal(t, test.want, actions(p))
			assert.Equal(t, test.named, slices.Contains(p.Problems.Texts(), text), "%v", p.Problems.Texts())
		})
	}
}

func TestNodeIsNotMistakenForOneWithALongerName(t *testing.T) {
	for gone, there := range map[string]string{"alpha-a3-1": "alpha-a3-10", "alpha-a3-10": "alpha-a3-1"} {
		s := seen(nodes("alpha-a3-1,alpha-a3-10", givenUp), groupOf(7), machinesOf(7, there))
		assert.Equal(t, []string{"set nodes " + gone + " power_down_force"}, planned(s))
	}
}

func TestYoungResourcesAreNotDeleted(t *testing.T) {
	given := func(age time.Duration) scene.Snapshot {
		s := seen(nodes("alpha-a3-0", poweredDown), groupOf(7), created(age), policy("alpha-a3-job-8", forJob("a3", 8)))
		s.Policies[0].Created = noon.Add(-age)
		return s
	}
	assert.Empty(t, planned(given(29*time.Second)))
	assert.Equal(t, []string{"delete group alpha-a3-job-7", "delete workload policy alpha-a3-job-8"}, planned(given(30*time.Second)))
}

func TestOldRequestRecordIsDeleted(t *testing.T) {
	done := func(name string, state mig.RequestState, ago time.Duration) mig.Request {
		return mig.Request{Name: name, State: state, Instances: names("alpha-a3-0"), Created: noon.Add(-ago)}
	}
	given := func(requests ...mig.Request) scene.Snapshot {
		return seen(runsOn(7, "alpha-a3-0"), machinesOf(7, "alpha-a3-0"), groupOf(7, requests...))
	}
	in := situations(t, alphaConfig)
	in("is deleted when it is finished and old, in a group that stays", given(done("a1", mig.Cancelled, time.Hour),
		done("a2", mig.Succeeded, time.Hour)), "delete record of request alpha-a3-job-7/a1")
	in("not while it is young",
		given(done("a1", mig.Cancelled, time.Hour-time.Second), done("a2", mig.Succeeded, time.Minute)))
	in("nor the newest, after which the next one is named", given(done("a1", mig.Succeeded, 9*time.Hour)))
	in("nor one that failed while its job is in the queue, for that is counted",
		given(done("a1", mig.Failed, time.Hour), done("a2", mig.Succeeded, time.Hour)))
}
