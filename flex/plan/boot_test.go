package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestBootFailuresBlockANodeset(t *testing.T) {
	// boot_failures is 5, the default.
	record := func(n int, ago time.Duration) string {
		return fmt.Sprintf("slurmflex: %d boots failed, the last of an instance made %s", n, noon.Add(-ago).Format(time.RFC3339))
	}
	// Each created a second before the previous one.
	apart := func(list string, ago time.Duration) part {
		return func(s *setting) {
			for i, n := range names(list) {
				extra(n, record(1, ago+time.Duration(i)*time.Second))(s)
			}
		}
	}
	isBlocked := func(n int) []string {
		return []string{fmt.Sprintf(`set AdminComment of job 7: "flex-start: nodeset a3 is blocked because %d machines in a row failed to boot; `+
			`ask an admin"`, n)}
	}
	forgets := func(list string) string { return "set nodes " + list + ` extra ""` }
	waits := func(more ...part) scene.Snapshot {
		return seen(awaits(7, "alpha-a3-0"),
			nodes("alpha-a3-[1-5]", poweredDown), nodes("alpha-fix-0", poweredDown), and(more...))
	}
	// Created that long ago, in a group with a lease of an hour.
	up := func(made time.Duration) part {
		return and(runsOn(8, "alpha-a3-9"), timeLimit("1:00:00"), groupOf(8),
			ending("alpha-a3-9", "alpha-a3-job-8", made, time.Hour),
			reserved("slurmflex-alpha-1795266000", "alpha-a3-9", noon))
	}
	in := situations(t, with("boot_timeout: 600"))
	in("is closed before as many failures in a row", waits(apart("alpha-a3-[1-4]", time.Minute)), asksForSeven...)
	in("opens with the last of them", waits(apart("alpha-a3-[1-5]", time.Minute)), isBlocked(5)...)
	in("is closed by an instance that came up and is younger", waits(apart("alpha-a3-[1-5]", 30*time.Minute),
		up(29*time.Minute)), append(asksForSeven, forgets("alpha-a3-[1-5]"))...)
	in("not by one that was up before", waits(apart("alpha-a3-[1-5]", 30*time.Minute), up(31*time.Minute)),
		isBlocked(5)...)
	in("is closed an hour after the last failure", waits(apart("alpha-a3-[1-5]", 70*time.Minute)),
		append(asksForSeven, forgets("alpha-a3-[1-5]"))...)
	in("not before", waits(apart("alpha-a3-[1-4]", 2*time.Hour), extra("alpha-a3-5", record(1, 69*time.Minute))),
		isBlocked(5)...)
}

// B12: if all nodes of one job fail to register, they count as one failure, even if there are as
// many nodes as boot_failures.
func TestFailedBootsOfOneJobCountOnce(t *testing.T) {
	given := func(jobs int) scene.Snapshot {
		parts := []part{awaits(99, "alpha-a3-9")}
		for i := range jobs {
			id, list := uint32(i+1), fmt.Sprintf("alpha-a3-[%d-%d]", 10*i+10, 10*i+19)
			name := fmt.Sprintf("alpha-a3-job-%d", id)
			parts = append(parts, awaits(id, list), timeLimit("1:00:00"),
				groupOf(id), ending(list, name, 10*time.Minute, 50*time.Minute))
		}
		return seen(parts...)
	}
	cfg := with("boot_timeout: 600")
	assert.Nil(t, scene.Of(cfg, given(4)).Sets[cfg.FlexSet("a3")].Block)
	assert.Equal(t, &scene.Block{Failed: 5, Until: noon.Add(time.Hour)}, scene.Of(cfg, given(5)).Sets[cfg.FlexSet("a3")].Block)
}

func TestFailedBootIsRecorded(t *testing.T) {
	late := func(more ...part) scene.Snapshot {
		return seen(nodes("alpha-a3-[0-2]", risingIdle), leasedTo(7, "alpha-a3-[0-2]", 10*time.Minute, 50*time.Minute), and(more...))
	}
	const made = "an instance made 2026-11-21T11:50:00Z"
	in := situations(t, with("boot_timeout: 600"))
	in("for many nodes in one update", late(),
		`set nodes alpha-a3-[0-2] power_down_force extra "slurmflex: 1 boots failed, the last of `+made+`"`)
	in("counting on", late(extra("alpha-a3-0", memo.Boots{Failed: 2, Last: noon.Add(-30 * time.Minute)}.String())),
		`set nodes alpha-a3-0 power_down_force extra "slurmflex: 3 boots failed, the last of `+made+`"`,
		`set nodes alpha-a3-[1-2] power_down_force extra "slurmflex: 1 boots failed, the last of `+made+`"`)
	in("but not over what others have written", late(extra("alpha-a3-[0-2]", "rack 7")),
		"set nodes alpha-a3-[0-2] power_down_force")
}

// Slurm would end a job that it does not requeue if the job lost a node. slurmctld also ignores a
// machine that booted before Slurm powered up its node, as happens if a door starts without a daemon.
func TestMachineThatDoesNotBootIsReplacedUnderAJobThatSlurmWouldEnd(t *testing.T) {
	s := seen(nodes("alpha-a3-[0-1]", poweringUp), extra("alpha-a3-1", "rack 7"), job(7, "train", "1:00:00", configured, "alpha-a3-[0-1]"),
		leasedTo(7, "alpha-a3-[0-1]", 10*time.Minute, 50*time.Minute))
	s.Records[7] = slurm.JobRecord{Batch: true}
	cfg := with("boot_timeout: 600")
	p := planOf(cfg, s)
	const record = "slurmflex: 1 boots failed, the last of an instance made 2026-11-21T11:50:00Z"
	assert.Equal(t, []string{
		`set nodes alpha-a3-0 extra "` + record + `"`,
		"delete instances alpha-a3-[0-1] of alpha-a3-job-7",
		`set AdminComment of job 7: "flex-start: the machine did not join Slurm within boot_timeout 00:10:00"`,
	}, actions(p))

	s.Nodes[0].Extra = record
	for i := range s.Instances {
		s.Instances[i].Created = s.Instances[i].Created.Add(200 * time.Millisecond).Local()
	}
	s.Now = s.Now.Add(time.Second)
	assert.NotContains(t, fmt.Sprint(actions(planOf(cfg, s))), "extra", "each machine is counted once")
	s.Records = nil
	assert.NotContains(t, fmt.Sprint(actions(planOf(cfg, s))), "delete", "Slurm may requeue the job")
}

// With --requeue=expedite, Slurm restarts a job on the node with the machine that did not boot.
func TestMachineOlderThanItsOwnJobsAllocationIsReplaced(t *testing.T) {
	const makesRoom = "delete instances alpha-a3-0 of alpha-a3-job-7"
	in := func(made, start time.Duration, state slurm.JobState, more ...part) []string {
		return actions(planOf(with("boot_timeout: 600"), seen(nodes("alpha-a3-0", poweringUp), job(7, "train", "1:00:00", state, "alpha-a3-0"),
			leasedTo(7, "alpha-a3-0", made, 50*time.Minute), started(7, start), and(more...))))
	}
	assert.Contains(t, in(11*time.Minute, time.Minute, configured), makesRoom, "it can never register")
	assert.NotContains(t, in(11*time.Minute, 61*time.Second, configured), makesRoom, "it may have booted for this allocation")
	assert.NotContains(t, in(11*time.Minute, 0, slurm.JobRunning), makesRoom, "it has registered since the nodes were read")
	assert.NotContains(t, in(11*time.Minute, time.Minute, configured, func(s *setting) { s.Skew = time.Hour }), makesRoom, "its age is not certain")
}

func TestMachineOfAnotherJobIsReplacedIfItsLeaseIsTooShort(t *testing.T) {
	const makesRoom = "delete instances alpha-a3-0 of alpha-a3-job-6"
	in := func(ends time.Duration, limit string, by uint32) []string {
		return planned(seen(awaits(7, "alpha-a3-0"), timeLimit(limit), started(7, time.Minute),
			leasedTo(by, "alpha-a3-0", 2*time.Minute, ends)))
	}
	assert.Equal(t, []string{makesRoom}, in(50*time.Minute, "1:00:00", 6), "makes room for one that lasts")
	assert.Empty(t, in(54*time.Minute, "1:00:00", 6), "is kept if the shortfall is no longer than a boot")
	assert.Empty(t, in(50*time.Minute, "1:00:00", 7), "is kept if it was created for this job, because the next would not last longer")
	assert.NotContains(t, in(7*24*time.Hour-2*time.Minute, "8-00:00:00", 6), makesRoom, "is kept if no lease could be long enough")
	assert.NotContains(t, in(50*time.Minute, "UNLIMITED", 6), makesRoom, "is kept if the job has an unlimited time limit")
}

// Slurm may allocate a node again before its machine has been deleted, such as during an outage of Compute.
func TestMachineThatRegisteredBeforeTheJobsAllocationIsReplaced(t *testing.T) {
	const makesRoom = "delete instances alpha-a3-0 of alpha-a3-job-6"
	in := func(by uint32, booted time.Duration) []string {
		return actions(planOf(alphaConfig, seen(awaits(7, "alpha-a3-0"), started(7, time.Minute), leasedTo(by, "alpha-a3-0", 5*time.Minute, 6*time.Hour),
			onNodes("alpha-a3-0", func(n *slurm.Node) { n.BootTime = noon.Add(-booted) }))))
	}
	assert.Contains(t, in(6, 4*time.Minute), makesRoom, "it can never register again")
	assert.NotContains(t, in(6, 6*time.Minute), makesRoom, "the machine before it registered")
	assert.NotContains(t, in(6, 30*time.Second), makesRoom, "it has registered since")
	assert.NotContains(t, in(7, 4*time.Minute), "delete instances alpha-a3-0 of alpha-a3-job-7", "scontrol reboots the machine of its job")
}

func TestJobIsReturnedIfItsOtherNodeEndsTooSoon(t *testing.T) {
	given := func(by uint32, ends time.Duration, more ...part) scene.Snapshot {
		return seen(halfUp(),
			started(7, 20*time.Minute), leasedTo(by, "alpha-a3-0", time.Hour, ends), groupOf(7, request("a1", mig.Accepted, "alpha-a3-1", time.Hour)), and(more...))
	}
	cfg := with("gang_timeout: 0")
	assert.Equal(t, []string{"return alpha-a3-1 to Slurm and requeue job 7: the lease of node alpha-a3-0, which is up, ends at " +
		"2026-11-21T12:50:00Z, before the job could finish"}, actions(planOf(cfg, given(6, 50*time.Minute))))
	assert.Empty(t, actions(planOf(cfg, given(6, 55*time.Minute))), "a boot may take as much")
	assert.Empty(t, actions(planOf(cfg, given(7, 50*time.Minute))), "gang_timeout applies to machines created for the job itself")
	assert.Empty(t, actions(planOf(cfg, given(6, 50*time.Minute, func(s *setting) { s.Jobs[0].State = slurm.JobRunning }))))
}

// C9: a blocked nodeset is reported as a problem even if no job waits for it.
func TestBlockedNodesetIsReportedWithoutAJob(t *testing.T) {
	p := alphaPlan(nodes("alpha-a3-[0-2]", poweredDown),
		extra("alpha-a3-0", "slurmflex: 5 boots failed, the last of an instance made "+noon.Add(-time.Minute).Format(time.RFC3339)))

	assert.Equal(t, []string{"nodeset a3 is blocked because 5 machines in a row failed to boot; to unblock it: slurmflex unblock a3"}, p.Problems.Texts())
}

// A2: the nodes that a hook may return to Slurm after its call was lost.
func TestOnlyNodesWithoutARunningJobPowerUpForNothing(t *testing.T) {
	for name, c := range map[string]struct {
		state string
		job   slurm.JobState // the job on the node; empty: none
		want  bool
	}{
		"a job waits for it":                 {"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", configured, true},
		"no job waits for it":                {"IDLE+CLOUD+NOT_RESPONDING+POWERING_UP", "", true},
		"a job runs on it":                   {"ALLOCATED+CLOUD", slurm.JobRunning, false},
		"a job has just started on it":       {"ALLOCATED+CLOUD+POWERING_UP", slurm.JobRunning, false},
		"a job in an unknown state holds it": {"ALLOCATED+CLOUD+POWERING_UP", "DREAMING", false},
		"its state is not known":             {"IDLE+CLOUD+POWERING_UP+LEVITATING", "", false},
	} {
		nodes := []slurm.Node{
			{Name: "alpha-a3-0", State: slurm.ParseState(c.state)},
			{Name: "alpha-a3-1", State: slurm.ParseState("IDLE+CLOUD+POWERING_UP")},
		}
		var jobs []slurm.Job
		if c.job != "" {
			jobs = append(jobs, slurm.Job{ID: 812, State: c.job, Nodes: []string{"alpha-a3-0"}})
		}
		var want []string
		if c.want {
			want = []string{"alpha-a3-0"}
		}
		free, kept := PoweringUpForNothing([]string{"alpha-a3-0", "alpha-a3-7"}, nodes, jobs, map[uint32]bool{812: true})
		assert.Equal(t, want, free, name)
		assert.Empty(t, kept, name)
		if c.job != "" {
			for _, requeues := range []map[uint32]bool{nil, {812: false}} {
				free, kept = PoweringUpForNothing([]string{"alpha-a3-0"}, nodes, jobs, requeues)
				assert.Empty(t, free, "%s: Slurm might end the job", name)
				assert.Equal(t, want, kept, name)
			}
		}
	}
}
