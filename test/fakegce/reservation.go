package fakegce

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// reservation is a number of machines that Compute holds for the VMs that name the
// reservation.
type reservation struct {
	machineType string
	count, used int
}

// held identifies a reservation by zone and name.
type held struct{ zone, name string }

// SetReservation creates or resizes a reservation of n machines in a zone. Only VMs that name
// the reservation consume it, and they use none of the zone's capacity. The name of another
// project's reservation is projects/PROJECT/reservations/NAME.
func (s *Server) SetReservation(name, zone, machineType string, n int) (err error) {
	m, known := s.machine[machineType]
	switch {
	case name == "" || n < 0:
		return fmt.Errorf("set reservation %q: it must have a name, and 0 machines or more", name)
	case !slices.Contains(s.opts.Zones, zone):
		return fmt.Errorf("set reservation %s: unknown zone %q", name, zone)
	case !known:
		return fmt.Errorf("set reservation %s: unknown machine type %q", name, machineType)
	}
	s.do(func() {
		at := s.heldAt(zone, name)
		r := s.reserved[at]
		if r == nil {
			r = &reservation{machineType: machineType}
			s.reserved[at] = r
		}
		if r.machineType != machineType {
			err = fmt.Errorf("set reservation %s: it is of %s", name, r.machineType)
			return
		}
		if !strings.Contains(at.name, "/") { // another project's GPUs count against that project
			s.usage[quota{regionOf(zone), gpuMetrics()[m.gpu]}] += float64(m.gpus) * float64(n-r.count)
		}
		r.count = n
	})
	return err
}

// heldAt returns the identity of the reservation that a VM in a zone names.
func (s *Server) heldAt(zone, name string) held {
	return held{zone, strings.TrimPrefix(name, "projects/"+s.opts.Project+"/reservations/")}
}

// namesReservation reports whether VMs with these properties name the reservation that they
// consume.
func namesReservation(props *compute.InstanceProperties) bool { return affinityFault(props) == "" }

// affinityFault returns what a VM's properties lack to name a reservation, or "".
func affinityFault(props *compute.InstanceProperties) string {
	affinity := props.ReservationAffinity
	switch {
	case affinity == nil || affinity.ConsumeReservationType != "SPECIFIC_RESERVATION":
		return "reservationAffinity.consumeReservationType SPECIFIC_RESERVATION"
	case affinity.Key != "compute.googleapis.com/reservation-name" || len(affinity.Values) != 1 || slices.Contains(affinity.Values, ""):
		return "reservationAffinity that names one reservation"
	}
	return ""
}

// reservationOf returns the reservation that a VM with these properties consumes in a zone, or
// nil.
func (s *Server) reservationOf(zone string, props *compute.InstanceProperties) *reservation {
	if !namesReservation(props) {
		return nil
	}
	return s.reserved[s.heldAt(zone, props.ReservationAffinity.Values[0])]
}

// reservedFree returns how many more VMs with these properties fit into the reservation that
// they name in a zone, and why no more fit. Source: SkyPilot (pull request 2352) saw the code
// and the last text at the end of an operation; Kubernetes' cluster-autoscaler saw all three
// texts on managed instances (its test of FetchMigInstances).
func (s *Server) reservedFree(zone string, props *compute.InstanceProperties) (n int, p *Problem) {
	at := s.heldAt(zone, props.ReservationAffinity.Values[0])
	path := at.name
	if !strings.Contains(path, "/") {
		path = "projects/" + projectNumber + "/reservations/" + path
	}
	r := s.reserved[at]
	switch {
	case r == nil:
		return 0, problem("CONDITION_NOT_MET", "Specified reservations [%s] do not exist.", path)
	case r.machineType != props.MachineType:
		return 0, problem("CONDITION_NOT_MET", "No available resources in specified reservations '%s'", path)
	}
	return max(r.count-r.used, 0), problem("CONDITION_NOT_MET", "Specified reservation '%s' does not have available resources for the request.", path)
}

// reservedZones returns those zones that hold the reservation named by these properties, or
// all zones if none is named. Source: bulkInsert refuses in this form a reservation that the
// call may not name (SkyPilot's issue 3327). That it refuses a missing reservation, or one of
// another machine type, in the same way is inferred; the choice among a region's zones is
// inferred, too.
func (s *Server) reservedZones(zones []string, props *compute.InstanceProperties) ([]string, error) {
	if !namesReservation(props) {
		return zones, nil
	}
	var fit []string
	for _, zone := range zones {
		if r := s.reservationOf(zone, props); r != nil && r.machineType == props.MachineType {
			fit = append(fit, zone)
		}
	}
	if len(fit) == 0 {
		_, p := s.reservedFree(zones[0], props)
		return nil, invalid(`Invalid value for field 'resource.instanceProperties.reservationAffinity': '{  "consumeReservationType": "SPECIFIC_ALLOCATION",  "key": "compute.googleapis.com/reservation-name...'. %s`, p.Message)
	}
	return fit, nil
}
