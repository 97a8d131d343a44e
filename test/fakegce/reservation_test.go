package fakegce

import (
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"slurmflex/test/must"
)

// affinityTo returns the affinity of VMs that consume the named reservation.
func affinityTo(name string) *computepb.ReservationAffinity {
	return &computepb.ReservationAffinity{
		ConsumeReservationType: proto.String("SPECIFIC_RESERVATION"),
		Key:                    proto.String("compute.googleapis.com/reservation-name"), Values: []string{name},
	}
}

// fromReservation returns a bulkInsert call for VMs that consume a reservation.
func fromReservation(reservation string, names ...string) *computepb.BulkInsertInstanceResource {
	b := groupless("STANDARD", names...)
	b.InstanceProperties.ReservationAffinity = affinityTo(reservation)
	return b
}

func TestVMsConsumeTheReservationThatTheyName(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", "", 0)
	require.NoError(t, w.SetReservation("mine", "us-central1-b", testMachine, 2))
	op := w.begun(w.bulkInsert(fromReservation("mine", "n0", "n1")))
	w.Advance(time.Minute)
	assert.Empty(t, w.outcome(op), "they take nothing of the zone's capacity")
	assert.Equal(t, "us-central1-b", w.vm("n0").Zone)

	op = w.begun(w.bulkInsert(fromReservation("mine", "n2")))
	w.Advance(time.Minute)
	assert.Equal(t, "CONDITION_NOT_MET", w.outcome(op))
	assert.Equal(t, "Specified reservation 'projects/"+projectNumber+"/reservations/mine' does not have available resources for the request.",
		w.operation(op.Name()).GetError().GetErrors()[0].GetMessage())

	require.NoError(t, w.DeleteVM("n0"))
	op = w.begun(w.bulkInsert(fromReservation("projects/demo/reservations/mine", "n2")))
	w.Advance(time.Minute)
	assert.Empty(t, w.outcome(op), "n2 has the place of n0")
	require.NoError(t, w.SetReservation("mine", "us-central1-b", testMachine, 3))
	op = w.begun(w.bulkInsert(fromReservation("mine", "n3")))
	w.Advance(time.Minute)
	assert.Empty(t, w.outcome(op), "there is room for one more")
	require.Error(t, w.SetReservation("mine", "us-central1-b", "a2-highgpu-8g", 3), "its machine type cannot change")
}

func TestReservationBoundRequestWaitsForItsReservation(t *testing.T) {
	w := newWorld(t, Options{})
	w.reservedTemplate()
	g := flexGroup("m", "us-central1-a")
	g.Versions[0].InstanceTemplate = proto.String("projects/demo/regions/us-central1/instanceTemplates/r")
	w.begun(w.insertGroup(g))
	w.givenRequest("m", "r", "n0")
	assert.Contains(t, w.hindrance("m").GetMessage(), "do not exist")
	require.NoError(t, w.SetReservation("mine", "us-central1-a", testMachine, 0))
	w.Advance(DefaultAttemptInterval)
	assert.Contains(t, w.hindrance("m").GetMessage(), "does not have available resources")
	require.NoError(t, w.SetReservation("mine", "us-central1-a", testMachine, 1))
	w.Advance(DefaultAttemptInterval)
	assert.Equal(t, "RESERVATION_BOUND", w.vm("n0").Model)
}

// reservedTemplate adds a template "r" for machines bound to a reservation.
func (w *world) reservedTemplate() {
	spec := FlexTemplate("r", testMachine)
	p := spec.Properties
	p.Scheduling.ProvisioningModel, p.Scheduling.MaxRunDuration = "RESERVATION_BOUND", nil
	p.ReservationAffinity.ConsumeReservationType = "SPECIFIC_RESERVATION"
	p.ReservationAffinity.Key, p.ReservationAffinity.Values = "compute.googleapis.com/reservation-name", []string{"mine"}
	must.Get(w.AddTemplate(testRegion, spec))
}
