package gce

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"slurmflex/mig"
)

const (
	// strangerAge is how old a machine must be before slurmflex concludes that no group of the
	// cluster created it, and how long that conclusion holds: a list may show a machine before its
	// group or its metadata.
	strangerAge = 5 * time.Minute

	// namesAtOnce bounds the names in a filter, because the filter is part of a call's URL.
	namesAtOnce = 100
)

// makers caches the group of each machine. The group's name is in the machine's metadata, which
// never changes, but which Compute sends completely or not at all, including startup scripts of any
// size. So slurmflex reads the metadata only of machines with an unknown group.
//
// A group could label its machines by an all-instances configuration, but groups with resize
// requests do not support these. Source: Compute's documentation "About resize requests in a MIG".
type makers struct {
	mu    sync.Mutex
	known map[string]map[machineID]maker // by region
}

// machineID identifies a machine, even among later machines of the same name.
type machineID struct{ zone, name, created string }

// maker is the regional group that created a machine, in the machine's region; empty if none did.
type maker struct {
	group string
	until time.Time // when to read the group again; zero: never
}

// trace is the group in an instance's metadata, or the reason why it could not be read.
type trace struct{ group, unread string }

func traceOf(m listedInstance, region string, wrong faulty) trace {
	if len(wrong) > 0 {
		return trace{unread: wrong.String()}
	}
	return trace{group: groupThatMade(m.Metadata, region)}
}

func idOf(zone string, m listedInstance) machineID {
	return machineID{zone, m.Name, m.CreationTimestamp}
}

// any reports whether the group of any machine is known.
func (k *makers) any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.known) > 0
}

// of returns the name of the machine's group, if known.
func (k *makers) of(id machineID, now time.Time) (group string, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok := k.known[mig.RegionOf(id.zone)][id]
	return m.group, ok && (m.until.IsZero() || now.Before(m.until))
}

// note records the groups of a region's listed machines and forgets the region's other machines.
// ours reports whether a group belongs to the cluster.
func (k *makers) note(region string, listed []sighting, ours func(mig.GroupID) bool, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.known[region]
	if len(before) == len(listed) && !slices.ContainsFunc(listed, func(s sighting) bool { return s.asked || !s.known }) {
		return // unchanged
	}
	known := make(map[machineID]maker, len(listed))
	for _, s := range listed {
		switch {
		case s.asked && ours(mig.GroupID{Region: region, Name: s.group}):
			known[s.id] = maker{group: s.group}
		case s.asked && now.Sub(s.Created) > strangerAge:
			known[s.id] = maker{s.group, now.Add(strangerAge)}
		case s.known && !s.asked:
			known[s.id] = before[s.id]
		}
	}
	if k.known == nil {
		k.known = map[string]map[machineID]maker{}
	}
	if k.known[region] = known; len(known) == 0 {
		delete(k.known, region)
	}
}

// makerFields selects the fields of an instance list that show each machine's group. Its text about
// unreachable places is not read.
const (
	makerFields = "kind,nextPageToken,warning(code,message),items/*/instances(" + makerOf + ")"
	makerOf     = "name,creationTimestamp,metadata/items"
)

// readMakers reads the groups of the named machines: by name if that takes fewer calls than the
// whole list, which had pages pages. Machines in an unreadable zone are missing from the result.
func (c *Client) readMakers(ctx context.Context, cluster string, names []string, pages int) (map[machineID]trace, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	var filters []string
	for some := range slices.Chunk(names, namesAtOnce) {
		filters = append(filters, anyName(some))
	}
	if len(filters) > pages {
		filters = []string{namesOf(cluster)}
	}
	found := map[machineID]trace{}
	for _, filter := range filters {
		query := url.Values{"filter": {filter}, "fields": {makerFields}}
		err := c.readAggregated(ctx, "instances", query, func(s *stream) error {
			return eachZone(s, func(region, zone string) error {
				_, err := readZone(s, func(text []byte) error {
					m, wrong, err := readRow[listedInstance](text)
					found[idOf(zone, m)] = traceOf(m, region, wrong)
					return err
				})
				return err
			})
		}, nil)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// anyName returns the filter for these names.
func anyName(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return `name eq "(` + strings.Join(quoted, "|") + `)"`
}
