package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

// B16: nobody has asked for its nodes before this process began.
func TestAJobThatHasWaitedWhileNoDaemonRanIsAskedForFirst(t *testing.T) {
	given := func(up time.Duration, requests ...mig.Request) Snapshot {
		parts := []func(*setting){
			nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"), started(7, 3*time.Hour),
			func(s *setting) { s.Started = noon.Add(-up) },
		}
		if requests != nil {
			parts = append(parts, group("alpha-a3-job-7", forJob("a3", 7), requests...))
		}
		return seen(parts...)
	}
	waiting := request("a1", mig.Accepted, "alpha-a3-0", 15*time.Minute)
	early := failed("a1", "alpha-a3-0", mig.CauseCapacity, 2*time.Hour)
	const back = "return alpha-a3-0 to Slurm and requeue job 7: no capacity for 1 × a3-machine in 3h00m (provision_timeout 02:00:00)"
	cfg := with(t, "provision_timeout: 7200")
	assert.Equal(t, []string{"create group alpha-a3-job-7 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00"},
		actions(Compute(cfg, given(time.Second))))
	assert.NotContains(t, actions(Compute(cfg, given(time.Minute, waiting))), back, "and has provision_timeout from then on")
	assert.Contains(t, actions(Compute(cfg, given(2*time.Hour, waiting)))[0], "return")
	assert.Contains(t, actions(Compute(cfg, given(time.Minute, early)))[0], "return", "another process asked, two hours ago")
}
