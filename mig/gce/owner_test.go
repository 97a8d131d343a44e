package gce

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// C20: a group's name that another cluster has taken names that cluster.
func TestAGroupThatIsThereAlreadySaysWhoseItIs(t *testing.T) {
	theirs := testStamp
	theirs.Cluster = "beta"
	for description, owner := range map[string]string{theirs.String(): "beta", "by hand": ""} {
		c := clientOf(t, inMemory{answers(refusal(409, "alreadyExists", "it exists"), ok(groupJSON("alpha-a3-job-812", description)))})
		err := c.CreateGroup(t.Context(), testGroup)
		var taken *mig.Error
		require.ErrorAs(t, err, &taken)
		assert.Equal(t, mig.CauseExists, taken.Cause)
		assert.Equal(t, owner, taken.Owner)
	}
}
