package gce

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	rest "google.golang.org/api/compute/v1"

	"golang.org/x/sync/errgroup"

	"slurmflex/mig"
)

// sideBySide bounds concurrent lists of resize requests in a region, and concurrent deletions of
// instances in a zone.
const sideBySide = 16

// Groups reads the groups with our stamp for this cluster, including stamps of a newer program, with
// all their resize requests. The requests of settled groups are not read each time. A group with an
// unreadable stamp that may be ours has Unread set. A region with any other read error is in unseen,
// with the reason, and none of its groups are returned.
func (c *Client) Groups(ctx context.Context, cluster string, regions []string) (groups []mig.Group, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Group, error) {
		return c.groupsIn(ctx, cluster, region, &c.settled, func(m *rest.InstanceGroupManager) (mig.Stamp, string, bool) {
			return stampOf(cluster, m.Description)
		})
	})
}

// Foreign reads the groups that slurm-gcp has left for the cluster. Their names match slurm-gcp's
// pattern, they have no description, and their instance template has slurm-gcp's label of this
// cluster, because names of two clusters may look alike. They have no stamp. The caller checks
// whether their nodeset (see mig.ParseForeign) is one of this cluster's. A region with any read
// error is in unseen, as in Groups.
func (c *Client) Foreign(ctx context.Context, cluster string, regions []string) (groups []mig.Group, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Group, error) {
		groups, err := c.groupsIn(ctx, cluster, region, new(settled), func(m *rest.InstanceGroupManager) (mig.Stamp, string, bool) {
			_, _, foreign := mig.ParseForeign(cluster, m.Name)
			return mig.Stamp{}, "", foreign && m.Description == ""
		})
		if err != nil {
			return nil, err
		}
		return c.labelled(ctx, cluster, groups)
	})
}

// clusterLabel is slurm-gcp's label for the cluster, on its templates and machines.
const clusterLabel = "slurm_cluster_name"

// labelled returns the groups with slurm-gcp's label of the cluster on their template.
func (c *Client) labelled(ctx context.Context, cluster string, groups []mig.Group) (ours []mig.Group, err error) {
	templates := map[string]mig.Template{}
	for _, g := range groups {
		t, read := templates[g.Template]
		if !read && g.Template != "" {
			if t, err = c.Template(ctx, g.Template); err != nil {
				return nil, err
			}
			templates[g.Template] = t
		}
		if t.Labels[clusterLabel] == cluster {
			ours = append(ours, g)
		}
	}
	return ours, nil
}

// selection reports whether to read a group, and returns its stamp. unread is why the stamp cannot
// be read; empty: it can.
type selection func(*rest.InstanceGroupManager) (stamp mig.Stamp, unread string, ok bool)

// stampOf parses a description as a stamp. It reports whether the stamp belongs to the cluster, or may
// belong to it but cannot be read.
func stampOf(cluster, description string) (stamp mig.Stamp, unread string, ok bool) {
	stamp, ours := mig.ParseStamp(description)
	if !ours && mayBeStampOf(cluster, description) {
		return mig.Stamp{}, "description: not a complete stamp of slurmflex", true
	}
	return stamp, "", ours && stamp.Cluster == cluster
}

// mayBeStampOf reports whether an invalid stamp may be a damaged stamp of the cluster: the
// description contains our key and names no other cluster.
func mayBeStampOf(cluster, description string) bool {
	var head struct {
		Cluster string `json:"cluster"`
	}
	err := json.Unmarshal([]byte(description), &head)
	return strings.Contains(description, `"slurmflex"`) && (err != nil || head.Cluster == "" || head.Cluster == cluster)
}

// groupsIn reads the selected groups of one region and their requests.
func (c *Client) groupsIn(ctx context.Context, cluster, region string, known *settled, selected selection) ([]mig.Group, error) {
	begun := time.Now()
	groups, err := c.listGroups(ctx, cluster, region, selected)
	if err != nil {
		return nil, failure("list groups of", region, reading, err)
	}
	missing := make([]bool, len(groups)) // deleted since the list, or not read
	side, ctx := errgroup.WithContext(ctx)
	side.SetLimit(sideBySide)
	for i := range groups {
		requests, settled := known.requestsOf(groups[i], begun)
		if settled {
			groups[i].Requests = requests
			continue
		}
		missing[i] = true
		side.Go(func() error {
			requests, err := c.listRequests(ctx, region, groups[i].Name)
			if err == nil {
				groups[i].Requests, missing[i] = requests, false
				return nil
			}
			err = failure("list resize requests of", groups[i].Name, reading, err)
			if mig.CauseOf(err) == mig.CauseNotFound {
				return nil
			}
			return err
		})
	}
	err = side.Wait()
	there := groups[:0]
	for i, g := range groups {
		if !missing[i] {
			there = append(there, g)
		}
	}
	known.note(region, there, begun) // after an error too: the next pass continues from there
	if err != nil {
		return nil, err
	}
	return there, nil
}

// groupFields selects the fields of a list of groups.
const groupFields = listFields + ",items(name,description,creationTimestamp,targetSize," +
	"currentActions/creating,versions/instanceTemplate,distributionPolicy/zones/zone,resourcePolicies/workloadPolicy)"

// listGroups reads the selected groups of one region, without their requests.
func (c *Client) listGroups(ctx context.Context, cluster, region string, selected selection) ([]mig.Group, error) {
	var groups distinct[mig.Group]
	var all pages
	call := c.rest().RegionInstanceGroupManagers.List(c.project, region).Filter(namesOf(cluster)).Fields(groupFields).MaxResults(pageSize)
	err := call.Pages(calling(ctx, "regionInstanceGroupManagers.list"), func(l *rest.RegionInstanceGroupManagerList) error {
		return eachRecord(&all, page{l.Kind, l.NextPageToken, l.Warning, nil}, l.Items, func(m *rest.InstanceGroupManager) error {
			g, err := groupOf(m, region)
			var ok bool
			if g.Stamp, g.Unread, ok = selected(m); err != nil || !ok {
				return err
			}
			return groups.add(m.Name, g)
		})
	})
	return groups.all, err
}

func groupOf(m *rest.InstanceGroupManager, region string) (mig.Group, error) {
	created, err := createdAt(m.Name, m.CreationTimestamp)
	g := mig.Group{
		Name: m.Name, Region: region, Template: templateOfGroup(m), Zones: zonesOfGroup(m),
		TargetSize: int(m.TargetSize), Created: created,
	}
	if m.CurrentActions != nil {
		g.Creating = int(m.CurrentActions.Creating)
	}
	if m.ResourcePolicies != nil && m.ResourcePolicies.WorkloadPolicy != "" {
		g.Policy = path.Base(m.ResourcePolicies.WorkloadPolicy)
	}
	return g, err
}

// templateOfGroup returns the link of the group's template without its project, which has a name
// and a number; empty if the group does not have exactly one template.
func templateOfGroup(m *rest.InstanceGroupManager) string {
	versions := given(m.Versions)
	if len(versions) != 1 {
		return ""
	}
	parts := templateLink.FindStringSubmatch(versions[0].InstanceTemplate)
	if parts == nil {
		return ""
	}
	return parts[2]
}

func zonesOfGroup(m *rest.InstanceGroupManager) []string {
	if m.DistributionPolicy == nil {
		return nil
	}
	var zones []string
	for _, z := range given(m.DistributionPolicy.Zones) {
		zones = append(zones, path.Base(z.Zone))
	}
	slices.Sort(zones)
	return zones
}
