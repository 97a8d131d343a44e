package fakegce

import (
	"strings"

	"google.golang.org/api/compute/v1"
)

// models lists the provisioning models.
const models = "FLEX_START SPOT STANDARD"

// schedulingOf returns the properties' scheduling, or an empty one if there is none.
func schedulingOf(p *compute.InstanceProperties) *compute.Scheduling {
	if p.Scheduling == nil {
		return &compute.Scheduling{}
	}
	return p.Scheduling
}

// modelOf returns the provisioning model of the properties, which may use the old preemptible
// field or set nothing.
func modelOf(p *compute.InstanceProperties) string {
	sched := schedulingOf(p)
	switch {
	case sched.Preemptible:
		return "SPOT"
	case sched.ProvisioningModel == "":
		return "STANDARD"
	}
	return sched.ProvisioningModel
}

// checkScheduling refuses contradictory scheduling, in templates as well. Source: the texts
// are Google's for preemptible VMs, as reported by users (cluster-toolkit's pull request 4435,
// travis-ci/worker's 487, elasticluster's issue 568). That Spot VMs get the same texts is
// inferred. Compute's page "Limit the run time of a VM" documents that a standard
// VM with a maxRunDuration or terminationTime may set a termination action.
func checkScheduling(at string, p *compute.InstanceProperties) error {
	sched, model := schedulingOf(p), modelOf(p)
	ends := sched.MaxRunDuration != nil || sched.TerminationTime != ""
	at += ".scheduling."
	switch {
	case model == "RESERVATION_BOUND":
		return notImplemented("This fake has no instances of model RESERVATION_BOUND.")
	case sched.Preemptible && sched.ProvisioningModel != "" && sched.ProvisioningModel != "SPOT":
		return invalid("Invalid value for field '%sprovisioningModel': '%s'. For preemptible, only allowed provisioning_model value is SPOT.", at, sched.ProvisioningModel)
	case model == "STANDARD" && sched.InstanceTerminationAction != "" && !ends:
		return invalid("Invalid value for field '%sinstanceTerminationAction': '%s'. You cannot specify a termination action for a VM instance that has the standard provisioning model (default). To use instance termination action, the VM instance must use the Spot, Reservation-Bound or Flex Start provisioning model.", at, sched.InstanceTerminationAction)
	case model == "SPOT" && sched.AutomaticRestart != nil && *sched.AutomaticRestart:
		return invalid("Invalid value for field '%spreemptible': 'true'. Scheduling must have preemptible be false when AutomaticRestart is true.", at)
	case model == "SPOT" && sched.OnHostMaintenance == "MIGRATE":
		return invalid("Invalid value for field '%spreemptible': 'true'. Scheduling must have preemptible be false when OnHostMaintenance isn't TERMINATE.", at)
	}
	return nil
}

// checkMigration refuses VMs whose machines do not support their onHostMaintenance setting
// (default: migrate). Source: Google's texts as reported by users (karpenter-provider-gcp's
// issue 167, google-compute-engine-plugin's 215).
func (s *Server) checkMigration(p *compute.InstanceProperties) error {
	model, terminates := modelOf(p), schedulingOf(p).OnHostMaintenance == "TERMINATE"
	switch {
	case model == "STANDARD" && !terminates && len(s.gpus(p)) > 0:
		return badRequest("Instances with guest accelerators do not support live migration.")
	case model == "STANDARD" && terminates && strings.HasPrefix(p.MachineType, "e2-"):
		return badRequest("e2 instances do not support onHostMaintenance=TERMINATE unless they are preemptible.")
	}
	return nil
}

// checkReservation refuses VMs that must consume a reservation but do not name it, and Spot
// VMs, which cannot consume one. Source: Compute's page "Consume reservations"; the texts are
// not Google's.
func checkReservation(p *compute.InstanceProperties) error {
	affinity := p.ReservationAffinity
	wanted := affinity != nil && affinity.ConsumeReservationType == "SPECIFIC_RESERVATION"
	wrong := ""
	switch {
	case wanted && modelOf(p) == "SPOT":
		wrong = "another provisioning model than SPOT"
	case wanted:
		wrong = affinityFault(p)
	}
	if wrong != "" {
		return invalid("Invalid value for field 'resource.instanceProperties'. An instance that consumes a reservation must have %s.", wrong)
	}
	return nil
}
