package fakegce

import (
	"fmt"

	"google.golang.org/api/compute/v1"
)

// bulkMode reports whether a group creates its instances all at once when its
// targetSize is raised from 0. Source: Compute's page "About bulk creation of
// instances in a MIG".
func bulkMode(spec *compute.InstanceGroupManager) bool {
	return spec.TargetSizePolicy != nil && spec.TargetSizePolicy.Mode == "BULK"
}

// checkBulkGroup refuses a group that cannot be in bulk mode.
func (s *Server) checkBulkGroup(c *call, spec *compute.InstanceGroupManager, t *template, zones []string) error {
	props := t.api.Properties
	repairs := spec.InstanceLifecyclePolicy == nil || spec.InstanceLifecyclePolicy.DefaultActionOnFailure != "DO_NOTHING"
	wrong := modelFault(props)
	durationText := fmt.Sprintf("Its instance template must have scheduling.maxRunDuration of %.0f to %.0f seconds.", minDuration.Seconds(), maxDuration.Seconds())
	unfit := s.machineProblem(props, zones)
	if unfit == nil && t.flexStart() {
		unfit = s.queuedProblem(props)
	}
	if unfit != nil {
		return invalid("Invalid value for field 'resource.targetSizePolicy.mode': 'BULK'. %s", unfit.Message)
	}
	for _, fault := range []struct {
		is   bool
		text string
	}{
		{wrong != "", "The instance template of a group in bulk mode must have " + wrong + "."},
		{t.flexStart() && (t.runDuration() < minDuration || t.runDuration() > maxDuration), durationText},
		{t.flexStart() && repairs, "Set instanceLifecyclePolicy.defaultActionOnFailure to DO_NOTHING."},
		{c.at.zone == "" && spec.DistributionPolicy.TargetShape != "ANY_SINGLE_ZONE", "A regional group in bulk mode has the target shape ANY_SINGLE_ZONE."},
		{spec.InstanceFlexibilityPolicy != nil, "A group in bulk mode has no instance flexibility policy."},
		{spec.StandbyPolicy != nil, "A group in bulk mode has no standby policy."},
		{spec.TargetSize > maxGroup, "The group would be too large."},
	} {
		if fault.is {
			return invalid("Invalid value for field 'resource.targetSizePolicy.mode': 'BULK'. %s", fault.text)
		}
	}
	return nil
}

// createBulk queues the creation of all n instances of a group in bulk mode. It
// is a resize request that nobody made: no list shows it.
func (s *Server) createBulk(g *group, n int) {
	r := &request{
		api:   &compute.InstanceGroupManagerResizeRequest{State: stateAccepted, Status: new(compute.InstanceGroupManagerResizeRequestStatus)},
		group: g, counted: true, names: s.inventNames(g, n),
	}
	for _, name := range r.names {
		g.members[name] = &member{
			meta: s.newMeta(location{}, "managedInstances", name), group: g, request: r,
			action: "CREATING", hasty: s.opts.Switches.NoActionOnceCreated,
		}
	}
	g.bulk = r
	s.after(s.opts.QueueTime, func() { s.attempt(r) })
}

// bulkActive reports whether the group is creating its instances in bulk.
func (g *group) bulkActive() bool { return g.bulk != nil && g.bulk.active() }

// bulkStatus is what a group in bulk mode shows of that; nil for any other.
func (g *group) bulkStatus() *compute.InstanceGroupManagerStatusBulkInstanceOperation {
	if !bulkMode(g.api) {
		return nil
	}
	status := &compute.InstanceGroupManagerStatusBulkInstanceOperation{
		InProgress: g.bulkActive(), ForceSendFields: []string{"InProgress"},
	}
	if p := g.bulkProblem; g.bulkActive() && p != nil {
		status.LastProgressCheck = &compute.InstanceGroupManagerStatusBulkInstanceOperationLastProgressCheck{
			Timestamp: stamp(g.bulkChecked),
			Error:     errorsOf[compute.InstanceGroupManagerStatusBulkInstanceOperationLastProgressCheckError](p),
		}
	}
	return status
}

// setBulkSize changes the targetSize of a group in bulk mode: up from 0, down to
// 0, or down while nothing is being created.
func (s *Server) setBulkSize(c *call, g *group, size int64, apply func()) (any, error) {
	now := g.api.TargetSize
	switch {
	case size > maxGroup:
		return nil, invalid("Invalid value for field 'size': '%d'. A group has at most %d instances.", size, maxGroup)
	case size > now && (now > 0 || len(g.members) > 0):
		return s.refused(c, &g.meta, conditionNotMet("Group '%s' is in bulk mode: it grows only while it has no instances.", g.path))
	case size > 0 && size < now && g.bulkActive():
		return s.refused(c, &g.meta, conditionNotMet("Group '%s' is in bulk mode and creates instances: it can be resized to 0 only.", g.path))
	}
	op := s.begin(c, &g.meta)
	s.complete(op, func() *Problem {
		apply()
		switch {
		case size > g.api.TargetSize:
			g.resize(int(size - g.api.TargetSize))
			s.createBulk(g, int(size))
		case size == 0 && g.bulkActive():
			s.cancel(g.bulk)
		default:
			for _, m := range g.surplus(size) {
				s.dismiss(m)
			}
		}
		return nil
	})
	return op.api, nil
}

// reservationFault is what the properties of a VM that is bound to a reservation
// miss; "" is nothing.
func reservationFault(props *compute.InstanceProperties) string {
	if action := schedulingOf(props).InstanceTerminationAction; action != "DELETE" {
		return "scheduling.instanceTerminationAction DELETE, not '" + action + "'"
	}
	return affinityFault(props)
}

// modelFault is what the properties of a VM miss for their provisioning model, which
// is one of those that create machines all at once; "" is nothing.
func modelFault(props *compute.InstanceProperties) string {
	if reservationBound(props) {
		return reservationFault(props)
	}
	return flexFault(props)
}

func reservationBound(props *compute.InstanceProperties) bool {
	return modelOf(props) == "RESERVATION_BOUND"
}
