package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

func TestAStrangersMachineThatKeepsANodeFromComingIsNamed(t *testing.T) {
	const named = "instance alpha-a3-0 in us-central1-a has the name of a node that waits, and slurmflex has not made it; delete it"
	given := func(status string, age time.Duration, stamp mig.Stamp) Plan {
		return Compute(alphaConfig(t), seen(nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"),
			vms("alpha-a3-0", "", status), aged(age), func(s *scene) { s.Instances[0].Stamp = stamp }))
	}
	told := []string{`tell job 7 "flex-start: ` + named + `"`}
	for name, c := range map[string]struct {
		plan Plan
		want []string
	}{
		"one that has not come up within boot_timeout": {given("RUNNING", 30*time.Minute, mig.Stamp{}), told},
		"one that has stopped":                         {given("TERMINATED", time.Minute, mig.Stamp{}), told},
		"not one that boots":                           {given("RUNNING", 29*time.Minute, mig.Stamp{}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, actions(c.plan))
			if c.want == nil {
				assert.NotContains(t, c.plan.Problems, "alpha-a3-job-7: "+named)
			} else {
				assert.Contains(t, c.plan.Problems, "alpha-a3-job-7: "+named)
			}
		})
	}
	ours := given("RUNNING", 30*time.Minute, mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 7})
	assert.NotContains(t, ours.Problems, "alpha-a3-job-7: "+named)
}
