package fakegce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// bulk is a bulkInsert call: VMs without a group, all in one zone.
type bulk struct {
	props    *compute.InstanceProperties
	template string
	zones    []string
	names    []string // sorted; with too little room, the last ones are dropped
	minimum  int
}

// bulkInsert creates many VMs at once. Its operation ends when the VMs exist.
func (s *Server) bulkInsert(c *call) (any, error) {
	spec := new(compute.BulkInsertInstanceResource)
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	b, err := s.readBulk(c, spec)
	if err != nil {
		return nil, err
	}
	target := s.newMeta(c.at, "instances", "")
	target.path = strings.TrimSuffix(target.path, "/")
	op := s.begin(c, &target)
	op.api.OperationGroupId = fmt.Sprintf("%08x-0000-4000-8000-%012x", op.id>>48, op.id&(1<<48-1))
	s.later(op, func() { s.launchBulk(op, b) })
	return op.api, nil
}

func (s *Server) launchBulk(op *operation, b bulk) {
	zone, names, p := s.bulkRoom(b)
	if p != nil {
		s.finish(op, p)
		return
	}
	var vms []*vm
	for _, name := range names {
		v := s.launch(zone, name, b.props)
		v.template = b.template
		vms = append(vms, v)
	}
	s.after(s.opts.BootTime/2, func() {
		if slices.ContainsFunc(vms, func(v *vm) bool { return v.gone }) {
			s.finish(op, problem("CONFLICT", "An instance was deleted while it was being created."))
			return
		}
		created, planned := int64(len(vms)), int64(len(b.names))
		op.api.InstancesBulkInsertOperationMetadata = &compute.InstancesBulkInsertOperationMetadata{
			PerLocationStatus: map[string]compute.BulkInsertOperationStatus{
				"zones/" + zone: {CreatedVmCount: created, FailedToCreateVmCount: planned - created, TargetVmCount: planned, Status: "DONE"},
			},
		}
		s.finish(op, nil)
	})
}

// bulkRoom returns the first zone with room for all of the VMs. If there is none, it returns
// the zone with most room, provided that it fits the minimum count.
func (s *Server) bulkRoom(b bulk) (zone string, names []string, p *Problem) {
	most := 0
	for _, z := range b.zones {
		n, short := s.fits(z, b.props, b.names)
		if n > most {
			zone, most = z, n
		}
		p = short
	}
	if most < b.minimum {
		return "", nil, p
	}
	return zone, b.names[:most], nil
}

func (s *Server) readBulk(c *call, spec *compute.BulkInsertInstanceResource) (bulk, error) {
	var b bulk
	var err error
	if spec.Count < 1 || spec.Count > maxBulk {
		return b, invalid("Invalid value for field 'resource.count': '%d'. Must be between 1 and %d.", spec.Count, maxBulk)
	}
	if b.minimum = int(spec.MinCount); b.minimum < 1 {
		b.minimum = int(spec.Count)
	}
	if b.minimum > int(spec.Count) {
		return b, invalid("Invalid value for field 'resource.minCount': '%d'. Must not be greater than count.", spec.MinCount)
	}
	if err := bulkLacks(spec); err != nil {
		return b, err
	}
	if b.props, b.template, err = s.bulkProperties(c, spec); err != nil {
		return b, err
	}
	if b.zones, err = s.bulkZones(c, spec.LocationPolicy); err != nil {
		return b, err
	}
	if err = cmp.Or(
		s.checkProperties("resource.instanceProperties", b.props), invalidBulk(s.machineProblem(b.props, b.zones)),
		s.checkFlexBulk(b.props), s.checkMigration(b.props), checkReservation(b.props),
	); err != nil {
		return b, err
	}
	if b.zones, err = s.reservedZones(b.zones, b.props); err != nil {
		return b, err
	}
	b.names, err = bulkNames(spec)
	return b, err
}

// bulkLacks refuses calls that use a feature of Compute that this fake lacks.
func bulkLacks(spec *compute.BulkInsertInstanceResource) error {
	shape := ""
	if spec.LocationPolicy != nil {
		shape = spec.LocationPolicy.TargetShape
	}
	switch {
	case spec.InstanceFlexibilityPolicy != nil:
		return notImplemented("This fake has no instanceFlexibilityPolicy.")
	case spec.NamePattern != "":
		return notImplemented("This fake names instances by perInstanceProperties only.")
	case spec.LocationPolicy != nil && len(spec.LocationPolicy.Zones) > 0:
		return notImplemented("This fake takes the locations of a locationPolicy only.")
	case shape != "" && shape != "ANY_SINGLE_ZONE":
		return notImplemented("This fake creates all instances in one zone, and does not have targetShape " + shape + ".")
	}
	return nil
}

// invalidBulk turns a problem with the call's properties into a refusal; nil stays nil.
func invalidBulk(p *Problem) error {
	if p == nil {
		return nil
	}
	return invalid("Invalid value for field 'resource.instanceProperties'. %s", p.Message)
}

// checkFlexBulk refuses flex-start VMs that break the rules of flex-start. The rules are the
// ones for resize requests.
func (s *Server) checkFlexBulk(props *compute.InstanceProperties) error {
	sched := schedulingOf(props)
	if sched.ProvisioningModel != "FLEX_START" {
		return nil
	}
	if wrong := flexFault(props); wrong != "" {
		return invalid("Invalid value for field 'resource.instanceProperties'. A FLEX_START instance must have %s.", wrong)
	}
	if d := seconds(sched.MaxRunDuration); d < minDuration || d > maxDuration {
		return invalid("Invalid value for field 'resource.instanceProperties.scheduling.maxRunDuration.seconds': '%.0f'. Must be between %.0f and %.0f.", d.Seconds(), minDuration.Seconds(), maxDuration.Seconds())
	}
	return invalidBulk(s.queuedProblem(props))
}

// bulkNames returns the VM names that the call sets.
func bulkNames(spec *compute.BulkInsertInstanceResource) ([]string, error) {
	names := slices.Sorted(maps.Keys(spec.PerInstanceProperties))
	if len(names) != int(spec.Count) {
		return nil, invalid("Invalid value for field 'resource.count': '%d'. There are %d names in perInstanceProperties.", spec.Count, len(names))
	}
	for _, n := range names {
		if err := checkName("resource.perInstanceProperties", n); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// bulkZones returns the zones that the call allows.
func (s *Server) bulkZones(c *call, p *compute.LocationPolicy) ([]string, error) {
	if c.at.zone != "" {
		return []string{c.at.zone}, nil
	}
	zones := s.zonesOf(c.at.region)
	if p == nil {
		return zones, nil
	}
	for ref, location := range p.Locations {
		if !slices.Contains(s.zonesOf(c.at.region), lastPart(ref)) {
			return nil, invalid("Invalid value for field 'resource.locationPolicy.locations': '%s'. It is not a zone of region '%s'.", ref, c.at.region)
		}
		if location.Preference == "DENY" {
			zones = slices.DeleteFunc(zones, func(z string) bool { return z == lastPart(ref) })
		}
	}
	if len(zones) == 0 {
		return nil, invalid("Invalid value for field 'resource.locationPolicy.locations'. It denies every zone of region '%s'.", c.at.region)
	}
	return zones, nil
}

// bulkProperties merges the call's properties over those of the template, if the call names
// one, by JSON Merge Patch (RFC 7396).
func (s *Server) bulkProperties(c *call, spec *compute.BulkInsertInstanceResource) (*compute.InstanceProperties, string, error) {
	merged, path := any(nil), ""
	if spec.SourceInstanceTemplate != "" {
		path = s.canonical(spec.SourceInstanceTemplate)
		t, err := s.templates.find(path)
		if err != nil {
			return nil, "", err
		}
		if merged, err = plain(t.api.Properties); err != nil {
			return nil, "", err
		}
	}
	if spec.InstanceProperties != nil { // spec does not distinguish zero values from missing ones
		var body struct {
			Own any `json:"instanceProperties"`
		}
		if err := json.Unmarshal(c.body, &body); err != nil {
			return nil, "", err
		}
		merged = mergePatch(merged, body.Own)
	}
	props := new(compute.InstanceProperties)
	b, err := json.Marshal(merged)
	if err == nil {
		err = json.Unmarshal(b, props)
	}
	if err != nil {
		return nil, "", fmt.Errorf("merge instance properties: %w", err)
	}
	describeProperties(props)
	props.MachineType = lastPart(props.MachineType)
	if props.MachineType == "" {
		return nil, "", required("resource.instanceProperties.machineType")
	}
	return props, path, nil
}

// plain converts v into generic JSON values.
func plain(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var p any
	err = json.Unmarshal(b, &p)
	return p, err
}

func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, ok := target.(map[string]any)
	if !ok {
		merged = make(map[string]any)
	}
	for name, value := range changes {
		if value == nil {
			delete(merged, name)
			continue
		}
		merged[name] = mergePatch(merged[name], value)
	}
	return merged
}
