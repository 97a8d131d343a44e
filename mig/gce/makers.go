package gce

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	rest "google.golang.org/api/compute/v1"

	"slurmflex/mig"
)

const (
	// strangerAge is how old a machine must be before slurmflex concludes that no group of the
	// cluster created it, and how long that conclusion holds: a list may show a machine before its
	// group or its metadata.
	strangerAge = 5 * time.Minute

	// namesAtOnce bounds the names in a filter, because the filter is part of a call's URL.
	namesAtOnce = 100

	// makerFields selects the part of an instance that names its group.
	makerFields = "items/metadata/items"
)

// makers caches the group of each machine. The group's name is in the machine's metadata, which
// never changes, but which Compute sends completely or not at all, including startup scripts of any
// size. So slurmflex reads the metadata only of machines with an unknown group.
//
// A group could label its machines by an all-instances configuration, but groups with resize
// requests do not support these. Source: Compute's documentation "About resize requests in a MIG".
type makers struct {
	known sync.Map // the machines in the last list of each zone that had any: a map[machineID]maker by zone
}

// machineID identifies a machine in its zone, even among later machines of the same name.
type machineID struct{ name, created string }

// maker is the regional group that created a machine, in the machine's region; empty if none did.
type maker struct {
	group string
	until time.Time // when to read the group again; zero: never
}

// in returns the machines in the zone's last list.
func (k *makers) in(zone string) map[machineID]maker {
	known, _ := k.known.Load(zone)
	machines, _ := known.(map[machineID]maker)
	return machines
}

// zonesWithMachines returns the region's zones whose last list had machines.
func (k *makers) zonesWithMachines(region string) (zones []string) {
	for zone := range k.known.Range {
		if zone := zone.(string); mig.RegionOf(zone) == region {
			zones = append(zones, zone)
		}
	}
	return zones
}

// note records the groups of a zone's listed machines and forgets the zone's other machines. ours
// reports whether a group belongs to the cluster.
func (k *makers) note(zone string, listed []sighting, ours func(mig.GroupID) bool, now time.Time) {
	before, known := k.in(zone), make(map[machineID]maker, len(listed))
	for _, s := range listed {
		switch {
		case s.known && !s.asked:
			known[s.id] = before[s.id]
		case s.asked && ours(s.GroupID()):
			known[s.id] = maker{group: s.Group}
		case s.asked && now.Sub(s.Created) > strangerAge:
			known[s.id] = maker{s.Group, now.Add(strangerAge)}
		default: // the next list asks again
			known[s.id] = maker{until: now}
		}
	}
	if k.known.Store(zone, known); len(known) == 0 {
		k.known.Delete(zone)
	}
}

// findMakers reads the unknown groups of a zone's machines: by name if that takes fewer calls than
// the zone's whole list, which had pages pages. A machine that is missing from this second list may
// be gone, so it is marked unread: slurmflex must not act on it.
func (c *Client) findMakers(ctx context.Context, cluster, region, zone string, seen []sighting, pages int) error {
	var names []string
	for _, s := range seen {
		if !s.known {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	var filters []string
	for some := range slices.Chunk(names, namesAtOnce) {
		filters = append(filters, anyName(some))
	}
	if len(filters) > pages {
		filters = []string{namesOf(cluster)}
	}
	groups := map[machineID]string{}
	for _, filter := range filters {
		fields := listFields + ",items(name,creationTimestamp)," + makerFields
		_, err := c.listInstances(ctx, zone, filter, fields, func(m *rest.Instance) error {
			groups[machineID{m.Name, m.CreationTimestamp}] = groupThatMade(m.Metadata, region)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range seen {
		s := &seen[i]
		if s.known {
			continue
		}
		if s.Group, s.known = groups[s.id]; s.known {
			s.asked = true
		} else {
			s.Unread = "metadata: not listed"
		}
	}
	return nil
}

// groupThatMade returns the region's regional group that created an instance with this metadata;
// empty if none did.
func groupThatMade(m *rest.Metadata, region string) string {
	if m == nil {
		return ""
	}
	for _, item := range given(m.Items) {
		if item.Key != "created-by" || item.Value == nil {
			continue
		}
		// projects/<number>/regions/<region>/instanceGroupManagers/<name>
		p := strings.Split(*item.Value, "/")
		if len(p) == 6 && p[0] == "projects" && p[2] == "regions" && p[3] == region && p[4] == "instanceGroupManagers" {
			return p[5]
		}
	}
	return ""
}

// anyName returns the filter for these names.
func anyName(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return `name eq "(` + strings.Join(quoted, "|") + `)"`
}
