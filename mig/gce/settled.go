package gce

import (
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"slurmflex/mig"
)

// settledAge is the minimum time for which the cached requests of a settled group are valid. The
// maximum is twice that; the group's name decides, so that not all groups are read at once.
const settledAge = 30 * time.Minute

// settled caches the resize requests of groups in which all requests have ended and no instance is
// being created. An ended request does not change, and a new request raises the group's target size
// no later than its acceptance. So the requests must be read again only if the group's size grows
// or slurmflex itself changes the requests. A request that another process is still creating may be
// overlooked; this is harmless, because it has the name that we would choose, and a second request
// of that name cannot exist.
type settled struct {
	mu      sync.Mutex
	regions map[string]map[string]settledGroup // the existing groups, by region and name
}

// settledGroup is zero for a group that is not settled.
type settledGroup struct {
	created  time.Time
	size     int // the last known target size
	requests []mig.Request
	until    time.Time
}

// isOf reports whether the cached requests are still valid for the group.
func (r settledGroup) isOf(g mig.Group, now time.Time) bool {
	return g.TargetSize <= r.size && g.Creating == 0 && r.created.Equal(g.Created) && !now.After(r.until)
}

// requestsOf returns the group's cached requests, if valid.
func (s *settled) requestsOf(g mig.Group, now time.Time) (requests []mig.Request, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.regions[g.Region][g.Name]
	if !r.isOf(g, now) {
		return nil, false
	}
	return slices.Clone(r.requests), true
}

// note records the groups of a region as read at that time, and forgets groups that no longer
// exist.
func (s *settled) note(region string, groups []mig.Group, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, listed := s.regions[region], make(map[string]settledGroup, len(groups))
	for _, g := range groups {
		var r settledGroup
		if len(g.Live()) == 0 && g.Creating == 0 && g.Unread == "" { // the requests may lag
			if r = before[g.Name]; !r.isOf(g, now) {
				r = settledGroup{g.Created, g.TargetSize, slices.Clone(g.Requests), now.Add(spread(g.Name))}
			}
			r.size = g.TargetSize
		}
		listed[g.Name] = r
	}
	if s.regions == nil {
		s.regions = map[string]map[string]settledGroup{}
	}
	s.regions[region] = listed
}

// has reports whether the group existed when its region was last read.
func (s *settled) has(id mig.GroupID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.regions[id.Region][id.Name]
	return there
}

// forget makes the next pass read the group's requests again.
func (s *settled) forget(region, group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.regions[region][group]; there {
		s.regions[region][group] = settledGroup{}
	}
}

func spread(name string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return settledAge + settledAge*time.Duration(h.Sum32()%1000)/1000
}
