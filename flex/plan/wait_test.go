package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestBootingNodeIsNotPoweredUpAgainWithWaitingNodes(t *testing.T) {
	s := seen(awaits(7, "alpha-a3-[0-1]"), started(7, 4*time.Minute), resumeTimeout(10*time.Minute), groupOf(7,
		request("a2", mig.Accepted, "alpha-a3-1", 15*time.Minute)), asked(4*time.Minute), machinesOf(7, "alpha-a3-0"))
	assert.Equal(t, []string{
		`set nodes alpha-a3-1 power_up comment "slurmflex: waits in alpha-a3-job-7/a2 since 2026-11-21T11:56:00Z, armed 2026-11-21T12:00:00Z"`,
		`set AdminComment of job 7: "flex-start: waiting since 2026-11-21T11:56:00Z for 1 × a3-machine for 00:15:00"`,
	}, planned(s), "slurmctld would refuse its slurmd")
}

// B7: a machine that is not ours and has the name of a waiting node is reported immediately,
// whatever its state, as an obstacle with its fix.
func TestStrangersMachineWithANodesNameIsReported(t *testing.T) {
	const named = "instance alpha-a3-0 in us-central1-a has the name of a node that waits, and slurmflex did not create it; unless it joins Slurm by itself, delete it"
	given := func(status string, age time.Duration, stamp mig.Stamp) Plan {
		return alphaPlan(awaits(7, "alpha-a3-[0-1]"),
			vms("alpha-a3-0", "", status), aged(age), func(s *setting) { s.Instances[0].Stamp = stamp })
	}
	for name, p := range map[string]Plan{
		"one that has stopped":   given("TERMINATED", time.Minute, mig.Stamp{}),
		"one of another cluster": given("RUNNING", time.Minute, mig.Stamp{Version: 1, Cluster: "beta", NodeSet: "a3", Job: 7}),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, []string{`set AdminComment of job 7: "flex-start: ` + named + `"`}, actions(p), "and nothing is requested")
			assert.Contains(t, p.Problems.Texts(), "alpha-a3-job-7: "+named)
			require.Len(t, p.Waits, 1)
			assert.Equal(t, []string{"alpha-a3-0", "alpha-a3-1"}, p.Waits[0].Nodes)
			assert.Equal(t, named, p.Waits[0].Obstacle)
		})
	}
	ours := given("RUNNING", 30*time.Minute, mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 7})
	assert.NotContains(t, ours.Problems.Texts(), "alpha-a3-job-7: "+named)
}

// B7: the owner in the machine's own stamp counts, because a list may lack its group.
func TestMachineOfAnUnlistedGroupIsNotCalledAStrangers(t *testing.T) {
	given := func(group string, more ...part) string {
		p := alphaPlan(awaits(7, "alpha-a3-0"), vms("alpha-a3-0", group, "RUNNING"), and(more...))
		require.Len(t, p.Waits, 1)
		return p.Waits[0].Obstacle
	}
	assert.Contains(t, given("alpha-a3-job-7"), "its group alpha-a3-job-7 is not listed as one of this cluster")
	assert.Contains(t, given("theirs"), "slurmflex did not create it")
	newer := func(s *setting) {
		s.Groups = append(s.Groups, mig.Group{Name: "theirs", Region: "us-central1", Stamp: mig.Stamp{Version: 99, Cluster: "alpha"}})
	}
	assert.Contains(t, given("theirs", newer), "a newer slurmflex created it; run that version")
}

// B7: provision_timeout ends this wait like any other, and releases the node.
func TestProvisionTimeoutEndsTheWaitForATakenName(t *testing.T) {
	for _, status := range []string{"RUNNING", "TERMINATED"} {
		p := planOf(with("provision_timeout: 7200"), seen(awaits(7, "alpha-a3-0"), started(7, 2*time.Hour), vms("alpha-a3-0", "", status), aged(2*time.Hour)))
		assert.Equal(t, []string{"return alpha-a3-0 to Slurm and requeue job 7: instance alpha-a3-0 in us-central1-a has the name of a node that waits, " +
			"and slurmflex did not create it; unless it joins Slurm by itself, delete it (provision_timeout 02:00:00)"}, actions(p), status)
	}
}

// B7: the wait outlasts ResumeTimeout, at which Slurm would set the node DOWN.
func TestNodeWithATakenNameOutlastsResumeTimeout(t *testing.T) {
	given := func(group string, age time.Duration) Plan {
		return alphaPlan(awaits(7, "alpha-a3-0"),
			started(7, 20*time.Minute), vms("alpha-a3-0", group, "RUNNING"), aged(age), resumeTimeout(time.Hour))
	}
	const rearmed = `set nodes alpha-a3-0 power_up comment "slurmflex: waits in alpha-a3-job-7 since 2026-11-21T11:40:00Z, armed 2026-11-21T12:00:00Z"`
	assert.Contains(t, actions(given("theirs", time.Minute)), rearmed)
	assert.NotContains(t, actions(given("alpha-a3-job-7", time.Minute)), rearmed, "slurmctld would refuse a machine of ours that booted before")
	assert.Contains(t, actions(given("alpha-a3-job-7", 30*time.Minute)), rearmed, "it has had its time, and Slurm would take the node down")
}

// slurmctld refuses a node that booted before it was last powered up. But a bulk insert that hangs for
// as long as ResumeTimeout would otherwise end a job that Slurm does not requeue.
func TestResumeTimeoutIsResetLateWhileInsertedMachinesMayBoot(t *testing.T) {
	waits := func(armed time.Duration, more ...part) string {
		wait := memo.Wait{Place: "alpha-fix-job-7", Since: noon.Add(-time.Hour), Reset: noon.Add(-armed)}
		return strings.Join(actions(planOf(mixed(), spotWaits(time.Hour, commented("alpha-fix-0", wait.String()), resumeTimeout(time.Hour), and(more...)))), "\n")
	}
	failed := refused("alpha-fix-job-7", mig.CauseCapacity, 2*time.Minute, 1)
	for name, more := range map[string]part{
		"in flight after a refusal": and(failed, func(s *setting) { s.Asking = map[string]bool{"alpha-fix-0": true} }),
		"with an unknown outcome": and(refused("alpha-fix-job-7", mig.CauseUnavailable, 10*time.Second, 3),
			func(s *setting) { s.Inserted = map[string]bool{"alpha-fix-0": true} }),
	} {
		assert.NotContains(t, waits(39*time.Minute, more), "power_up", name)
		assert.Contains(t, waits(40*time.Minute, more), "set nodes alpha-fix-0 power_up", name)
	}
	assert.Contains(t, waits(20*time.Minute, failed), "set nodes alpha-fix-0 power_up", "between two calls")
}

// C20: if the names of two clusters clash, the problem names the group's owner and warns against
// deleting the group. A group of this cluster, but not of the claim, may be missing from the lists.
func TestGroupOfAnotherClusterNamesThatCluster(t *testing.T) {
	given := func(owner string) Plan {
		return alphaPlan(awaits(7, "alpha-a3-0"), func(s *setting) {
			s.Refused["alpha-a3-job-7"] = scene.Refusal{Trouble: mig.Trouble{Cause: mig.CauseExists}, Owner: owner, At: noon, Times: 1}
		})
	}
	assert.Contains(t, given("alpha-a3").Problems.Texts(), "group alpha-a3-job-7 in us-central1 belongs to cluster alpha-a3; rename this cluster's nodeset a3, or one of the two clusters, so that their names differ")
	own := given("alpha")
	assert.Empty(t, own.Problems)
	assert.Equal(t, []string{
		`set AdminComment of job 7: "flex-start: group alpha-a3-job-7 in us-central1 already exists and is left alone until a list shows it"`,
	}, actions(own))
}

// ahead sets our clock ahead of Compute's.
func ahead(by time.Duration) part {
	return func(s *setting) { s.Now, s.Skew = s.Now.Add(by), by }
}

// B10: a wrong clock makes everything look old.
func TestClockAheadOfComputesGivesNothingUp(t *testing.T) {
	const day = 24 * time.Hour
	for name, given := range map[string][]part{
		"machines that boot": {
			awaits(7, "alpha-a3-[0-1]"), timeLimit("1:00:00"), started(7, time.Minute),
			groupOf(7, request("a1", mig.Succeeded, "alpha-a3-[0-1]", time.Hour)), counting(2),
			machinesOf(7, "alpha-a3-[0-1]"),
		},
		"a job with some machines created": {
			halfUp(), started(7, time.Minute),
			groupOf(7, request("a1", mig.Accepted, "alpha-a3-1", time.Hour)),
			commented("alpha-a3-1", "slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T11:59:30Z, armed 2026-11-21T11:59:30Z"),
			told(7, "flex-start: waiting since 2026-11-21T11:59:00Z for 1 × a3-machine for 01:00:00"), machinesOf(7, "alpha-a3-0"),
		},
		"a static node far from its lease's end": {
			nodes("alpha-one-0", "IDLE+CLOUD"), nodes("alpha-one-1", poweringDown),
			nodeGroup(0), leased("alpha-one-0", "alpha-one-node-0", time.Hour, time.Hour),
			vms("alpha-one-1", "alpha-one-node-1", "STOPPING"), nodeGroup(1),
		},
		"a machine that lists do not show yet": {
			awaits(7, "alpha-a3-0"), timeLimit("1:00:00"), started(7, time.Minute),
			brought("alpha-a3-0", time.Minute), counting(1), saying("", "alpha-a3-0"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := with("provision_timeout: 7200, renew_before: 600")
			p := planOf(cfg, seen(append(given, ahead(day))...))
			assert.Empty(t, actions(p))
			assert.Contains(t, p.Problems.Texts(), "the clock of this host is 1d00h ahead of Compute's; timeouts do not apply until it is correct: "+
				"synchronize it (chronyc tracking; chronyc makestep)")
			old := seen(append(given, ahead(day))...)
			old.Skew = 5 * time.Minute
			assert.NotEmpty(t, actions(planOf(cfg, old)), "its boot is given up when it is old")
		})
	}
	behind := alphaPlan(func(s *setting) { s.Skew = -time.Hour })
	assert.Equal(t, []string{"the clock of this host is 1h00m behind Compute's: synchronize it (chronyc tracking; chronyc makestep)"}, behind.Problems.Texts())
}

// U7: a job with a wait limit set by its owner was requeued forever.
func TestOwnersWaitEndsWithoutARequeue(t *testing.T) {
	for site, want := range map[string]string{"requeue": "hold", "hold": "hold", "cancel": "cancel"} {
		given := seen(awaits(7, "alpha-a3-0"), started(7, time.Hour), queued("alpha-a3-0", time.Hour), ownLimits(slurm.JobRecord{Comment: "slurmflex:wait=1h"}))
		assert.Equal(t, []string{"return alpha-a3-0 to Slurm and " + want + " job 7: no capacity for 1 × a3-machine in 1h00m (slurmflex:wait 01:00:00)"},
			returned(planOf(with("on_provision_timeout: "+site), given)), site)
	}
}

func TestJobMayLimitItsWaitBelowTheNodesets(t *testing.T) {
	in := situations(t, with("provision_timeout: 7200, on_provision_timeout: hold"))
	given := func(limits slurm.JobRecord, parts ...part) scene.Snapshot {
		return seen(awaits(7, "alpha-a3-0"), started(7, time.Hour), queued("alpha-a3-0", time.Hour),
			told(7, "flex-start: waiting since 2026-11-21T11:00:00Z for 1 × a3-machine for 00:15:00"), commented("alpha-a3-0",
				"slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T11:00:00Z, armed 2026-11-21T11:00:00Z"),
			and(parts...), ownLimits(limits))
	}
	goes := func(then, limit string) string {
		return "return alpha-a3-0 to Slurm and " + then + " job 7: no capacity for 1 × a3-machine in 1h00m (" + limit + ")"
	}
	in("by its comment", given(slurm.JobRecord{Comment: "slurmflex:wait=1h"}), goes("hold", "slurmflex:wait 01:00:00"))
	in("with an action after the wait", given(slurm.JobRecord{Comment: "slurmflex:wait=1h,cancel"}), goes("cancel", "slurmflex:wait 01:00:00"))
	in("by its deadline, which is left to Slurm to end it", given(slurm.JobRecord{Deadline: noon.Add(15 * time.Minute)}),
		goes("requeue", "--deadline 2026-11-21T12:15:00Z"))
	in("that it can still meet", given(slurm.JobRecord{Deadline: noon.Add(15*time.Minute + time.Second)}))
	in("or with its least time", given(slurm.JobRecord{Deadline: noon.Add(15 * time.Minute), MinTime: 14 * time.Minute}))
	in("but not by a clock that is ahead", given(slurm.JobRecord{Deadline: noon.Add(-24 * time.Hour)}, func(s *setting) { s.Skew = 25 * time.Hour }))
	in("nor once its machine is there", given(slurm.JobRecord{Deadline: noon}, vms("alpha-a3-0", "alpha-a3-job-7", "PROVISIONING")))
}

// An outage as long as ResumeTimeout would otherwise end a job that Slurm does not requeue.
func TestNodeOfAnUnreadRegionOutlastsResumeTimeout(t *testing.T) {
	given := func(armed time.Duration, more ...part) []string {
		wait := memo.Wait{Place: "alpha-a3-job-7/a1", Since: noon.Add(-2 * time.Hour), Reset: noon.Add(-armed)}
		return planned(seen(awaits(7, "alpha-a3-0"), started(7, 2*time.Hour),
			onNodes("alpha-a3-0", func(n *slurm.Node) { n.Comment = wait.String() }), resumeTimeout(time.Hour), and(more...)))
	}
	unread := unseen("us-central1")
	assert.Equal(t, []string{`set nodes alpha-a3-0 power_up comment "slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T10:00:00Z, armed 2026-11-21T12:00:00Z"`},
		given(40*time.Minute, unread))
	assert.Empty(t, given(39*time.Minute, unread), "its machine may be booting")
}
