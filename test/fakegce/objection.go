package fakegce

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
)

// Limits of resize requests, bulkInsert and groups.
const (
	minDuration = 600 * time.Second
	maxDuration = 604_800 * time.Second
	maxRequest  = 1000 // instances per request
	maxBulk     = 5000 // instances per bulkInsert
	maxGroup    = 2000 // instances per group

	activeRequestsQuota = "ACTIVE_RESIZE_REQUESTS"
)

// groupQuotas returns the metrics that each managed instance group counts against.
func groupQuotas() []string {
	return []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"}
}

// checkGroupQuotas refuses a new group that would exceed a quota of its region.
func (s *Server) checkGroupQuotas(region string) error {
	for _, metric := range groupQuotas() {
		q := quota{region, metric}
		if limit := s.limit(q); limit >= 0 && float64(s.groupsOf(q)+1) > limit {
			return &refusal{
				Status: http.StatusForbidden, Reason: "quotaExceeded", Domain: "usageLimits", Message: quotaProblem(q, limit).Message,
			}
		}
	}
	return nil
}

// groupsOf returns how many groups count against the quota.
func (s *Server) groupsOf(q quota) (n int) {
	for _, g := range s.groups.live {
		if g.at.region == q.region && slices.Contains(groupQuotas(), q.metric) {
			n++
		}
	}
	return n
}

// objection returns why an inserted request can never be granted, or nil if it can.
func (s *Server) objection(r *request) *Problem {
	if r.group.deletion != nil {
		return problem("RESOURCE_NOT_READY", "%s", notReady(r.group.path).Message)
	}
	for _, check := range []func(*request) *Problem{
		s.durationObjection, s.templateObjection, s.machineObjection, s.groupObjection, s.limitObjection,
	} {
		if p := check(r); p != nil {
			return p
		}
	}
	return nil
}

func (s *Server) durationObjection(r *request) *Problem {
	zero := r.api.RequestedRunDuration != nil && seconds(r.api.RequestedRunDuration) == 0
	switch d := s.runDuration(r); {
	case d == 0 && !zero:
		return problem("INVALID_ARGUMENT", "Specified resize request has no requestedRunDuration, and its instance template no maxRunDuration.")
	case zero || d < minDuration:
		return problem("INVALID_ARGUMENT", "Specified maxRunDuration is too short. Minimum value is equal to 10 minutes.")
	case d > maxDuration:
		return problem("INVALID_ARGUMENT", "Specified maxRunDuration is too long. Maximum value is equal to 7 days.")
	}
	return nil
}

func (s *Server) templateObjection(r *request) *Problem {
	if wrong := flexFault(r.group.template.api.Properties); wrong != "" {
		return problem("INVALID_ARGUMENT", "The instance template of a resize request must have %s.", wrong)
	}
	return nil
}

// flexFault returns what a VM's properties lack for flex-start, or "".
func flexFault(props *compute.InstanceProperties) string {
	sched := schedulingOf(props)
	affinity := ""
	if props.ReservationAffinity != nil {
		affinity = props.ReservationAffinity.ConsumeReservationType
	}
	for _, want := range []struct{ field, value, must string }{
		{"scheduling.provisioningModel", sched.ProvisioningModel, "FLEX_START"},
		{"scheduling.instanceTerminationAction", sched.InstanceTerminationAction, "DELETE"},
		{"scheduling.onHostMaintenance", sched.OnHostMaintenance, "TERMINATE"},
		{"reservationAffinity.consumeReservationType", affinity, "NO_RESERVATION"},
	} {
		if want.value != want.must {
			return fmt.Sprintf("%s %s, not '%s'", want.field, want.must, want.value)
		}
	}
	if sched.MaxRunDuration == nil {
		return "scheduling.maxRunDuration"
	}
	return ""
}

func (s *Server) machineObjection(r *request) *Problem {
	props := r.group.template.api.Properties
	if p := s.machineProblem(props, r.group.zones); p != nil {
		return p
	}
	return s.queuedProblem(props)
}

// machineProblem returns why none of the zones can create machines with these properties, or
// nil if one can.
func (s *Server) machineProblem(props *compute.InstanceProperties, zones []string) *Problem {
	m, known := s.machine[props.MachineType]
	has := func(zone string) bool { return !s.withdrawn[spot{zone, m.name}] }
	if !known || !slices.ContainsFunc(zones, has) {
		return problem("INVALID_MACHINE_TYPE", "Machine type '%s' does not exist.", props.MachineType)
	}
	for _, a := range props.GuestAccelerators {
		kind := lastPart(a.AcceleratorType)
		if _, known := gpuMetrics()[kind]; !known || m.gpu != "" && m.gpu != kind {
			return problem("INVALID_GPU_TYPE", "Accelerator type '%s' is not available with machine type '%s'.", kind, m.name)
		}
	}
	return nil
}

// queuedProblem returns why machines with these properties do not suit flex-start or resize
// requests, or nil if they do.
func (s *Server) queuedProblem(props *compute.InstanceProperties) *Problem {
	switch m := props.MachineType; {
	case len(props.ResourcePolicies) > 0:
		return problem("UNSUPPORTED_OPERATION", "Creating queued resource with resource policies is not supported.")
	case strings.HasPrefix(m, "a4x-"):
		return problem("UNSUPPORTED_OPERATION", "Creating queued resource with machine type '%s' is not supported.", m)
	case len(s.gpus(props)) == 0 && !strings.HasPrefix(m, "h4d-"):
		return problem("UNSUPPORTED_OPERATION", "Requests without accelerators are not supported.")
	}
	return nil
}

// groupObjection returns the problem if the group breaks the rules of flex-start.
func (s *Server) groupObjection(r *request) *Problem {
	a := r.group.api
	repairs := a.InstanceLifecyclePolicy == nil || a.InstanceLifecyclePolicy.DefaultActionOnFailure != "DO_NOTHING"
	spreads := a.DistributionPolicy.TargetShape != "ANY_SINGLE_ZONE"
	moves := a.UpdatePolicy == nil || a.UpdatePolicy.InstanceRedistributionType != "NONE"
	rolls := a.UpdatePolicy != nil && a.UpdatePolicy.Type == "PROACTIVE"
	for _, fault := range []struct {
		is   bool
		text string
	}{
		{repairs, "instance repairs: set instanceLifecyclePolicy.defaultActionOnFailure to DO_NOTHING"},
		{spreads, "a target shape other than ANY_SINGLE_ZONE"},
		{moves, "instance redistribution: set updatePolicy.instanceRedistributionType to NONE"},
		{rolls, "rolling updates: set updatePolicy.type to OPPORTUNISTIC"},
		{a.InstanceFlexibilityPolicy != nil, "an instance flexibility policy"},
	} {
		if fault.is {
			return problem("UNSUPPORTED_OPERATION", "Resize requests are not supported in a group with %s.", fault.text)
		}
	}
	return nil
}

func (s *Server) limitObjection(r *request) *Problem {
	if len(r.names) > maxRequest {
		return problem("INVALID_ARGUMENT", "A resize request may ask for at most %d instances.", maxRequest)
	}
	if len(r.group.members) > maxGroup {
		return problem("LIMIT_EXCEEDED", "Exceeded limit 'MAX_INSTANCES_IN_INSTANCE_GROUP' on resource '%s'. Limit: %d.0", r.group.name, maxGroup)
	}
	region := r.group.at.regionName()
	if limit := s.limit(quota{region, activeRequestsQuota}); limit >= 0 && float64(s.activeRequests(region)) > limit {
		return quotaProblem(quota{region, activeRequestsQuota}, limit)
	}
	return nil
}
