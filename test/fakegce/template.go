package fakegce

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/api/compute/v1"
)

// template is an instance template, global or regional.
type template struct {
	meta
	api *compute.InstanceTemplate
}

func (t *template) body() any { return t.api }

func (t *template) runDuration() time.Duration {
	return seconds(schedulingOf(t.api.Properties).MaxRunDuration)
}

// FlexTemplate returns a valid flex-start template for a machine type, with a lease of at most
// seven days.
func FlexTemplate(name, machineType string) *compute.InstanceTemplate {
	no := false
	return &compute.InstanceTemplate{
		Name: name,
		Properties: &compute.InstanceProperties{
			MachineType: machineType,
			Scheduling: &compute.Scheduling{
				ProvisioningModel: "FLEX_START", InstanceTerminationAction: "DELETE",
				OnHostMaintenance: "TERMINATE", AutomaticRestart: &no,
				MaxRunDuration: &compute.Duration{Seconds: int64(maxDuration / time.Second)},
			},
			ReservationAffinity: &compute.ReservationAffinity{ConsumeReservationType: "NO_RESERVATION"},
			Disks: []*compute.AttachedDisk{{
				Boot: true, AutoDelete: true, Type: "PERSISTENT",
				InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: "projects/debian-cloud/global/images/family/debian-12"},
			}},
			NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
		},
	}
}

// PlainTemplate returns a template that sets no provisioning model. It only sets that host
// maintenance terminates the instance, which GPUs require.
func PlainTemplate(name, machineType string) *compute.InstanceTemplate {
	spec := FlexTemplate(name, machineType)
	spec.Properties.Scheduling = &compute.Scheduling{OnHostMaintenance: "TERMINATE"}
	spec.Properties.ReservationAffinity = nil
	return spec
}

// AddTemplate adds a template at once, without an API call. An empty region makes the template
// global. AddTemplate returns the template's path.
func (s *Server) AddTemplate(region string, spec *compute.InstanceTemplate) (path string, err error) {
	s.do(func() {
		if region != "" && !slices.Contains(s.regions(), region) {
			err = fmt.Errorf("add template %s: unknown region %q", spec.Name, region)
			return
		}
		var t *template
		if t, err = s.newTemplate(location{region: region}, spec); err == nil {
			t.ready = true
			path = t.path
		}
	})
	return path, err
}

func (s *Server) newTemplate(at location, spec *compute.InstanceTemplate) (*template, error) {
	if err := checkName("resource.name", spec.Name); err != nil {
		return nil, err
	}
	if spec.Properties == nil || spec.Properties.MachineType == "" {
		return nil, required("resource.properties.machineType")
	}
	if err := s.checkProperties("resource.properties", spec.Properties); err != nil {
		return nil, err
	}
	t := &template{meta: s.newMeta(at, "instanceTemplates", spec.Name), api: spec}
	if _, ok := s.templates.get(t.path); ok {
		return nil, alreadyExists(t.path)
	}
	describeProperties(spec.Properties)
	spec.Kind, spec.Id, spec.SelfLink, spec.CreationTimestamp = "compute#instanceTemplate", t.id, t.link(), stamp(s.now)
	if at.region != "" {
		spec.Region = s.placeLink(at)
	}
	s.templates.add(t)
	return t, nil
}

func (s *Server) insertTemplate(c *call) (any, error) {
	spec := new(compute.InstanceTemplate)
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	t, err := s.newTemplate(c.at, spec)
	if err != nil {
		return nil, err
	}
	op := s.begin(c, &t.meta)
	op.undo = func(*Problem) { s.templates.remove(t, s.now) }
	s.complete(op, func() *Problem { t.ready = true; return nil })
	return op.api, nil
}

func (s *Server) getTemplate(c *call) (any, error) {
	t, err := s.templates.find(s.path(c.at, "instanceTemplates", c.name()))
	if err != nil {
		return nil, err
	}
	return t.api, nil
}
