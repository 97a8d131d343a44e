package gce

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"

	"slurmflex/mig"
)

// Instances reads the instances of the regions whose names begin with the
// cluster's and a hyphen, whoever made them, sorted by name. One that no group
// made has the stamp of its labels, if that is the cluster's. Those of groups that
// wait for capacity are left out. A region of which anything could not be read is in
// unseen, with the reason, and none of its instances are returned.
func (c *Client) Instances(ctx context.Context, cluster string, regions []string) (instances []mig.Instance, unseen map[string]error) {
	v := view{cluster: cluster, seen: make(map[string][]mig.Instance), missed: make(map[string]error)}
	for _, region := range regions {
		v.seen[region] = nil
	}
	var p computepb.InstanceAggregatedList
	query := url.Values{"filter": {namesOf(cluster)}}
	err := c.readAll(calling(ctx, "instances.aggregatedList"), "aggregated/instances", query, &p, func() error {
		return v.add(&p)
	})
	unseen = make(map[string]error)
	for region, found := range v.seen {
		if miss := cmp.Or(err, v.missed[region]); miss != nil {
			unseen[region] = failure("list instances of", region, reading, miss)
			continue
		}
		instances = append(instances, found...)
	}
	slices.SortFunc(instances, func(a, b mig.Instance) int { return strings.Compare(a.Name, b.Name) })
	return instances, unseen
}

// waitsForCapacity is the status of a flex-start instance that Compute has no
// machine for yet: the time that it waits is no time to boot, and the group's
// request tells of it. Source: discovery document, Instance.status.
const waitsForCapacity = "PENDING"

// view is what the pages read so far show of the regions asked for.
type view struct {
	cluster string                    // whose names count
	seen    map[string][]mig.Instance // by region; its keys are the regions asked for
	missed  map[string]error          // by region: why what was seen is not all
}

// add takes in a page. Its error concerns all regions.
func (v *view) add(p *computepb.InstanceAggregatedList) error {
	for _, scope := range p.GetUnreachables() {
		region, ok := regionOfScope(scope)
		if !ok {
			return fmt.Errorf("incomplete answer: unreachable: %s", scope)
		}
		v.missed[region] = fmt.Errorf("incomplete answer: unreachable: %s", scope)
	}
	for _, scope := range slices.Sorted(maps.Keys(p.GetItems())) {
		region, ok := regionOfScope(scope)
		if !ok {
			return fmt.Errorf("answer not understood: instances in %q, which is no zone", scope)
		}
		if _, asked := v.seen[region]; !asked {
			continue
		}
		if err := v.addZone(region, path.Base(scope), p.GetItems()[scope]); err != nil && v.missed[region] == nil {
			v.missed[region] = err
		}
	}
	return nil
}

func (v *view) addZone(region, zone string, list *computepb.InstancesScopedList) error {
	if err := incomplete(list.GetWarning()); err != nil {
		return fmt.Errorf("zone %s: %w", zone, err)
	}
	for _, m := range list.GetInstances() {
		if !strings.HasPrefix(m.GetName(), v.cluster+"-") {
			continue
		}
		in, err := instanceOf(m, region, zone)
		if err != nil {
			return err
		}
		if in.Group != "" && in.Status == waitsForCapacity {
			continue
		}
		if stamp, ok := mig.StampOfLabels(m.GetLabels()); ok && in.Group == "" && stamp.Cluster == v.cluster {
			in.Stamp = stamp
		}
		v.seen[region] = append(v.seen[region], in)
	}
	return nil
}

func instanceOf(m *computepb.Instance, region, zone string) (mig.Instance, error) {
	created, err := timestamp("creation of instance "+m.GetName(), m.GetCreationTimestamp())
	if err != nil {
		return mig.Instance{}, err
	}
	if m.GetStatus() == "" {
		return mig.Instance{}, fmt.Errorf("instance %s has no status", m.GetName())
	}
	in := mig.Instance{
		Name: m.GetName(), Zone: zone, Region: region,
		Group:     groupThatMade(m, region),
		Status:    m.GetStatus(),
		Created:   created,
		FlexStart: m.GetScheduling().GetProvisioningModel() == "FLEX_START",
	}
	if end := m.GetResourceStatus().GetScheduling().GetTerminationTimestamp(); end != "" {
		in.Terminates, err = timestamp("end of instance "+m.GetName(), end)
	}
	return in, err
}

// groupThatMade is the regional group of that region that made the instance,
// empty if none did.
func groupThatMade(m *computepb.Instance, region string) string {
	for _, item := range m.GetMetadata().GetItems() {
		if item.GetKey() != "created-by" {
			continue
		}
		// projects/<number>/regions/<region>/instanceGroupManagers/<name>
		p := strings.Split(item.GetValue(), "/")
		if len(p) == 6 && p[0] == "projects" && p[2] == "regions" && p[3] == region && p[4] == "instanceGroupManagers" {
			return p[5]
		}
	}
	return ""
}
