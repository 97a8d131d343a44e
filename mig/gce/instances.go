package gce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"slurmflex/mig"
)

// Instances reads the instances of the regions whose names begin with the
// cluster's and a hyphen, no matter who made them, sorted by name. One that no group
// made has the stamp of its labels, if that is the cluster's. Those of groups that
// wait for capacity are left out. One that could be read in part only says so. A
// region of which anything else could not be read is in unseen, with the reason,
// and none of its instances are returned.
func (c *Client) Instances(ctx context.Context, cluster string, regions []string) (instances []mig.Instance, unseen map[string]error) {
	v := view{cluster: cluster, seen: make(map[string]*distinct[mig.Instance]), missed: make(map[string]error)}
	for _, region := range regions {
		v.seen[region] = new(distinct[mig.Instance])
	}
	var p computepb.InstanceAggregatedList
	query := url.Values{"filter": {namesOf(cluster)}}
	err := c.readAll(calling(ctx, "instances.aggregatedList"), "aggregated/instances", query, &p, func(items json.RawMessage) error {
		return v.add(&p, items)
	})
	unseen = make(map[string]error)
	for region, found := range v.seen {
		if miss := cmp.Or(err, v.missed[region]); miss != nil {
			unseen[region] = failure("list instances of", region, reading, miss)
			continue
		}
		instances = append(instances, found.all...)
	}
	slices.SortFunc(instances, func(a, b mig.Instance) int { return strings.Compare(a.Name, b.Name) })
	return instances, unseen
}

// waitsForCapacity is the status of a flex-start instance that Compute has no
// machine for yet: the time that it waits is no time to boot, and the group's
// request names it. Source: discovery document, Instance.status.
const waitsForCapacity = "PENDING"

// view is what the pages read so far show of the regions asked for.
type view struct {
	cluster string                             // whose names count
	seen    map[string]*distinct[mig.Instance] // by region; its keys are the regions asked for
	missed  map[string]error                   // by region: why what was seen is not all
}

// add takes in a page. Its error concerns all regions.
func (v *view) add(p *computepb.InstanceAggregatedList, items json.RawMessage) error {
	var scopes map[string]json.RawMessage
	if items != nil {
		if err := json.Unmarshal(items, &scopes); err != nil {
			return fmt.Errorf("answer not understood: %w", err)
		}
	}
	for _, scope := range p.GetUnreachables() {
		region, ok := regionOfScope(scope)
		if !ok {
			return fmt.Errorf("incomplete answer: unreachable: %s", scope)
		}
		v.missed[region] = fmt.Errorf("incomplete answer: unreachable: %s", scope)
	}
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		region, ok := regionOfScope(scope)
		if !ok {
			return fmt.Errorf("answer not understood: instances in %q, which is no zone", scope)
		}
		if _, asked := v.seen[region]; !asked {
			continue
		}
		if err := v.addZone(region, path.Base(scope), scopes[scope]); err != nil && v.missed[region] == nil {
			v.missed[region] = err
		}
	}
	return nil
}

func (v *view) addZone(region, zone string, scope json.RawMessage) error {
	var (
		list   map[string]json.RawMessage
		others computepb.InstancesScopedList
	)
	if err := json.Unmarshal(scope, &list); err != nil {
		return fmt.Errorf("zone %s: answer not understood: %w", zone, err)
	}
	rows := list["instances"]
	delete(list, "instances")
	rest, err := json.Marshal(list)
	if err == nil {
		err = understand(rest, &others)
	}
	if err == nil {
		err = incomplete(others.GetWarning())
	}
	if err == nil {
		err = readRows(rows, func() *computepb.Instance { return new(computepb.Instance) }, func(m *computepb.Instance, wrong faulty) error {
			v.addInstance(region, zone, m, wrong)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("zone %s: %w", zone, err)
	}
	return nil
}

func (v *view) addInstance(region, zone string, m *computepb.Instance, wrong faulty) {
	if !strings.HasPrefix(m.GetName(), v.cluster+"-") {
		return
	}
	in := instanceOf(m, region, zone, wrong)
	if in.Group != "" && in.Status == waitsForCapacity {
		return
	}
	if stamp, ok := mig.StampOfLabels(m.GetLabels()); ok && in.Group == "" && stamp.Cluster == v.cluster {
		in.Stamp = stamp
	}
	if other := v.seen[region].add(zone+"/"+in.Name, in); other != nil {
		other.Unread = contradiction
	}
}

// instanceOf is the instance as far as it can be read.
func instanceOf(m *computepb.Instance, region, zone string, wrong faulty) mig.Instance {
	created, err := time.Parse(time.RFC3339, m.GetCreationTimestamp())
	wrong.note("creationTimestamp", err)
	if m.GetStatus() == "" {
		wrong.note("status", errors.New("it is missing"))
	}
	in := mig.Instance{
		Name: m.GetName(), Zone: zone, Region: region,
		Group:     groupThatMade(m, region),
		Status:    m.GetStatus(),
		Created:   created,
		FlexStart: m.GetScheduling().GetProvisioningModel() == "FLEX_START",
	}
	if at := m.GetResourceStatus().GetPhysicalHostTopology(); at != nil {
		in.Host = mig.Host{Cluster: at.GetCluster(), Block: at.GetBlock(), Subblock: at.GetSubblock(), Host: at.GetHost()}
	}
	if end := m.GetResourceStatus().GetScheduling().GetTerminationTimestamp(); end != "" {
		in.Terminates, err = time.Parse(time.RFC3339, end)
		wrong.note("terminationTimestamp", err)
		if !mayEnd(in) {
			in.Terminates = time.Time{}
		}
	}
	in.Unread = wrong.String()
	return in
}

// startDelay is how long after its creation an instance may begin to run, which
// is when its lease begins.
const startDelay = 24 * time.Hour

// mayEnd reports whether the instance's lease can end when Compute says. Any
// other time, such as the year 9999, counts as unknown.
func mayEnd(in mig.Instance) bool {
	return !in.Terminates.Before(in.Created) &&
		(!in.FlexStart || !in.Terminates.After(in.Created.Add(mig.MaxDuration+startDelay)))
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
