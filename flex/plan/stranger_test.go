package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// B7: a machine that is not ours and has the name of a node that waits is named at
// once, whatever its state, and is an obstacle with its fix.
func TestAStrangersMachineThatKeepsANodeFromComingIsNamed(t *testing.T) {
	const named = "instance alpha-a3-0 in us-central1-a has the name of a node that waits, and slurmflex did not create it; unless it joins Slurm by itself, delete it"
	given := func(status string, age time.Duration, stamp mig.Stamp) Plan {
		return Compute(alphaConfig(t), seen(nodes("alpha-a3-[0-1]", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-[0-1]"),
			vms("alpha-a3-0", "", status), aged(age), func(s *setting) { s.Instances[0].Stamp = stamp }))
	}
	for name, p := range map[string]Plan{
		"one that has not come up within boot_timeout": given("RUNNING", 30*time.Minute, mig.Stamp{}),
		"one that has stopped":                         given("TERMINATED", time.Minute, mig.Stamp{}),
		"one that boots, or runs for something else":   given("RUNNING", time.Minute, mig.Stamp{}),
		"one of another cluster":                       given("RUNNING", time.Minute, mig.Stamp{Version: 1, Cluster: "beta", NodeSet: "a3", Job: 7}),
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

// B7: whose it is that it says is what is known: a group may be missing in a list.
func TestAMachineOfAGroupThatIsNotListedIsNotCalledAStrangers(t *testing.T) {
	given := func(group string, more ...func(*setting)) string {
		p := Compute(alphaConfig(t), seen(append([]func(*setting){
			nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"), vms("alpha-a3-0", group, "RUNNING"),
		}, more...)...))
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

// B7: provision_timeout ends that wait as any other, and takes the node.
func TestProvisionTimeoutEndsTheWaitForANodeWhoseNameIsTaken(t *testing.T) {
	for _, status := range []string{"RUNNING", "TERMINATED"} {
		p := Compute(with(t, "provision_timeout: 7200"), seen(nodes("alpha-a3-0", poweringUp),
			job(7, "train", "15:00", configured, "alpha-a3-0"), started(7, 2*time.Hour), vms("alpha-a3-0", "", status)))
		assert.Equal(t, []string{"return alpha-a3-0 to Slurm and requeue job 7: instance alpha-a3-0 in us-central1-a has the name of a node that waits, " +
			"and slurmflex did not create it; unless it joins Slurm by itself, delete it (provision_timeout 02:00:00)"}, actions(p), status)
	}
}

// B7: ResumeTimeout, at which Slurm would take the node down, does not end it.
func TestANodeWhoseNameIsTakenOutlastsResumeTimeout(t *testing.T) {
	given := func(group string) Plan {
		return Compute(alphaConfig(t), seen(nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"),
			started(7, 20*time.Minute), vms("alpha-a3-0", group, "RUNNING"), resumeTimeout(time.Hour)))
	}
	const rearmed = `set nodes alpha-a3-0 power_up comment "slurmflex: waits in alpha-a3-job-7 since 2026-11-21T11:40:00Z, armed 2026-11-21T12:00:00Z"`
	assert.Contains(t, actions(given("theirs")), rearmed)
	assert.NotContains(t, actions(given("alpha-a3-job-7")), rearmed, "slurmctld would refuse a machine of ours that booted before")
}
