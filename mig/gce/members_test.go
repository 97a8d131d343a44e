package gce

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

func TestAGroupSaysWhichMembersItHasLost(t *testing.T) {
	const instances = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/instances/"
	api := answers(ok(`{"managedInstances":[
		{"instance":"` + instances + `alpha-a3-0","name":"alpha-a3-0","id":"1","instanceStatus":"RUNNING","currentAction":"NONE"},
		{"instance":"` + instances + `alpha-a3-1","currentAction":"NONE"},
		{"name":"alpha-a3-2","currentAction":"CREATING"}]}`))
	members, err := clientOf(t, inMemory{api}).Members(t.Context(), testRegion, "alpha-a3-job-812")
	require.NoError(t, err)
	assert.Equal(t, []mig.Member{
		{Name: "alpha-a3-0", Status: "RUNNING", Action: "NONE"}, {Name: "alpha-a3-1", Action: "NONE"}, {Name: "alpha-a3-2", Action: "CREATING"},
	}, members)
	assert.Equal(t, []bool{false, true, false}, []bool{members[0].Lost(), members[1].Lost(), members[2].Lost()})
	assert.Equal(t, "POST", api.calls[0].method)
	assert.Equal(t, "/compute/v1/projects/p/regions/us-central1/instanceGroupManagers/alpha-a3-job-812/listManagedInstances", api.calls[0].path)
}

func TestAPartOfAGroupsMembersIsNotAllOfThem(t *testing.T) {
	client := clientOf(t, inMemory{answers(ok(`{"managedInstances":[{"name":"alpha-a3-0","currentAction":"NONE"}],"nextPageToken":"x"}`))})
	_, err := client.Members(t.Context(), testRegion, "alpha-a3-job-812")
	assert.ErrorContains(t, err, "another page")
}
