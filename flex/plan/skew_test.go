package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// ahead has our clock jump ahead of Compute's.
func ahead(by time.Duration) func(*setting) {
	return func(s *setting) { s.Now, s.Skew = s.Now.Add(by), by }
}

// B10: a clock that is wrong makes everything look old.
func TestAClockThatIsAheadOfComputesGivesNothingUp(t *testing.T) {
	const day = 24 * time.Hour
	for name, given := range map[string][]func(*setting){
		"machines that boot": {
			nodes("alpha-a3-[0-1]", poweringUp), job(7, "train", "1:00:00", configured, "alpha-a3-[0-1]"), started(7, time.Minute),
			group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Succeeded, "alpha-a3-[0-1]", time.Hour)), counting(2),
			vms("alpha-a3-[0-1]", "alpha-a3-job-7", "RUNNING"),
		},
		"a job that waits": {
			nodes("alpha-a3-0", poweringUp), job(7, "train", "1:00:00", configured, "alpha-a3-0"), started(7, time.Minute),
			group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour)),
			commented("alpha-a3-0", "slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T11:59:30Z, armed 2026-11-21T11:59:30Z"),
			told(7, "flex-start: waiting 1d00h for 1 × a3-machine for 01:00:00"),
		},
		"a gang of which some have come": {
			nodes("alpha-a3-0", running), nodes("alpha-a3-1", poweringUp), job(7, "train", "1:00:00", configured, "alpha-a3-[0-1]"), started(7, time.Minute),
			group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-1", time.Hour)),
			commented("alpha-a3-1", "slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T11:59:30Z, armed 2026-11-21T11:59:30Z"),
			told(7, "flex-start: waiting 1d00h for 1 × a3-machine for 01:00:00"), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"),
		},
		"a static node whose lease is far from its end": {
			nodes("alpha-one-0", "IDLE+CLOUD"), nodes("alpha-one-1", poweringDown),
			group("alpha-one-node-0", forNode("one", "alpha-one-0")), ending("alpha-one-0", "alpha-one-node-0", time.Hour, time.Hour),
			reserved("slurmflex-alpha-1795266000", "alpha-one-0", noon.Add(time.Hour)),
			vms("alpha-one-1", "alpha-one-node-1", "STOPPING"), group("alpha-one-node-1", forNode("one", "alpha-one-1")),
		},
		"what no node is known for":     {group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-3000", "alpha-a3-job-7", "RUNNING")},
		"a group that another has made": {group("alpha-a3-job-7", forJob("a3", 7)), created(time.Second)},
		"what a list does not show so far": {
			nodes("alpha-a3-0", poweringUp), job(7, "train", "1:00:00", slurm.JobConfiguring, "alpha-a3-0"), started(7, time.Minute),
			brought("alpha-a3-0", time.Minute), counting(1), saying("", "alpha-a3-0"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := with(t, "provision_timeout: 7200, renew_before: 600")
			p := Compute(cfg, seen(append(given, ahead(day))...))
			assert.Empty(t, actions(p))
			assert.Contains(t, p.Problems.Texts(), "the clock of this host is 1d00h ahead of Compute's; slurmflex gives up nothing by age until it is correct: "+
				"synchronize it (chronyc tracking; chronyc makestep)")
			old := seen(append(given, ahead(day))...)
			old.Skew = 5 * time.Minute
			assert.NotEmpty(t, actions(Compute(cfg, old)), "it is given up when it is old")
		})
	}
	behind := Compute(alphaConfig(t), seen(func(s *setting) { s.Skew = -time.Hour }))
	assert.Equal(t, []string{"the clock of this host is 1h00m behind Compute's: synchronize it (chronyc tracking; chronyc makestep)"}, behind.Problems.Texts())
}
