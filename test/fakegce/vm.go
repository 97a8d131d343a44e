package fakegce

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
)

// vm is an instance that exists.
type vm struct {
	meta
	api        *compute.Instance
	member     *member            // nil if no group manages it
	origin     string             // path of the group that created it
	request    string             // name of the resize request that created it
	template   string             // path of its template
	duration   time.Duration      // of its lease; 0 means unlimited
	ends       time.Time          // end of its lease, while RUNNING
	maintained time.Time          // start of announced host maintenance
	needs      map[string]float64 // use of each quota metric
	holds      *reservation       // the reservation that it consumes, or nil
	gone       bool
	onGone     []func() // called when the VM no longer exists
}

func (v *vm) body() any { return v.api }

func (v *vm) machineType() string { return lastPart(v.api.MachineType) }

// running reports whether the instance's guest is up.
func (v *vm) running() bool { return v.api.Status == "RUNNING" }

// booting reports whether the instance exists but its guest is not up yet.
func (v *vm) booting() bool { return v.api.Status == "PROVISIONING" || v.api.Status == "STAGING" }

// launch creates a VM and starts its boot.
func (s *Server) launch(zone, name string, props *compute.InstanceProperties, extra ...*compute.MetadataItems) *vm {
	v := &vm{meta: s.newMeta(location{zone: zone}, "instances", name), needs: s.needs(regionOf(zone), props)}
	v.ready = true
	v.holds = s.reservationOf(zone, props)
	v.duration = seconds(schedulingOf(props).MaxRunDuration)
	v.api = s.describeVM(v, props, extra)
	s.instances.add(v)
	s.use(v, 1)
	if !s.opts.Switches.NoStaging {
		s.after(s.opts.BootTime/2, func() {
			if v.api.Status == "PROVISIONING" {
				v.api.Status = "STAGING"
			}
		})
	}
	s.after(s.opts.BootTime, func() { s.run(v) })
	return v
}

// launchMember creates the VM of a managed instance.
func (s *Server) launchMember(m *member, zone string, duration time.Duration) {
	g := m.group
	by := func(path string) *string {
		path = s.numbered(path)
		return &path
	}
	props := *g.template.api.Properties
	sched := *schedulingOf(&props)
	if duration > 0 {
		sched.MaxRunDuration = &compute.Duration{Seconds: int64(duration / time.Second), Nanos: int64(duration % time.Second)}
	}
	props.Scheduling = &sched
	extra := []*compute.MetadataItems{{Key: "created-by", Value: by(g.path)}, {Key: "google-compute-mig-resize-request", Value: by(m.request.path)}}
	v := s.launch(zone, m.name, &props, extra...)
	v.member, v.origin, v.request, v.template = m, g.path, m.request.name, g.template.path
	m.vm, m.url = v, v.link()
}

// numbered replaces the project's ID in a path by its number, as instance metadata has it.
func (s *Server) numbered(path string) string {
	return strings.Replace(path, "projects/"+s.opts.Project+"/", "projects/"+projectNumber+"/", 1)
}

// describeVM returns a new VM's record.
func (s *Server) describeVM(v *vm, props *compute.InstanceProperties, extra []*compute.MetadataItems) *compute.Instance {
	metadata := &compute.Metadata{Kind: "compute#metadata", Fingerprint: "AA=="}
	if props.Metadata != nil {
		metadata.Items = slices.Clone(props.Metadata.Items)
	}
	metadata.Items = append(metadata.Items, extra...)
	s.lastID++
	address := fmt.Sprintf("10.%d.%d.%d", 128+s.lastID>>16&127, s.lastID>>8&255, s.lastID&255)
	nets := []*compute.NetworkInterface{{Kind: "compute#networkInterface", Name: "nic0", NetworkIP: address}}
	for i, n := range props.NetworkInterfaces {
		nic := *n
		nic.Kind, nic.Name, nic.NetworkIP = "compute#networkInterface", fmt.Sprintf("nic%d", i), address
		nets = append(nets[:i], &nic)
	}
	sched := *schedulingOf(props)
	sched.ProvisioningModel = modelOf(props)
	sched.Preemptible = sched.ProvisioningModel == "SPOT"
	return &compute.Instance{
		Kind: "compute#instance", Id: v.id, Name: v.name, SelfLink: v.link(), CreationTimestamp: stamp(s.now),
		Zone: s.placeLink(v.at), Status: "PROVISIONING", Description: props.Description,
		MachineType: s.placeLink(v.at) + "/machineTypes/" + props.MachineType,
		Scheduling:  &sched, Metadata: metadata, Labels: props.Labels, Tags: props.Tags,
		NetworkInterfaces: nets, GuestAccelerators: props.GuestAccelerators, ReservationAffinity: props.ReservationAffinity,
		ServiceAccounts: props.ServiceAccounts, ResourcePolicies: props.ResourcePolicies,
		Fingerprint: "AA==", LabelFingerprint: "AA==",
		ResourceStatus: &compute.ResourceStatus{},
	}
}

// use adds (by 1) or removes (by -1) a VM in the usage of its zone or reservation and of its
// region's quotas.
func (s *Server) use(v *vm, by int) {
	if v.holds != nil {
		v.holds.used += by
	} else {
		s.placed[stock{v.at.zone, v.machineType(), v.api.Scheduling.ProvisioningModel}] += by
	}
	for metric, each := range v.needs {
		s.usage[quota{v.at.regionName(), metric}] += each * float64(by)
	}
}

// run moves a booted VM to RUNNING and starts its lease.
func (s *Server) run(v *vm) {
	if !v.booting() {
		return
	}
	v.api.Status, v.api.LastStartTimestamp = "RUNNING", stamp(s.now)
	v.api.ResourceStatus.PhysicalHostTopology, v.api.ResourceStatus.PhysicalHost = s.topology(v), s.host(v)
	if v.duration > 0 {
		s.lease(v, v.duration)
	}
	s.hook(s.opts.OnBoot, v)
}

// lease sets the end of a running VM's lease to left from now, replacing any earlier end.
func (s *Server) lease(v *vm, left time.Duration) {
	v.ends = s.now.Add(left)
	v.api.ResourceStatus.Scheduling = &compute.ResourceStatusScheduling{TerminationTimestamp: stamp(v.ends)}
	s.after(left, func() { s.expire(v) })
}

// expire deletes a VM at the end of its lease, or stops it if its termination action is STOP.
func (s *Server) expire(v *vm) {
	if !v.running() || s.now.Before(v.ends) {
		return
	}
	if v.api.Scheduling.InstanceTerminationAction == "STOP" {
		s.stop(v)
		return
	}
	if m := v.member; m != nil && !s.opts.Switches.ExpiryKeepsTargetSize {
		s.dismiss(m)
		return
	}
	if v.member != nil {
		v.member.action = "DELETING"
	}
	s.remove(v)
}

// remove deletes a VM. After DeleteTime, it calls then.
func (s *Server) remove(v *vm, then ...func()) {
	v.onGone = append(v.onGone, then...)
	if v.api.Status == "STOPPING" {
		return
	}
	s.halt(v, "STOPPING")
	s.after(s.opts.DeleteTime, func() { s.vanish(v) })
}

// stop turns a VM off.
func (s *Server) stop(v *vm) {
	s.halt(v, "TERMINATED")
	v.api.LastStopTimestamp = stamp(s.now)
}

// halt moves a VM to the given status and clears the state of a running VM.
func (s *Server) halt(v *vm, status string) {
	ran := v.running()
	v.api.Status, v.ends, v.maintained = status, time.Time{}, time.Time{}
	v.api.ResourceStatus = &compute.ResourceStatus{}
	if ran {
		s.hook(s.opts.OnDelete, v)
	}
}

// vanish removes a VM. A member not being deleted remains in its group without a VM. A request
// that was still creating the VM fails.
func (s *Server) vanish(v *vm) {
	if v.gone {
		return
	}
	s.halt(v, "STOPPING")
	v.gone = true
	s.instances.remove(v, s.now)
	s.use(v, -1)
	if m := v.member; m != nil {
		s.bereave(m)
	}
	for _, f := range v.onGone {
		f()
	}
}

// bereave updates a group after a member has lost its VM.
func (s *Server) bereave(m *member) {
	m.vm = nil
	switch {
	case m.action == "DELETING":
		delete(m.group.members, m.name)
	case m.request.active():
		s.fail(m.request, problem("CONFLICT", "Instance '%s' was deleted while it was being created.", m.name))
	case s.opts.Switches.LostInstancesLeave:
		s.dismiss(m)
	}
	s.goOnDeleting(m.group)
}
