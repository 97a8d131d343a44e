package fakegce

import (
	"net/http"
	"testing"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// groupless returns a bulkInsert call for VMs of a provisioning model, without a group or a
// template.
func groupless(model string, names ...string) *computepb.BulkInsertInstanceResource {
	b := bulkOf(int64(len(names)), names...)
	b.SourceInstanceTemplate = nil
	b.InstanceProperties = &computepb.InstanceProperties{
		MachineType:       proto.String(testMachine),
		Disks:             []*computepb.AttachedDisk{{Boot: proto.Bool(true)}},
		NetworkInterfaces: []*computepb.NetworkInterface{{Network: proto.String("global/networks/default")}},
		Scheduling: &computepb.Scheduling{
			ProvisioningModel: proto.String(model), AutomaticRestart: proto.Bool(false), OnHostMaintenance: proto.String("TERMINATE"),
		},
		ReservationAffinity: &computepb.ReservationAffinity{ConsumeReservationType: proto.String("NO_RESERVATION")},
	}
	if model == "SPOT" {
		b.InstanceProperties.Scheduling.InstanceTerminationAction = proto.String("DELETE")
	}
	return b
}

func TestGPUsCountAgainstTheQuotaOfTheirProvisioningModel(t *testing.T) {
	const standard, preemptible = "NVIDIA_H100_GPUS", "PREEMPTIBLE_NVIDIA_H100_GPUS"
	for name, c := range map[string]struct {
		limits          map[string]float64
		onDemand, spots string // the quota that is too small
	}{
		"without standard quota":                {map[string]float64{standard: 0}, standard, ""},
		"without preemptible quota":             {map[string]float64{standard: 8, preemptible: 0}, "", standard},
		"without preemptible quota, before it":  {map[string]float64{standard: 16, preemptible: 0}, "", ""},
		"without either quota":                  {map[string]float64{standard: 0, preemptible: 0}, standard, preemptible},
		"with too little preemptible quota":     {map[string]float64{standard: 16, preemptible: 4}, "", preemptible},
		"with too little of the standard quota": {map[string]float64{standard: 4, preemptible: 8}, standard, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			for metric, limit := range c.limits {
				require.NoError(t, w.SetQuota(testRegion, metric, limit))
			}
			for _, vm := range []struct{ model, name, short string }{{"STANDARD", "n0", c.onDemand}, {"SPOT", "s0", c.spots}} {
				op := w.operation(w.begun(w.bulkInsert(groupless(vm.model, vm.name))).Name())
				if vm.short == "" {
					assert.Nil(t, op.GetError(), vm.model)
					continue
				}
				assert.Contains(t, op.GetError().GetErrors()[0].GetMessage(), "Quota '"+vm.short+"' exceeded", vm.model)
			}
		})
	}
}

func TestContradictorySchedulingIsRefused(t *testing.T) {
	const migration = "Instances with guest accelerators do not support live migration."
	w := newWorld(t, Options{})
	for name, c := range map[string]struct {
		model  string
		change func(*computepb.InstanceProperties)
		says   string
	}{
		"a machine on demand that is deleted, of itself": {"STANDARD", func(p *computepb.InstanceProperties) {
			p.Scheduling.InstanceTerminationAction = proto.String("DELETE")
		}, "'resource.instanceProperties.scheduling.instanceTerminationAction': 'DELETE'. You cannot specify a termination action"},
		"a machine on demand that is deleted, when its time is over": {"STANDARD", func(p *computepb.InstanceProperties) {
			p.Scheduling.InstanceTerminationAction, p.Scheduling.MaxRunDuration = proto.String("DELETE"), &computepb.Duration{Seconds: proto.Int64(600)}
		}, ""},
		"an on-demand machine without the setting": {"STANDARD", func(p *computepb.InstanceProperties) { p.Scheduling = nil }, migration},
		"a machine on demand that migrates": {"STANDARD", func(p *computepb.InstanceProperties) {
			p.Scheduling.OnHostMaintenance = proto.String("MIGRATE")
		}, migration},
		"a machine on demand that cannot but migrate": {"STANDARD", func(p *computepb.InstanceProperties) {
			p.MachineType = proto.String("e2-standard-4")
		}, "e2 instances do not support onHostMaintenance=TERMINATE unless they are preemptible."},
		"a Spot machine of that type": {"SPOT", func(p *computepb.InstanceProperties) { p.MachineType = proto.String("e2-standard-4") }, ""},
		"a Spot machine that leaves the rest to Compute": {"SPOT", func(p *computepb.InstanceProperties) {
			p.Scheduling.OnHostMaintenance, p.Scheduling.AutomaticRestart = nil, nil
		}, ""},
		"a Spot machine that restarts": {"SPOT", func(p *computepb.InstanceProperties) {
			p.Scheduling.AutomaticRestart = proto.Bool(true)
		}, "Scheduling must have preemptible be false when AutomaticRestart is true."},
		"a Spot machine that migrates": {"SPOT", func(p *computepb.InstanceProperties) {
			p.Scheduling.OnHostMaintenance = proto.String("MIGRATE")
		}, "Scheduling must have preemptible be false when OnHostMaintenance isn't TERMINATE."},
		"a preemptible machine on demand": {"STANDARD", func(p *computepb.InstanceProperties) {
			p.Scheduling.Preemptible = proto.Bool(true)
		}, "For preemptible, only allowed provisioning_model value is SPOT."},
		"a Spot machine from a reservation": {"SPOT", func(p *computepb.InstanceProperties) {
			p.ReservationAffinity = affinityTo("mine")
		}, "another provisioning model than SPOT"},
		"a machine bound to no reservation": {"RESERVATION_BOUND", func(p *computepb.InstanceProperties) {
			p.Scheduling.InstanceTerminationAction = proto.String("DELETE")
		}, "must have reservationAffinity.consumeReservationType SPECIFIC_RESERVATION"},
		"a machine from a reservation without a name": {"STANDARD", func(p *computepb.InstanceProperties) {
			p.ReservationAffinity = affinityTo("")
		}, "must have reservationAffinity that names one reservation"},
	} {
		t.Run(name, func(t *testing.T) {
			b := groupless(c.model, "n0")
			c.change(b.InstanceProperties)
			_, err := w.bulkInsert(b)
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, w.DeleteVM("n0"))
				return
			}
			assertRefused(t, err, http.StatusBadRequest, "", c.says)
		})
	}
	assert.Empty(t, w.State().Instances)
}
