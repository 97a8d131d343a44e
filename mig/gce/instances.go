package gce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unique"

	"slurmflex/mig"
)

// aggregated selects the fields of an aggregated list that show whether it is complete.
// instanceFields selects the fields of an instance, except its metadata. The answers contain no
// other fields, so every field that the code reads must be listed here.
const (
	aggregated     = "kind,nextPageToken,unreachables,warning(code,message),items/*/warning(code,message)"
	instanceFields = "name,status,creationTimestamp,labels,scheduling/provisioningModel," +
		"resourceStatus(scheduling/terminationTimestamp,upcomingMaintenance/windowStartTime)"
)

// listedInstance is an instance with the fields that are read.
type listedInstance struct {
	Name              string            `json:"name"`
	Status            string            `json:"status"`
	CreationTimestamp string            `json:"creationTimestamp"`
	Labels            map[string]string `json:"labels"`
	Metadata          metadata          `json:"metadata"`
	Scheduling        struct {
		ProvisioningModel string `json:"provisioningModel"`
	} `json:"scheduling"`
	ResourceStatus struct {
		Scheduling struct {
			TerminationTimestamp string `json:"terminationTimestamp"`
		} `json:"scheduling"`
		UpcomingMaintenance struct {
			WindowStartTime string `json:"windowStartTime"`
		} `json:"upcomingMaintenance"`
	} `json:"resourceStatus"`
}

type metadata struct {
	Items []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"items"`
}

func (m listedInstance) name() string { return m.Name }

const aggregatedInstances = "instances.aggregatedList"

// Instances reads the instances in the regions. It returns the instances with the cluster's name
// and a hyphen as prefix, no matter who created them, sorted by name. An instance without a group
// gets the stamp in its labels, if that is the cluster's. Instances of groups that wait for
// capacity are left out. An instance that could be read only in part has Unread set. A region with
// any other read error is in unseen, with the reason, and none of its instances are returned.
//
// zones are all zones in which the cluster may have instances. Any other zone may be unreachable,
// unless instances were seen in it before. If the aggregated list fails, these zones are listed one
// by one. A region without any zone in zones must be read completely, or it is unseen.
func (c *Client) Instances(ctx context.Context, cluster string, regions []string, zones ...string) (instances []mig.Instance, unseen map[string]error) {
	now := time.Now()
	v := c.viewOf(cluster, regions, zones, now)
	why := c.outages.apart(now)
	if len(v.zones) == 0 {
		why = nil
	}
	var err error
	if why == nil {
		err = c.readTogether(ctx, v)
		if len(v.zones) > 0 && mayListApart(ctx, err) {
			c.tellApart(err)
			why = err
			v = c.viewOf(cluster, regions, zones, now)
		}
		if err == nil || why != nil {
			c.outages.noteTogether(why, now)
		}
	}
	if why != nil {
		err = nil
		c.readApart(ctx, v, why)
	}
	if err == nil {
		v.said.end()
		err = c.findMakers(ctx, v)
	}
	if err == nil {
		c.outages.noteUsed(cluster, v.used(), v.isUnread)
	}
	unseen = make(map[string]error)
	for region, seen := range v.seen {
		if miss := cmp.Or(err, v.missed[region]); miss != nil {
			unseen[region] = failure("list instances of", region, reading, miss)
			continue
		}
		c.makers.note(region, seen, c.settled.has, now)
		if there := settle(seen); instances == nil {
			instances = there
		} else {
			instances = append(instances, there...)
		}
	}
	slices.SortFunc(instances, func(a, b mig.Instance) int { return strings.Compare(a.Name, b.Name) })
	return instances, unseen
}

// viewOf returns an empty view of the regions.
func (c *Client) viewOf(cluster string, regions, zones []string, now time.Time) *view {
	v := &view{
		cluster: cluster, seen: make(map[string][]sighting), zones: make(map[string][]string), missed: make(map[string]error),
		missedZones: make(map[string]bool), said: c.said.instances.begin(cluster), told: !c.makers.any(),
	}
	for _, region := range regions {
		v.seen[region] = nil
	}
	for _, zone := range zones {
		v.use(zone)
	}
	if len(zones) > 0 {
		for _, zone := range c.outages.usedBy(cluster) {
			if len(v.zones[mig.RegionOf(zone)]) > 0 {
				v.use(zone)
			}
		}
	}
	v.made = func(id machineID) (string, bool) { return c.makers.of(id, now) }
	return v
}

// findMakers reads the unknown groups of listed machines. A machine that is missing from this
// second list may be gone, so it is marked unread: slurmflex must not act on it.
func (c *Client) findMakers(ctx context.Context, v *view) error {
	var names []string
	for _, seen := range v.seen {
		for _, s := range seen {
			if !s.known {
				names = append(names, s.Name)
			}
		}
	}
	if v.told || len(names) == 0 {
		return nil
	}
	var found map[machineID]trace
	if v.apart {
		found = c.findMakersApart(ctx, v)
	} else {
		var err error
		if found, err = c.readMakers(calling(ctx, aggregatedInstances), v.cluster, names, v.pages); err != nil {
			return err
		}
	}
	for _, seen := range v.seen {
		for i := range seen {
			if s := &seen[i]; !s.known {
				from, listed := found[s.id]
				if !listed {
					from.unread = "metadata: not listed"
				}
				s.learn(from)
			}
		}
	}
	return nil
}

// waitsForCapacity is the status of a flex-start instance without a machine at Compute. Its waiting
// time does not count as boot time, and the group's request names it. Source: discovery document,
// Instance.status.
const waitsForCapacity = "PENDING"

// view collects what the pages read so far show of the requested regions.
type view struct {
	cluster string                         // filters the names
	seen    map[string][]sighting          // by region; its keys are the requested regions
	zones   map[string][]string            // by region: where the cluster may have instances; none: anywhere
	missed  map[string]error               // by region: why its list is incomplete
	apart   bool                           // it was read from the zones' own lists
	pages   int                            // of the list so far
	told    bool                           // the list contains the instances' metadata
	made    func(machineID) (string, bool) // the group of an instance, if known
	said    *saying[*shown]

	missedZones map[string]bool // zones with incomplete lists
}

// fields returns the selection of an instance's fields.
func (v *view) fields() string {
	if v.told {
		return instanceFields + ",metadata/items"
	}
	return instanceFields
}

// use adds a zone in which the cluster may have instances, if its region was requested.
func (v *view) use(zone string) {
	region := mig.RegionOf(zone)
	if _, asked := v.seen[region]; asked && !slices.Contains(v.zones[region], zone) {
		v.zones[region] = append(v.zones[region], zone)
	}
}

// miss records why a zone could not be read. If the cluster may have instances in the zone, its
// region is missed, too.
func (v *view) miss(region, zone string, err error) {
	v.missedZones[zone] = true
	zones := v.zones[region]
	if len(zones) == 0 || slices.Contains(zones, zone) || zone == region || errors.Is(err, errNameless) {
		v.missed[region] = err
	}
}

// isUnread reports whether a zone or its region could not be read or was not requested.
func (v *view) isUnread(zone string) bool {
	region := mig.RegionOf(zone)
	_, asked := v.seen[region]
	return !asked || v.missed[region] != nil || v.missedZones[zone]
}

// used returns the zones that have instances.
func (v *view) used() map[string]bool {
	zones := map[string]bool{}
	for _, seen := range v.seen {
		for _, s := range seen {
			zones[s.Zone] = true
		}
	}
	return zones
}

// shown is the content of an instance's own record in a list. It is immutable.
type shown struct {
	mig.Instance
	id    machineID
	stamp mig.Stamp // from its labels, if it is the cluster's
}

// sighting is a listed instance and its group.
type sighting struct {
	*shown
	group  string
	known  bool   // its group is known
	asked  bool   // its group was just read
	unread string // why its group is unknown
}

// learn sets the group from the instance's metadata.
func (s *sighting) learn(from trace) {
	s.group, s.unread = from.group, from.unread
	s.known, s.asked = s.unread == "", s.unread == ""
}

// instance returns the sighting as an instance.
func (s *sighting) instance() mig.Instance {
	in := s.Instance
	in.Group, in.Unread = s.group, cmp.Or(in.Unread, s.unread)
	if in.Group == "" {
		in.Stamp = s.stamp
	}
	return in
}

// settle returns the instances without duplicates, sorted by name and zone.
func settle(seen []sighting) []mig.Instance {
	slices.SortStableFunc(seen, func(a, b sighting) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Zone, b.Zone))
	})
	there := make([]mig.Instance, 0, len(seen))
	for i := range seen {
		s := &seen[i]
		if s.group != "" && s.Status == waitsForCapacity {
			continue
		}
		in := s.instance()
		if n := len(there); n > 0 && there[n-1].Name == s.Name && there[n-1].Zone == s.Zone {
			if !reflect.DeepEqual(there[n-1], in) {
				there[n-1].Unread = contradiction
			}
			continue
		}
		there = append(there, in)
	}
	return there
}

// add reads a page's fields other than its items. Its error affects all regions.
func (v *view) add(p head) error {
	v.pages++
	for _, scope := range p.unreachables {
		region, ok := regionOfScope(scope)
		err := fmt.Errorf("incomplete answer: unreachable: %s", scope)
		if !ok {
			return err
		}
		v.miss(region, path.Base(scope), err)
	}
	return nil
}

// addItems reads the items of a page.
func (v *view) addItems(s *stream) error {
	return eachZone(s, func(region, zone string) error {
		_, asked := v.seen[region]
		missed, err := readZone(s, func(text []byte) error {
			if !asked {
				return nil
			}
			return v.addInstance(region, zone, text)
		})
		if missed != nil {
			v.miss(region, zone, &zoneError{zone, missed})
		}
		return err
	})
}

// eachZone calls each for every scope of the zonal aggregated list that comes next; each must read
// the scope's value.
func eachZone(s *stream, each func(region, zone string) error) error {
	return s.members(func(scope string) error {
		region, ok := regionOfScope(scope)
		if !ok {
			return fmt.Errorf("answer not understood: instances in %q, not a zone", scope)
		}
		return each(region, path.Base(scope))
	})
}

// readZone calls each with the text of every instance in the zone that comes next. It returns the
// reason if the zone's list is incomplete.
func readZone(s *stream, each func(text []byte) error) (missed, err error) {
	err = s.members(func(key string) error {
		switch key {
		case "instances":
			err := eachText(s, each)
			if errors.Is(err, errNameless) {
				missed, err = err, nil
			}
			return err
		case "warning":
			var w *warning
			err := s.read(&w)
			missed = cmp.Or(missed, incomplete(w))
			return err
		}
		s.next()
		return nil
	})
	return missed, err
}

func (v *view) addInstance(region, zone string, text []byte) error {
	var from trace
	one, err := v.said.row(zone, text, func() (*shown, bool, error) {
		m, wrong, err := readRow[listedInstance](text)
		from = traceOf(m, region, only(wrong, "metadata"))
		seen := v.shownBy(m, region, zone, wrong)
		return seen, len(wrong) == 0 && !v.told, err
	})
	if err != nil || !strings.HasPrefix(one.Name, v.cluster+"-") {
		return err
	}
	s := sighting{shown: one}
	if v.told {
		s.learn(from)
	} else {
		s.group, s.known = v.made(s.id)
	}
	v.seen[region] = append(v.seen[region], s)
	return nil
}

func (v *view) shownBy(m listedInstance, region, zone string, wrong faulty) *shown {
	s := &shown{Instance: instanceOf(m, region, zone, wrong), id: idOf(zone, m)}
	if stamp, ok := mig.StampOfLabels(m.Labels); ok && stamp.Cluster == v.cluster {
		s.stamp = stamp
	}
	return s
}

// only returns the faults of one field.
func only(wrong faulty, field string) faulty {
	one := faulty{}
	one.note(field, wrong[field])
	return one
}

// instanceOf returns the instance with all fields that can be read.
func instanceOf(m listedInstance, region, zone string, wrong faulty) mig.Instance {
	created, err := timeOf(m.CreationTimestamp)
	wrong.note("creationTimestamp", err)
	if m.Status == "" {
		wrong.note("status", errors.New("it is missing"))
	}
	in := mig.Instance{
		Name: m.Name, Zone: zone, Region: region,
		Status:  once(m.Status),
		Created: created,
		Model:   once(m.Scheduling.ProvisioningModel),
	}
	if end := m.ResourceStatus.Scheduling.TerminationTimestamp; end != "" {
		in.Terminates, err = timeOf(end)
		wrong.note("terminationTimestamp", err)
		if !mayEnd(in, in.Terminates) {
			in.Terminates = time.Time{}
		}
	}
	in.Maintained = maintenanceOf(m, in)
	in.Unread = wrong.String()
	return in
}

// once returns a canonical copy of a text that many instances share, to save memory.
func once(text string) string { return unique.Make(text).Value() }

// maintenanceOf returns the start of announced maintenance of the instance's host, or zero if none
// is announced that can end the instance. An unreadable window is ignored, because it is no reason
// to leave the instance alone.
func maintenanceOf(m listedInstance, in mig.Instance) time.Time {
	begins, err := timeOf(m.ResourceStatus.UpcomingMaintenance.WindowStartTime)
	if err != nil || !mayEnd(in, begins) {
		return time.Time{}
	}
	return begins
}

// startDelay is the longest time from an instance's creation until it runs, which is when its lease
// starts.
const startDelay = 24 * time.Hour

// mayEnd reports whether the instance can end at that time, by its lease or for maintenance. Any
// other time, such as the year 9999, counts as unknown. Only flex-start has a longest lease: other
// instances run for months.
func mayEnd(in mig.Instance, at time.Time) bool {
	return !at.Before(in.Created) && at.Year() < endOfTime &&
		(in.Model != mig.FlexStart || !at.After(in.Created.Add(mig.MaxDuration+startDelay)))
}

// groupThatMade returns the region's regional group that created the instance; empty if none did.
func groupThatMade(m metadata, region string) string {
	for _, item := range m.Items {
		if item.Key != "created-by" {
			continue
		}
		// projects/<number>/regions/<region>/instanceGroupManagers/<name>
		p := strings.Split(item.Value, "/")
		if len(p) == 6 && p[0] == "projects" && p[2] == "regions" && p[3] == region && p[4] == "instanceGroupManagers" {
			return p[5]
		}
	}
	return ""
}
