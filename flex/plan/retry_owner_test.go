package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

// C20: a clash of two clusters' names says whose the group is, and not to delete it.
func TestAGroupOfAnotherClustersNamesThatCluster(t *testing.T) {
	p := Compute(alphaConfig(t), seen(nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"),
		refused("alpha-a3-job-7", mig.CauseExists, 0, 1), func(s *setting) {
			r := s.Refused["alpha-a3-job-7"]
			r.Owner = "alpha-a3"
			s.Refused["alpha-a3-job-7"] = r
		}))
	assert.Contains(t, p.Problems.Texts(), "group alpha-a3-job-7 in us-central1 belongs to cluster alpha-a3; rename this cluster's nodeset a3, or one of the two clusters, so that their names differ")
}
