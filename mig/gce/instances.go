package gce

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	rest "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"slurmflex/mig"
)

// instanceFields selects the fields of an instance list, except the instances' metadata. The answers
// contain no other fields, so every field that the code reads must be listed here.
const (
	instanceFields = listFields + ",items(name,status,creationTimestamp,labels,scheduling/provisioningModel," +
		"resourceStatus(physicalHost,scheduling/terminationTimestamp,upcomingMaintenance/windowStartTime))"
	listFields = "kind,nextPageToken,warning(code,message)"
)

// Instances reads the instances in the regions. It returns the instances with the cluster's name
// and a hyphen as prefix, no matter who created them, sorted by name. An instance without a group
// gets the stamp in its labels, if that is the cluster's. Instances of groups that wait for
// capacity are left out. An instance whose group could not be read has Unread set. A region with
// any other read error is in unseen, with the reason, and none of its instances are returned.
//
// zones are all zones in which the cluster may have instances. All zones of the regions are listed,
// but only an unread zone in which the cluster has instances, or may have, makes its region unseen.
// A region without any zone in zones must be read completely.
func (c *Client) Instances(ctx context.Context, cluster string, regions []string, zones ...string) (instances []mig.Instance, unseen map[string]error) {
	instances, unseen = perRegion(regions, func(region string) ([]mig.Instance, error) {
		used := slices.DeleteFunc(slices.Clone(zones), func(zone string) bool { return mig.RegionOf(zone) != region })
		return c.instancesIn(ctx, cluster, region, used)
	})
	slices.SortFunc(instances, func(a, b mig.Instance) int { return strings.Compare(a.Name, b.Name) })
	return instances, unseen
}

// instancesIn reads the instances in the zones of a region, side by side. used are the zones that
// must be read; none: all.
func (c *Client) instancesIn(ctx context.Context, cluster, region string, used []string) ([]mig.Instance, error) {
	const op = "list instances of"
	zones, err := c.knownZones(ctx, region, len(used) == 0)
	if err != nil {
		return nil, failure(op, region, reading, err)
	}
	if len(used) == 0 {
		used = zones
	}
	used = append(used, c.makers.zonesWithMachines(region)...)
	zones = slices.Compact(slices.Sorted(slices.Values(slices.Concat(used, zones))))
	found, errs := make([][]mig.Instance, len(zones)), make([]error, len(zones))
	var side errgroup.Group
	side.SetLimit(sideBySide)
	for i, zone := range zones {
		side.Go(func() error {
			errs[i] = c.outages.read(ctx, zone, slices.Contains(used, zone), func(ctx context.Context) (err error) {
				found[i], err = c.instancesInZone(ctx, cluster, region, zone)
				return err
			})
			return nil
		})
	}
	_ = side.Wait()
	for i, zone := range zones {
		if errs[i] != nil {
			return nil, failure(op, region+": zone "+zone, reading, errs[i])
		}
	}
	return slices.Concat(found...), nil
}

// sighting is an instance in the list of its zone.
type sighting struct {
	mig.Instance // with the stamp in its labels, even if it has a group
	id           machineID
	known        bool // its group is known
	asked        bool // its group was just read
}

// waitsForCapacity is the status of a flex-start instance without a machine at Compute. Its waiting
// time does not count as boot time, and the group's request names it. Source: discovery document,
// Instance.status.
const waitsForCapacity = "PENDING"

// instancesInZone reads the cluster's instances in a zone. The list contains their metadata only if
// no instance of the zone is known; see makers.
func (c *Client) instancesInZone(ctx context.Context, cluster, region, zone string) ([]mig.Instance, error) {
	now, fields, before := time.Now(), instanceFields, c.makers.in(zone)
	if len(before) == 0 {
		fields += "," + makerFields
	}
	var seen distinct[sighting]
	pages, err := c.listInstances(ctx, zone, namesOf(cluster), fields, func(m *rest.Instance) error {
		s, err := sightingOf(m, cluster, region, zone)
		if err != nil || !strings.HasPrefix(m.Name, cluster+"-") {
			return err
		}
		if len(before) == 0 {
			s.Group, s.known, s.asked = groupThatMade(m.Metadata, region), true, true
		} else if maker, ok := before[s.id]; ok && (maker.until.IsZero() || now.Before(maker.until)) {
			s.Group, s.known = maker.group, true
		}
		return seen.add(m.Name, s)
	})
	if err == nil {
		err = c.findMakers(ctx, cluster, region, zone, seen.all, pages)
	}
	if err != nil {
		return nil, err
	}
	c.makers.note(zone, seen.all, c.settled.has, now)
	instances := make([]mig.Instance, 0, len(seen.all))
	for _, s := range seen.all {
		if s.Group != "" {
			if s.Status == waitsForCapacity {
				continue
			}
			s.Stamp = mig.Stamp{}
		}
		instances = append(instances, s.Instance)
	}
	return instances, nil
}

// listInstances calls each for the instances in a zone that the filter selects, and returns the
// number of pages.
func (c *Client) listInstances(ctx context.Context, zone, filter, fields string, each func(*rest.Instance) error) (int, error) {
	var all pages
	call := c.rest().Instances.List(c.project, zone).Filter(filter).Fields(googleapi.Field(fields)).MaxResults(pageSize)
	err := call.Pages(calling(ctx, "instances.list"), func(l *rest.InstanceList) error {
		return eachRecord(&all, page{l.Kind, l.NextPageToken, l.Warning, nil}, l.Items, each)
	})
	return all.read, err
}

// sightingOf returns a listed instance without its group.
func sightingOf(m *rest.Instance, cluster, region, zone string) (s sighting, err error) {
	s.id = machineID{m.Name, m.CreationTimestamp}
	s.Instance = mig.Instance{Name: m.Name, Zone: zone, Region: region, Status: m.Status}
	if s.Created, err = createdAt(m.Name, m.CreationTimestamp); err != nil {
		return s, err
	}
	if m.Status == "" {
		return s, fmt.Errorf("answer not understood: %s: status: it is missing", m.Name)
	}
	if m.Scheduling != nil {
		s.Model = m.Scheduling.ProvisioningModel
	}
	if stamp, ok := mig.StampOfLabels(m.Labels); ok && stamp.Cluster == cluster {
		s.Stamp = stamp
	}
	if m.ResourceStatus != nil {
		err = s.learn(m.ResourceStatus)
	}
	return s, err
}

// learn sets what Compute knows about an instance that runs.
func (s *sighting) learn(is *rest.ResourceStatus) (err error) {
	s.Host = is.PhysicalHost
	if is.Scheduling != nil && is.Scheduling.TerminationTimestamp != "" {
		end, err := timeOf(s.Name, "terminationTimestamp", is.Scheduling.TerminationTimestamp)
		if err != nil {
			return err
		}
		if mayEnd(s.Instance, end) {
			s.Terminates = end
		}
	}
	// An unreadable window is ignored, because it is no reason to leave the instance alone.
	if soon := is.UpcomingMaintenance; soon != nil {
		if begins, err := timeOf(s.Name, "windowStartTime", soon.WindowStartTime); err == nil && mayEnd(s.Instance, begins) {
			s.Maintained = begins
		}
	}
	return nil
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
