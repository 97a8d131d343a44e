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
	// strangerAge is how old a machine must be, and for how long it is then taken for
	// one that no group of the cluster has made: a list may show a machine before its
	// maker, or its group.
	strangerAge = 5 * time.Minute

	// namesAtOnce bounds the names in a filter, which is part of a call's address.
	namesAtOnce = 100
)

// makers remembers which group made a machine. That is in the machine's metadata,
// which Compute sends as a whole or not at all, with startup scripts of any size, and
// does not change. So metadata are read of those machines alone whose maker is not known.
//
// All-instances configurations, by which a group could label its machines, are not for
// groups with resize requests. Source: Compute's documentation "About resize requests
// in a MIG".
type makers struct {
	mu    sync.Mutex
	known map[string]map[machineID]maker // by region
}

// machineID tells a machine from all others, also from later ones of its name.
type machineID struct{ zone, name, created string }

// maker is the regional group that made a machine, of the machine's region; empty if
// none did.
type maker struct {
	group string
	until time.Time // when to read that again; zero: never
}

// trace is what an instance's metadata say of its maker, or why they do not.
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

// any reports whether any machine's maker is known.
func (k *makers) any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.known) > 0
}

// of returns the name of the group that made the machine, if that is known.
func (k *makers) of(id machineID, now time.Time) (group string, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok := k.known[mig.RegionOf(id.zone)][id]
	return m.group, ok && (m.until.IsZero() || now.Before(m.until))
}

// note remembers who made the machines that a list has of a region, and forgets the
// region's others. ours reports whether a group is one of the cluster's.
func (k *makers) note(region string, listed []sighting, ours func(mig.GroupID) bool, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.known[region]
	if len(before) == len(listed) && !slices.ContainsFunc(listed, func(s sighting) bool { return s.asked || !s.known }) {
		return // they are the same
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

// makerFields are those of a list of instances that say who made them. What it says
// of places that it does not reach is not read.
const (
	makerFields = "kind,nextPageToken,warning(code,message),items/*/instances(" + makerOf + ")"
	makerOf     = "name,creationTimestamp,metadata/items"
)

// readMakers reads who made the machines of these names: by name if that takes fewer
// calls than the whole list, which took pages. What is missing in a zone that could not
// be read is missing in what it returns.
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

// anyName is the filter for these names.
func anyName(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return `name eq "(` + strings.Join(quoted, "|") + `)"`
}
