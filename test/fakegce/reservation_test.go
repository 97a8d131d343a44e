package fakegce

import (
	"net/http"
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

func TestReservationMissingOrOfAnotherTypeIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	require.NoError(t, w.SetReservation("mine", "europe-west4-a", testMachine, 1))
	require.NoError(t, w.SetReservation("other", "us-central1-a", "a2-highgpu-8g", 1))
	const field = `Invalid value for field 'resource.instanceProperties.reservationAffinity': '{  "consumeReservationType": "SPECIFIC_ALLOCATION",  "key": "compute.googleapis.com/reservation-name...'. `
	_, err := w.bulkInsert(fromReservation("mine", "n0"))
	assertRefused(t, err, http.StatusBadRequest, "invalid", field+"Specified reservations [projects/"+projectNumber+"/reservations/mine] do not exist.")
	_, err = w.bulkInsert(fromReservation("projects/demo2/reservations/mine", "n0"))
	assertRefused(t, err, http.StatusBadRequest, "invalid", "[projects/demo2/reservations/mine] do not exist.")
	_, err = w.bulkInsert(fromReservation("other", "n0"))
	assertRefused(t, err, http.StatusBadRequest, "invalid", field+"No available resources in specified reservations")
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

func TestReservedGPUsCountOnceAgainstTheStandardQuota(t *testing.T) {
	w := newWorld(t, Options{})
	require.NoError(t, w.SetQuota(testRegion, "NVIDIA_L4_GPUS", 4))
	require.NoError(t, w.SetReservation("mine", "us-central1-a", "g2-standard-48", 2))
	require.NoError(t, w.SetReservation("mine", "us-central1-a", "g2-standard-48", 1))
	require.NoError(t, w.SetReservation("projects/other/reservations/theirs", "us-central1-a", "g2-standard-48", 9))
	for name, reservation := range map[string]string{"n0": "mine", "n1": "projects/other/reservations/theirs"} {
		b := fromReservation(reservation, name)
		b.InstanceProperties.MachineType = proto.String("g2-standard-48")
		assert.Empty(t, w.outcome(w.begun(w.bulkInsert(b))))
	}
	_, body := w.ask(http.MethodGet, "regions/us-central1", "")
	assert.Contains(t, body, `{"limit":4,"metric":"NVIDIA_L4_GPUS","usage":4}`)
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

func TestReservationBoundRequestNeedsNoDuration(t *testing.T) {
	w := newWorld(t, Options{})
	w.reservedTemplate()
	require.NoError(t, w.SetReservation("mine", "us-central1-a", testMachine, 1))
	g := flexGroup("m", "us-central1-a")
	g.Versions[0].InstanceTemplate = proto.String("projects/demo/regions/us-central1/instanceTemplates/r")
	w.begun(w.insertGroup(g))
	w.Advance(time.Second)
	r := namedRequest("r", "n0")
	r.RequestedRunDuration = nil
	op := w.begun(w.insertRequest("m", r))
	w.Advance(time.Minute)
	assert.Empty(t, w.outcome(op))
	got := w.instance("us-central1-a", "n0")
	assert.Equal(t, "RESERVATION_BOUND", got.GetScheduling().GetProvisioningModel())
	assert.Nil(t, got.GetResourceStatus().GetScheduling(), "without a lease it runs until its reservation ends")
}
