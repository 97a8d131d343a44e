package action

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestEveryActionHasASubject(t *testing.T) {
	g := Of{mig.GroupID{Name: "g"}, 7}
	nodes := []string{"n-0", "n-1"}
	machines := []mig.Instance{{Name: "n-0"}, {Name: "n-1"}}
	tests := []struct {
		action Action
		want   Subject
	}{
		{CreateGroup{Of: g}, Subject{"create_group", "g", 7, nil}},
		{CreateRequest{Of: g, Spec: mig.RequestSpec{Instances: nodes}}, Subject{"create_request", "g", 7, nodes}},
		{CancelRequest{Of: g}, Subject{"cancel_request", "g", 7, nil}},
		{DeleteRequest{Of: g}, Subject{"delete_request", "g", 7, nil}},
		{DeleteInstances{Of: g, Instances: machines}, Subject{"delete_instances", "g", 7, nodes}},
		{DeleteGroup{Of: g}, Subject{"delete_group", "g", 7, nil}},
		{BulkInsert{Of: g, Spec: mig.BulkSpec{Instances: nodes}}, Subject{"bulk_insert", "g", 7, nodes}},
		{DeleteVMs{Instances: machines}, Subject{"delete_vms", "", 0, nodes}},
		{CreatePolicy{Of: g}, Subject{"create_policy", "g", 7, nil}},
		{DeletePolicy{Of: Of{Group: g.Group}}, Subject{"delete_policy", "g", 0, nil}},
		{SetNodes{Nodes: nodes}, Subject{"set_nodes", "", 0, nodes}},
		{CreateReservation{Nodes: nodes}, Subject{"create_reservation", "", 0, nodes}},
		{SetReservation{ReservationChange: slurm.ReservationChange{Nodes: nodes}}, Subject{"set_reservation", "", 0, nodes}},
		{DeleteReservation{Job: 7}, Subject{"delete_reservation", "", 7, nil}},
		{UseReservation{Job: 7}, Subject{"use_reservation", "", 7, nil}},
		{CommentJob{OfJob: OfJob{Job: 7}}, Subject{"comment_job", "", 7, nil}},
		{ReturnNodes{OfJob: OfJob{Job: 7}, Nodes: nodes}, Subject{"return_nodes", "", 7, nodes}},
		{SignalJob{OfJob: OfJob{Job: 7}}, Subject{"signal_job", "", 7, nil}},
		{RequeueJob{OfJob: OfJob{Job: 7}}, Subject{"requeue_job", "", 7, nil}},
	}
	var kinds []string
	for _, test := range tests {
		assert.Equal(t, test.want, test.action.About())
		kinds = append(kinds, test.want.Kind)
	}
	assert.ElementsMatch(t, kinds, Kinds())
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(Kinds()))), len(kinds), "no two are of one kind")
}
