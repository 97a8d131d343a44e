package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

// B8: a job that Slurm adds to a node whose request waits takes nothing from the
// jobs that wait there already, however long it is.
func TestALongerJobOnTheSameNodeDoesNotCancelARequestThatServesAnother(t *testing.T) {
	const mixed = "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"
	hour := request("a1", mig.Accepted, "alpha-a3-0", time.Hour)
	cancels := func(more ...func(*setting)) []string {
		return cancelled(Compute(alphaConfig(t), seen(append([]func(*setting){nodes("alpha-a3-0", mixed)}, more...)...)))
	}
	seven := job(7, "shared", "1:00:00", configured, "alpha-a3-0")
	ofSeven := group("alpha-a3-job-7", forJob("a3", 7), hour)
	for _, limit := range []string{"1:01:00", "12:00:00", "UNLIMITED", "INVALID"} {
		longer := job(8, "shared", limit, configured, "alpha-a3-0")
		assert.Empty(t, cancels(seven, longer, important(1000), ofSeven), limit)
		assert.Empty(t, cancels(seven, job(9, "shared", "1:00:00", configured, "alpha-a3-0"), longer, important(1000),
			group("alpha-a3-job-7", forJob("a3", 7), hour)), limit)
	}
	all := []string{"cancel request alpha-a3-job-7/a1"}
	assert.Equal(t, all, cancels(job(7, "shared", "1:01:00", configured, "alpha-a3-0"), ofSeven), "an admin gave the job itself more time")
	assert.Equal(t, all, cancels(job(8, "shared", "1:01:00", configured, "alpha-a3-0"), ofSeven), "it serves nobody any more")
	static := func(s *setting) {
		nodes("alpha-one-0", mixed)(s)
		job(8, "shared", "UNLIMITED", configured, "alpha-one-0")(s)
		group("alpha-one-node-0", forNode("one", "alpha-one-0"), request("a1", mig.Accepted, "alpha-one-0", time.Hour))(s)
	}
	assert.Empty(t, cancels(static), "a static node's is nobody's to cancel")
}

func cancelled(p Plan) (all []string) {
	for _, a := range p.Actions {
		if a, ok := a.(CancelRequest); ok {
			all = append(all, a.String())
		}
	}
	return all
}

// B8: the longer job is told what it gets.
func TestALongerJobOnTheSameNodeIsToldThatItsLeaseIsTooShort(t *testing.T) {
	p := Compute(alphaConfig(t), seen(nodes("alpha-a3-0", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"),
		job(7, "shared", "1:00:00", configured, "alpha-a3-0"), job(8, "shared", "2:00:00", configured, "alpha-a3-0"), started(8, 5*time.Minute),
		group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour)), asked(time.Hour)))
	assert.Equal(t, "flex-start: waiting 5m for 1 × a3-machine for 01:00:00, less than its time limit of 02:00:00", tells(p)[8])
	assert.Equal(t, "flex-start: waiting 1h00m for 1 × a3-machine for 01:00:00", tells(p)[7])
}
