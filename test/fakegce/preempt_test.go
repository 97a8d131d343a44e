package fakegce

import (
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// spotBulk returns a bulkInsert call for one Spot instance.
func spotBulk(name, action string) *computepb.BulkInsertInstanceResource {
	b := bulkOf(1, name)
	b.SourceInstanceTemplate = nil
	b.InstanceProperties = &computepb.InstanceProperties{
		MachineType:       proto.String("n1-standard-8"),
		Disks:             []*computepb.AttachedDisk{{Boot: proto.Bool(true)}},
		NetworkInterfaces: []*computepb.NetworkInterface{{Network: proto.String("global/networks/default")}},
		Scheduling:        &computepb.Scheduling{ProvisioningModel: proto.String("SPOT"), InstanceTerminationAction: proto.String(action)},
	}
	return b
}

func TestPreemptionStopsOrDeletesTheInstanceByItsScheduling(t *testing.T) {
	w := newWorld(t, slow())
	w.begun(w.bulkInsert(spotBulk("stays", "STOP")))
	w.begun(w.bulkInsert(spotBulk("goes", "DELETE")))
	w.Advance(time.Minute)
	require.NoError(t, w.PreemptVM("stays"))
	require.NoError(t, w.PreemptVM("goes"))
	assert.Equal(t, "STOPPING", w.vm("stays").Status)
	assert.Equal(t, "STOPPING", w.vm("goes").Status)
	w.Advance(time.Minute)
	assert.Equal(t, "TERMINATED", w.vm("stays").Status)
	assert.Empty(t, w.vm("goes").Status)
}
