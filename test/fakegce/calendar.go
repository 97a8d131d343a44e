package fakegce

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
)

// Limits of a future reservation in calendar mode. Source: Compute's page "Create a
// future reservation request in calendar mode".
const (
	minReserved  = 24 * time.Hour
	maxReserved  = 90 * 24 * time.Hour
	maxReservedN = 80  // machines with GPUs
	maxReservedH = 256 // H4D machines
)

// secondsText is a duration as Google writes it in a text.
var secondsText = regexp.MustCompile(`^[0-9]+(\.[0-9]{1,9})?s$`)

// calendar is what a call of advice.calendarMode asks for.
type calendar struct {
	machineType     string
	count           int64
	earliest        time.Time
	shortest        time.Duration
	longest         time.Duration
	denied          map[string]bool // zones
	wrongWindow     string          // what of the time range no reservation can have; "" is nothing
	accelerators    bool            // TPUs, which this fake has nowhere
	specificMachine machine
}

// adviseCalendar recommends a zone and a time for a future reservation. Capacity
// does not change with time here: a zone has room at the earliest start or never.
func (s *Server) adviseCalendar(c *call) (any, error) {
	spec := new(compute.CalendarModeAdviceRequest)
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	if len(spec.FutureResourcesSpecs) != 1 {
		return nil, invalid("Invalid value for field 'resource.futureResourcesSpecs'. It has %d values, and must have 1.", len(spec.FutureResourcesSpecs))
	}
	answer := make(map[string]compute.FutureResourcesRecommendation)
	for key, one := range spec.FutureResourcesSpecs {
		want, err := s.readCalendar(c.at.region, "resource.futureResourcesSpecs."+key, &one)
		if err != nil {
			return nil, err
		}
		answer[key] = s.reservable(c.at.region, want)
	}
	return &compute.CalendarModeAdviceResponse{
		Recommendations: []*compute.CalendarModeRecommendation{{RecommendationsPerSpec: answer}},
	}, nil
}

func (s *Server) readCalendar(region, at string, spec *compute.FutureResourcesSpec) (calendar, error) {
	var want calendar
	target := spec.TargetResources
	switch {
	case target == nil || target.SpecificSkuResources == nil && target.AggregateResources == nil:
		return want, required(at + ".targetResources")
	case target.SpecificSkuResources != nil && target.AggregateResources != nil:
		return want, invalid("Invalid value for field '%s.targetResources'. It has both specificSkuResources and aggregateResources.", at)
	case target.AggregateResources != nil:
		want.accelerators, want.count = true, target.AggregateResources.AcceleratorCount
	default:
		want.machineType, want.count = target.SpecificSkuResources.MachineType, target.SpecificSkuResources.InstanceCount
		m, known := s.machine[want.machineType]
		if !known {
			return want, invalid("Invalid value for field '%s.targetResources.specificSkuResources.machineType': '%s'. The machine type does not exist.", at, want.machineType)
		}
		want.specificMachine = m
	}
	if want.count < 1 {
		return want, invalid("Invalid value for field '%s.targetResources': the count '%d' must be at least 1.", at, want.count)
	}
	if err := s.readWindow(at+".timeRangeSpec", spec.TimeRangeSpec, &want); err != nil {
		return want, err
	}
	want.denied = make(map[string]bool)
	if spec.LocationPolicy == nil {
		return want, nil
	}
	for ref, location := range spec.LocationPolicy.Locations {
		zone, ok := strings.CutPrefix(ref, "zones/")
		if !ok || s.knownRegionOf(zone) != region {
			return want, invalid("Invalid value for field '%s.locationPolicy.locations': '%s'. It is not a zone of region '%s'.", at, ref, region)
		}
		want.denied[zone] = location.Preference == "DENY"
	}
	return want, nil
}

// knownRegionOf is the region of a zone that is there, or "".
func (s *Server) knownRegionOf(zone string) string {
	for _, z := range s.opts.Zones {
		if z == zone {
			return regionOf(zone)
		}
	}
	return ""
}

// readWindow reads a time range. One that no time fits is refused; one that is
// shorter or longer than a reservation may be gets no recommendation.
func (s *Server) readWindow(at string, r *compute.FlexibleTimeRange, want *calendar) error {
	if r == nil {
		return required(at)
	}
	latest := time.Time{}
	for _, f := range []struct {
		name, text string
		to         *time.Time
	}{{"startTimeNotEarlierThan", r.StartTimeNotEarlierThan, &want.earliest}, {"startTimeNotLaterThan", r.StartTimeNotLaterThan, &latest}} {
		if f.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, f.text)
		if err != nil {
			return invalid("Invalid value for field '%s.%s': '%s'. It is not a time of RFC 3339.", at, f.name, f.text)
		}
		*f.to = t
	}
	for _, f := range []struct {
		name, text string
		to         *time.Duration
	}{{"minDuration", r.MinDuration, &want.shortest}, {"maxDuration", r.MaxDuration, &want.longest}} {
		if f.text == "" {
			continue
		}
		d, err := time.ParseDuration(f.text)
		if err != nil || d <= 0 || !secondsText.MatchString(f.text) {
			return invalid("Invalid value for field '%s.%s': '%s'. It is not a duration in seconds, such as 86400s.", at, f.name, f.text)
		}
		*f.to = d
	}
	if want.longest == 0 {
		want.longest = max(want.shortest, maxReserved)
	}
	if want.earliest.Before(s.now) {
		want.earliest = s.now
	}
	if want.shortest > want.longest || !latest.IsZero() && latest.Before(want.earliest) {
		return invalid("Invalid value for field '%s'. No time range fits it.", at)
	}
	if want.longest < minReserved || want.shortest > maxReserved {
		want.wrongWindow = fmt.Sprintf("A reservation lasts from %.0f to %.0f days.", minReserved.Hours()/24, maxReserved.Hours()/24)
	}
	return nil
}

// reservable is the recommendation: the first zone that has room, and what is the
// matter with each other one.
func (s *Server) reservable(region string, want calendar) compute.FutureResourcesRecommendation {
	s.lastID++
	r := compute.FutureResourcesRecommendation{
		RecommendationType: "FUTURE_RESERVATION",
		RecommendationId:   fmt.Sprintf("00000000-0000-4000-8000-%012x", s.lastID),
		OtherLocations:     make(map[string]compute.FutureResourcesRecommendationOtherLocation),
	}
	for _, zone := range s.zonesOf(region) {
		if want.denied[zone] {
			continue
		}
		status, details := s.reservableIn(zone, want)
		if status == "RECOMMENDED" && r.Location == "" {
			r.Location = "zones/" + zone
			r.StartTime = want.earliest.UTC().Format(time.RFC3339)
			r.EndTime = want.earliest.Add(min(want.longest, maxReserved)).UTC().Format(time.RFC3339)
			continue
		}
		r.OtherLocations["zones/"+zone] = compute.FutureResourcesRecommendationOtherLocation{Status: status, Details: details}
	}
	return r
}

// reservableIn is a zone's status in a recommendation, and its details.
func (s *Server) reservableIn(zone string, want calendar) (status, details string) {
	m, most := want.specificMachine, int64(maxReservedN)
	if strings.HasPrefix(m.name, "h4d-") {
		most = maxReservedH
	}
	switch {
	case want.accelerators, m.gpu == "" && most == maxReservedN, s.withdrawn[spot{zone, m.name}]:
		return "NOT_SUPPORTED", "The resources cannot be reserved in this zone."
	case want.wrongWindow != "":
		return "CONDITIONS_NOT_MET", want.wrongWindow
	case want.count > most:
		return "CONDITIONS_NOT_MET", fmt.Sprintf("A reservation has at most %d machines of this type.", most)
	}
	if free := s.free(stock{zone, m.name, "RESERVATION_BOUND"}); s.closed[zone] || s.dead[zone] || free >= 0 && int64(free) < want.count {
		return "NO_CAPACITY", "There is no capacity in the requested time window."
	}
	return "RECOMMENDED", ""
}
