package fakegce

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// group is a regional managed instance group.
type group struct {
	meta
	api      *compute.InstanceGroupManager
	template *template
	zones    []string // allowed zones in order of preference
	members  map[string]*member
	requests shelf[*request]
	revision int        // number of changes, for the fingerprint
	deletion *operation // nil unless the group is being deleted
	emptying bool       // the deletion has taken effect on the members
}

// body returns the group as JSON shows it: its record plus the current actions of its members.
func (g *group) body() any {
	actions := &compute.InstanceGroupManagerActionsSummary{ForceSendFields: []string{
		"Abandoning", "Creating", "CreatingWithoutRetries", "Deleting", "None", "Recreating",
		"Refreshing", "Restarting", "Resuming", "Starting", "Stopping", "Suspending", "Verifying",
	}}
	for _, m := range g.members {
		switch m.shownAction() {
		case "CREATING":
			actions.Creating++
		case "DELETING":
			actions.Deleting++
		default:
			actions.None++
		}
	}
	stable := int(actions.None) == len(g.members) && g.ready
	g.api.CurrentActions = actions
	g.api.Status = &compute.InstanceGroupManagerStatus{
		IsStable:        stable,
		ForceSendFields: []string{"IsStable"},
		Stateful:        &compute.InstanceGroupManagerStatusStateful{ForceSendFields: []string{"HasStatefulConfig"}},
		VersionTarget:   &compute.InstanceGroupManagerStatusVersionTarget{IsReached: true},
	}
	g.api.Fingerprint = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%d", g.revision))
	return g.api
}

// creating reports whether Compute is validating one of the group's requests or creating VMs
// for one.
func (g *group) creating() bool {
	return slices.ContainsFunc(g.requests.all(), func(r *request) bool {
		return r.api.State == stateCreating || r.active() && r.launched
	})
}

func (g *group) resize(by int) {
	g.api.TargetSize = max(g.api.TargetSize+int64(by), 0)
	g.revision++
}

// group returns the group named by a call.
func (s *Server) group(c *call) (*group, error) {
	return s.groups.find(s.path(c.at, "instanceGroupManagers", c.name()))
}

// idleGroup returns the group that a call wants to change. It refuses a group that an
// operation is creating or deleting.
func (s *Server) idleGroup(c *call) (*group, error) {
	g, err := s.group(c)
	if err == nil && (!g.ready || g.deletion != nil) {
		return nil, notReady(g.path)
	}
	return g, err
}

func (s *Server) insertGroup(c *call) (any, error) {
	spec := new(compute.InstanceGroupManager)
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	if err := cmp.Or(checkName("resource.name", spec.Name), groupLacks(spec)); err != nil {
		return nil, err
	}
	if !c.has("targetSize") {
		return nil, required("resource.targetSize")
	}
	if err := checkBaseName(spec.BaseInstanceName); err != nil {
		return nil, err
	}
	if _, ok := s.groups.get(s.path(c.at, "instanceGroupManagers", spec.Name)); ok {
		return nil, alreadyExists(s.path(c.at, "instanceGroupManagers", spec.Name))
	}
	t, err := s.groupTemplate(c, spec)
	if err != nil {
		return nil, err
	}
	zones, err := s.groupZones(c, spec)
	if err != nil {
		return nil, err
	}
	if err := s.checkPolicies(c, spec, t); err != nil {
		return nil, err
	}
	if err := s.checkGroupQuotas(c.at.region); err != nil {
		return nil, err
	}
	g := &group{
		meta: s.newMeta(c.at, "instanceGroupManagers", spec.Name),
		api:  spec, template: t, zones: zones, members: make(map[string]*member),
	}
	s.describeGroup(g)
	s.groups.add(g)
	op := s.begin(c, &g.meta)
	op.undo = func(*Problem) { s.groups.remove(g, s.now) }
	s.complete(op, func() *Problem {
		g.ready = true
		return nil
	})
	return op.api, nil
}

// groupLacks refuses group features of Compute that this fake lacks.
func groupLacks(spec *compute.InstanceGroupManager) error {
	switch {
	case spec.TargetSizePolicy != nil && spec.TargetSizePolicy.Mode == "BULK":
		return notImplemented("This fake has no groups in bulk mode.")
	case spec.ListManagedInstancesResults == "PAGINATED":
		return notImplemented("This fake lists the instances of a group without pages.")
	case strings.Contains(spec.BaseInstanceName, "#"):
		return notImplemented("This fake does not number the instances of a group.")
	}
	return nil
}

// maxBaseName is the maximum length of a baseInstanceName. Compute appends a hyphen and four
// characters.
const maxBaseName = 58

// checkBaseName refuses a base name that cannot start an instance name; "" means that there is
// none.
func checkBaseName(name string) error {
	const field = "resource.baseInstanceName"
	switch {
	case name == "":
		return nil
	case len(name) > maxBaseName:
		return invalid("Invalid value for field '%s': '%s'. Must be at most %d characters long.", field, name, maxBaseName)
	}
	return checkName(field, name)
}

// describeGroup fills in the fields of a group that Compute sets by itself.
func (s *Server) describeGroup(g *group) {
	a := g.api
	a.Kind, a.Id, a.SelfLink, a.CreationTimestamp = "compute#instanceGroupManager", g.id, g.link(), stamp(s.now)
	a.Region = s.placeLink(g.at)
	a.InstanceGroup = strings.Replace(g.link(), "/instanceGroupManagers/", "/instanceGroups/", 1)
	a.ForceSendFields = []string{"TargetSize"}
	if a.BaseInstanceName == "" {
		a.BaseInstanceName = a.Name[:min(len(a.Name), maxBaseName)]
	}
	if a.ListManagedInstancesResults == "" {
		a.ListManagedInstancesResults = "PAGELESS"
	}
	a.InstanceTemplate = g.template.link()
	if len(a.Versions) == 0 {
		a.Versions = []*compute.InstanceGroupManagerVersion{{}}
	}
	a.Versions[0].InstanceTemplate = g.template.link()
}

// groupTemplate returns the template of a new group, which must name it exactly once.
func (s *Server) groupTemplate(c *call, spec *compute.InstanceGroupManager) (*template, error) {
	ref := spec.InstanceTemplate
	if len(spec.Versions) > 1 {
		return nil, invalid("Invalid value for field 'resource.versions'. Only one version is supported for a new group.")
	}
	if len(spec.Versions) == 1 {
		if ref != "" && s.canonical(ref) != s.canonical(spec.Versions[0].InstanceTemplate) {
			return nil, invalid("Invalid value for field 'resource.versions'. It names another template than 'resource.instanceTemplate'.")
		}
		ref = spec.Versions[0].InstanceTemplate
	}
	if ref == "" {
		return nil, required("resource.versions[0].instanceTemplate")
	}
	t, err := s.templates.find(s.canonical(ref))
	if err != nil {
		return nil, err
	}
	if !t.ready {
		return nil, notReady(t.path)
	}
	if t.at.region != "" && t.at.region != c.at.region {
		return nil, invalid("Invalid value for field 'resource.versions[0].instanceTemplate': '%s'. The template is of another region than the group.", ref)
	}
	return t, nil
}

// groupZones returns the zones in which a new group may place instances: those of its
// distribution policy, or else all zones of its region.
func (s *Server) groupZones(c *call, spec *compute.InstanceGroupManager) ([]string, error) {
	if spec.DistributionPolicy == nil {
		spec.DistributionPolicy = &compute.DistributionPolicy{}
	}
	p := spec.DistributionPolicy
	if p.TargetShape == "" {
		p.TargetShape = "EVEN"
	}
	var zones []string
	for i, z := range p.Zones {
		name := strings.TrimPrefix(s.canonical(z.Zone), "projects/"+s.opts.Project+"/zones/")
		if !slices.Contains(s.zonesOf(c.at.region), name) || slices.Contains(zones, name) {
			return nil, invalid("Invalid value for field 'resource.distributionPolicy.zones[%d].zone': '%s'. It is not a zone of region '%s', or named twice.", i, z.Zone, c.at.region)
		}
		zones = append(zones, name)
	}
	if len(zones) == 0 {
		zones = s.zonesOf(c.at.region)
	}
	p.Zones = nil
	for _, z := range zones {
		p.Zones = append(p.Zones, &compute.DistributionPolicyZoneConfiguration{Zone: s.placeLink(location{zone: z})})
	}
	return zones, nil
}

// checkPolicies refuses a missing workload policy and a targetSize that resize requests should
// set.
func (s *Server) checkPolicies(c *call, spec *compute.InstanceGroupManager, t *template) error {
	if p := spec.ResourcePolicies; p != nil && p.WorkloadPolicy != "" {
		policy, err := s.policies.find(s.canonical(p.WorkloadPolicy))
		if err != nil {
			return err
		}
		if policy.at.region != c.at.region {
			return invalid("Invalid value for field 'resource.resourcePolicies.workloadPolicy': '%s'. It is of another region.", p.WorkloadPolicy)
		}
	}
	if spec.TargetSize < 0 {
		return invalid("Invalid value for field 'resource.targetSize': '%d'. Must be greater than or equal to 0.", spec.TargetSize)
	}
	if spec.TargetSize > 0 {
		return growsByRequests(t)
	}
	return nil
}

// growsByRequests refuses a targetSize that would add instances.
func growsByRequests(t *template) error {
	if modelOf(t.api.Properties) == "FLEX_START" {
		return invalid("Invalid value for field 'resource.targetSize'. A group whose template has provisioning model FLEX_START grows by resize requests only.")
	}
	return notImplemented("This fake adds instances to a group by resize requests only.")
}

func (s *Server) getGroup(c *call) (any, error) {
	g, err := s.group(c)
	if err != nil {
		return nil, err
	}
	return g.body(), nil
}

func (s *Server) listGroups(c *call) (any, error) {
	return s.list(c, "compute#regionInstanceGroupManagerList", s.groups.seen(s.now, c.fault.Lag, in(c.at)), compute.InstanceGroupManager{})
}

// deleteGroup deletes a group with its requests and VMs. If VMs are being created for a
// request, it waits until that request succeeds.
func (s *Server) deleteGroup(c *call) (any, error) {
	g, err := s.idleGroup(c)
	if err != nil {
		return nil, err
	}
	op := s.begin(c, &g.meta)
	g.deletion = op
	op.undo = func(*Problem) { g.deletion = nil }
	s.later(op, func() {
		g.emptying = true
		s.goOnDeleting(g)
	})
	return op.api, nil
}

// goOnDeleting performs the next possible step of a group's deletion.
func (s *Server) goOnDeleting(g *group) {
	if !g.emptying || g.creating() {
		return
	}
	for _, m := range g.sorted() {
		switch {
		case m.vm == nil:
			delete(g.members, m.name)
		case !m.leaving():
			m.action = "DELETING"
			s.remove(m.vm)
		}
	}
	if len(g.members) > 0 {
		return
	}
	for _, r := range g.requests.all() {
		if r.active() {
			r.api.State = stateCancelled
		}
		g.requests.remove(r, s.now)
	}
	g.emptying = false
	s.groups.remove(g, s.now)
	s.finish(g.deletion, nil)
}
