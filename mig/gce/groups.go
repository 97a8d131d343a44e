package gce

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"slurmflex/mig"
)

// sideBySide bounds concurrent lists of resize requests in a region, and concurrent deletions of
// instances in a zone.
const sideBySide = 16

// Groups reads the groups with our stamp for this cluster, including stamps of a newer program, with
// all their resize requests. The requests of settled groups are not read each
// time. A group that could be read only in part, or with an unreadable stamp that may be ours, has
// Unread set. A region with any other read error is in unseen, with the reason, and none of its
// groups are returned.
func (c *Client) Groups(ctx context.Context, cluster string, regions []string) (groups []mig.Group, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Group, error) {
		return c.groupsIn(ctx, cluster, region, &c.settled, &c.said.groups, func(m listedGroup, wrong faulty) (mig.Stamp, bool) {
			return stampOf(cluster, m.Description, wrong)
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
		groups, err := c.groupsIn(ctx, cluster, region, new(settled), new(said[mig.Group]), func(m listedGroup, _ faulty) (mig.Stamp, bool) {
			_, _, foreign := mig.ParseForeign(cluster, m.Name)
			return mig.Stamp{}, foreign && m.Description == ""
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

// selection reports whether to read a group, and returns its stamp. It decides by the group's own
// record.
type selection func(listedGroup, faulty) (mig.Stamp, bool)

// stampOf parses a description as a stamp. It reports whether the stamp belongs to the cluster, or may
// belong to it but cannot be read, which it notes in wrong.
func stampOf(cluster, description string, wrong faulty) (mig.Stamp, bool) {
	if wrong["description"] != nil {
		return mig.Stamp{}, true
	}
	stamp, ours := mig.ParseStamp(description)
	if !ours && mig.MayBeStampOf(cluster, description) {
		wrong.note("description", errors.New("not a complete stamp of slurmflex"))
		return mig.Stamp{}, true
	}
	return stamp, ours && stamp.Cluster == cluster
}

// groupsIn reads the selected groups of one region and their requests.
func (c *Client) groupsIn(ctx context.Context, cluster, region string, known *settled, said *said[mig.Group], selected selection) ([]mig.Group, error) {
	begun := time.Now()
	groups, err := c.listGroups(ctx, cluster, region, said.begin(cluster+"/"+region), selected)
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
			requests, wrong, err := c.listRequests(ctx, region, groups[i].Name)
			if err == nil && wrong != "" && groups[i].Stamp == (mig.Stamp{}) {
				err = errors.New(wrong) // the nodes of the group are unknown
			}
			if err == nil {
				groups[i].Requests, missing[i] = requests, false
				groups[i].Unread = cmp.Or(groups[i].Unread, wrong)
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
const groupFields = "kind,nextPageToken,warning(code,message),items(name,description,creationTimestamp,targetSize," +
	"currentActions/creating,versions/instanceTemplate,distributionPolicy/zones/zone,resourcePolicies/workloadPolicy)"

// listedGroup is a group with the fields that are read.
type listedGroup struct {
	Name              string `json:"name"`
	Description       string `json:"description"`
	CreationTimestamp string `json:"creationTimestamp"`
	TargetSize        *int   `json:"targetSize"`
	CurrentActions    struct {
		Creating int `json:"creating"`
	} `json:"currentActions"`
	Versions []struct {
		InstanceTemplate string `json:"instanceTemplate"`
	} `json:"versions"`
	DistributionPolicy struct {
		Zones []struct {
			Zone string `json:"zone"`
		} `json:"zones"`
	} `json:"distributionPolicy"`
	ResourcePolicies struct {
		WorkloadPolicy string `json:"workloadPolicy"`
	} `json:"resourcePolicies"`
}

func (m listedGroup) name() string { return m.Name }

// listGroups reads the selected groups of one region, without their requests.
func (c *Client) listGroups(ctx context.Context, cluster, region string, said *saying[mig.Group], selected selection) ([]mig.Group, error) {
	groups := distinct[mig.Group]{all: make([]mig.Group, 0, len(said.before))}
	ctx = calling(ctx, "regionInstanceGroupManagers.list")
	query := url.Values{"filter": {namesOf(cluster)}, "fields": {groupFields}}
	err := c.readAll(ctx, escaped("regions", region, "instanceGroupManagers"), query, func(s *stream) error {
		return eachText(s, func(text []byte) error {
			ok := true
			g, err := said.row("", text, func() (g mig.Group, whole bool, err error) {
				m, wrong, err := readRow[listedGroup](text)
				var stamp mig.Stamp
				if stamp, ok = selected(m, wrong); ok {
					g = groupOf(m, region, stamp, wrong)
				}
				return g, ok && len(wrong) == 0, err
			})
			if err != nil || !ok {
				return err
			}
			if other := groups.add(g.Name, g); other != nil {
				other.Unread = contradiction
			}
			return nil
		})
	}, nil)
	if err == nil {
		said.end()
	}
	return groups.all, err
}

func groupOf(m listedGroup, region string, stamp mig.Stamp, wrong faulty) mig.Group {
	size := 0
	if m.TargetSize == nil {
		wrong.note("targetSize", errors.New("it is missing"))
	} else {
		size = *m.TargetSize
	}
	created, err := timeOf(m.CreationTimestamp)
	wrong.note("creationTimestamp", err)
	g := mig.Group{
		Name: m.Name, Region: region, Stamp: stamp, Template: templateOfGroup(m), Zones: zonesOfGroup(m),
		TargetSize: size, Creating: m.CurrentActions.Creating, Created: created,
		Unread: wrong.String(),
	}
	if policy := m.ResourcePolicies.WorkloadPolicy; policy != "" {
		g.Policy = path.Base(policy)
	}
	return g
}

// templateOfGroup returns the link of the group's template without its project, which has a name
// and a number; empty if the group does not have exactly one template.
func templateOfGroup(m listedGroup) string {
	if len(m.Versions) != 1 {
		return ""
	}
	parts := templateLink.FindStringSubmatch(m.Versions[0].InstanceTemplate)
	if parts == nil {
		return ""
	}
	return parts[2]
}

func zonesOfGroup(m listedGroup) []string {
	var zones []string
	for _, z := range m.DistributionPolicy.Zones {
		zones = append(zones, path.Base(z.Zone))
	}
	slices.Sort(zones)
	return zones
}
