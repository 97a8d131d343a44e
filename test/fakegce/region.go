package fakegce

import (
	"maps"
	"slices"

	"google.golang.org/api/compute/v1"
)

// placeLink returns the URL of a region or zone.
func (s *Server) placeLink(at location) string {
	return apiRoot + "projects/" + s.opts.Project + "/" + at.String()
}

// regions returns the regions of all zones.
func (s *Server) regions() []string {
	set := make(map[string]bool)
	for _, z := range s.opts.Zones {
		set[regionOf(z)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// zonesOf returns the zones of a region.
func (s *Server) zonesOf(region string) []string {
	return slices.DeleteFunc(slices.Clone(s.opts.Zones), func(z string) bool { return regionOf(z) != region })
}

func (s *Server) getRegion(c *call) (any, error) {
	name := c.at.region
	r := &compute.Region{
		Kind: "compute#region", Id: 1000 + uint64(slices.Index(s.regions(), name)), Name: name, Description: name,
		SelfLink: s.placeLink(c.at), Status: "UP", CreationTimestamp: "1969-12-31T16:00:00.000-08:00",
	}
	for _, z := range s.zonesOf(name) {
		r.Zones = append(r.Zones, s.placeLink(location{zone: z}))
	}
	for _, metric := range listedQuotas() {
		q := quota{name, metric}
		r.Quotas = append(r.Quotas, &compute.Quota{
			Metric: metric, Limit: s.shownLimit(q), Usage: s.usage[q] + float64(s.groupsOf(q)), ForceSendFields: []string{"Limit", "Usage"},
		})
	}
	return r, nil
}

// shownLimit returns a quota's limit as regions.get shows it. A quota without a limit shows a
// very large number.
func (s *Server) shownLimit(q quota) float64 {
	if limit := s.limit(q); limit >= 0 {
		return limit
	}
	return 1e6
}

func (s *Server) getZone(c *call) (any, error) {
	name := c.at.zone
	return &compute.Zone{
		Kind: "compute#zone", Id: 2000 + uint64(slices.Index(s.opts.Zones, name)), Name: name, Description: name,
		SelfLink: s.placeLink(c.at), Status: s.status(name), Region: s.placeLink(location{region: regionOf(name)}),
		CreationTimestamp: "1969-12-31T16:00:00.000-08:00",
	}, nil
}
