package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

func TestANodeThatBootsIsNotPoweredUpAgainWithThoseThatWait(t *testing.T) {
	s := seen(nodes("alpha-a3-[0-1]", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-[0-1]"), started(7, 4*time.Minute),
		resumeTimeout(10*time.Minute),
		group("alpha-a3-job-7", forJob("a3", 7), request("a2", mig.Accepted, "alpha-a3-1", 15*time.Minute)), asked(4*time.Minute),
		vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"))
	assert.Equal(t, []string{
		`set nodes alpha-a3-1 power_up comment "slurmflex: waits in alpha-a3-job-7/a2 since 2026-11-21T11:56:00Z, armed 2026-11-21T12:00:00Z"`,
		`set AdminComment of job 7: "flex-start: waiting 4m for 1 × a3-machine for 00:15:00"`,
	}, actions(Compute(alphaConfig(t), s)), "slurmctld would refuse its slurmd")
}

// B17
func TestARequestThatCannotBeMadeForTheMomentSaysWhy(t *testing.T) {
	p := Compute(alphaConfig(t), seen(nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"),
		refused("alpha-a3-job-7", mig.CauseRate, time.Second, 0)))
	assert.Contains(t, actions(p), `set AdminComment of job 7: "flex-start: the request failed (rate): INVALID_ARGUMENT: no; trying again"`)
	assert.Contains(t, actions(p), "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00", "at once")
}
