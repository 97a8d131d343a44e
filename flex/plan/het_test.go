package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

func TestProvisionTimeoutCountsForAFirstComponentFromWhenTheOthersHaveTheirMachines(t *testing.T) {
	cfg := with(t, "provision_timeout: 7200, on_provision_timeout: cancel")
	given := func(other string, more ...func(*setting)) Snapshot {
		return seen(append([]func(*setting){
			nodes("alpha-a3-0", poweringUp), nodes("alpha-fix-0", other),
			job(6, "train", "10:00", configured, "alpha-a3-0"), component(6, 0), started(6, 3*time.Hour),
			job(7, "train", "10:00", configured, "alpha-fix-0"), component(6, 1), started(7, 3*time.Hour),
		}, more...)...)
	}
	came := func(ago time.Duration) func(*setting) {
		return func(s *setting) {
			group("alpha-fix-job-7", forJob("fix", 7), request("a1", mig.Succeeded, "alpha-fix-0", time.Hour))(s)
			ending("alpha-fix-0", "alpha-fix-job-7", ago, time.Hour)(s)
		}
	}
	ends := func(p Plan) time.Time {
		require.Equal(t, uint32(6), p.Waits[0].Job)
		return p.Waits[0].Until
	}

	others := Compute(cfg, given(poweringUp))
	assert.NotContains(t, strings.Join(actions(others), "\n"), "cancel job 6", "nothing was asked for it yet")
	assert.Zero(t, ends(others))

	first := Compute(cfg, given(poweringUp, came(time.Minute)))
	assert.Contains(t, actions(first), "request 1 node (alpha-a3-0) in alpha-a3-job-6/a1 for 00:10:00")
	assert.Equal(t, noon.Add(119*time.Minute), ends(first))

	assert.Contains(t, actions(Compute(cfg, given(running, came(2*time.Hour)))),
		"return alpha-a3-0 to Slurm and cancel job 6+0: no capacity for 1 × a3-machine in 2h00m (provision_timeout 02:00:00)")
}
