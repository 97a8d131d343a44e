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

// sideBySide bounds the lists of resize requests that are read at once in a
// region, and the instances that are deleted at once.
const sideBySide = 16

// Groups reads the groups that carry our stamp with this cluster's name, or that of one of
// its trials, those of a newer program too, with all their resize requests; those of settled
// groups are not read each time. A group that could be read in part only says so,
// and so does one of which nobody can say whether the stamp is ours. A region of
// which anything else could not be read is in unseen, with the reason, and none of
// its groups are returned.
func (c *Client) Groups(ctx context.Context, cluster string, regions []string) (groups []mig.Group, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Group, error) {
		return c.groupsIn(ctx, cluster, region, &c.settled, &c.said.groups, func(m listedGroup, wrong faulty) (mig.Stamp, bool) {
			return stampOf(cluster, m.Name, m.Description, wrong)
		})
	})
}

// Foreign reads the groups that slurm-gcp has left for the cluster: those that have
// a name of its pattern and no description, which it does not write, and whose
// instance template has its label of this cluster: names of two clusters may look
// alike. They have no stamp; whether their nodeset is one of this cluster's, as
// mig.ParseForeign reads it, is for the caller to see. A region of which
// anything could not be read is in unseen, as with Groups.
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

// labelled are the groups whose template has slurm-gcp's label of the cluster.
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

// selection says whether a group is one of those that are read, and which stamp
// it has. It goes by the group's text alone.
type selection func(listedGroup, faulty) (mig.Stamp, bool)

// stampOf reads the stamp that a description should be, and reports whether it is
// the cluster's or one of its trials', or may be and cannot be read, which is noted.
func stampOf(cluster, name, description string, wrong faulty) (mig.Stamp, bool) {
	if wrong["description"] != nil {
		return mig.Stamp{}, true
	}
	stamp, ours := mig.ParseStamp(description)
	if !ours && mig.MayBeStampOf(cluster, description) {
		wrong.note("description", errors.New("it is no whole stamp of slurmflex"))
		return mig.Stamp{}, true
	}
	return stamp, ours && (stamp.Cluster == cluster || stamp.IsTrialOf(cluster, name))
}

// groupsIn reads the selected groups of one region and their requests.
func (c *Client) groupsIn(ctx context.Context, cluster, region string, known *settled, said *said[mig.Group], selected selection) ([]mig.Group, error) {
	begun := time.Now()
	groups, err := c.listGroups(ctx, cluster, region, said.begin(cluster+"/"+region), selected)
	if err != nil {
		return nil, failure("list groups of", region, reading, err)
	}
	missing := make([]bool, len(groups)) // deleted since they were listed, or not read
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
				err = errors.New(wrong) // nobody can say which nodes the group is for
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
	known.note(region, there, begun) // after an error too: the next look goes on from there
	if err != nil {
		return nil, err
	}
	return there, nil
}

// groupFields are those of a list of groups that are read.
const groupFields = "kind,nextPageToken,warning(code,message),items(name,description,creationTimestamp,targetSize," +
	"currentActions/creating,versions/instanceTemplate,distributionPolicy/zones/zone,resourcePolicies/workloadPolicy)"

// listedGroup is a group as far as it is read.
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

// templateOfGroup is the template that the group makes instances from, from behind
// its project on, which has a name and a number; empty if it has no one template.
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
