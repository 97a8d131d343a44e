package plan

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

func TestEveryActionSaysWhatItIsAbout(t *testing.T) {
	stamp := mig.Stamp{Job: 7}
	nodes := []string{"n-0", "n-1"}
	machines := []mig.Instance{{Name: "n-0"}, {Name: "n-1"}}
	tests := []struct {
		action Action
		want   Subject
	}{
		{CreateGroup{Spec: mig.GroupSpec{Name: "g", Stamp: stamp}}, Subject{"create_group", "g", 7, nil}},
		{CreateRequest{Group: "g", Job: 7, Spec: mig.RequestSpec{Instances: nodes}}, Subject{"create_request", "g", 7, nodes}},
		{CancelRequest{Group: "g", Job: 7}, Subject{"cancel_request", "g", 7, nil}},
		{DeleteRequest{Group: "g", Job: 7}, Subject{"delete_request", "g", 7, nil}},
		{DeleteInstances{Group: "g", Job: 7, Instances: machines}, Subject{"delete_instances", "g", 7, nodes}},
		{DeleteGroup{Group: "g", Job: 7}, Subject{"delete_group", "g", 7, nil}},
		{BulkInsert{Group: "g", Spec: mig.BulkSpec{Instances: nodes, Stamp: stamp}}, Subject{"bulk_insert", "g", 7, nodes}},
		{DeleteVMs{Instances: machines}, Subject{"delete_vms", "", 0, nodes}},
		{CreatePolicy{Spec: mig.PolicySpec{Name: "g", Stamp: stamp}}, Subject{"create_policy", "g", 7, nil}},
		{DeletePolicy{Name: "g"}, Subject{"delete_policy", "g", 0, nil}},
		{SetNodes{Nodes: nodes}, Subject{"set_nodes", "", 0, nodes}},
		{CreateReservation{Nodes: nodes}, Subject{"create_reservation", "", 0, nodes}},
		{SetReservation{Nodes: nodes}, Subject{"set_reservation", "", 0, nodes}},
		{DeleteReservation{}, Subject{"delete_reservation", "", 0, nil}},
		{TellJob{Job: 7}, Subject{"tell_job", "", 7, nil}},
		{GiveBack{Job: 7, Nodes: nodes}, Subject{"give_back", "", 7, nodes}},
	}
	var kinds []string
	for _, test := range tests {
		assert.Equal(t, test.want, test.action.About())
		kinds = append(kinds, test.want.Kind)
	}
	assert.ElementsMatch(t, kinds, Kinds())
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(Kinds()))), len(kinds), "no two are of one kind")
}
