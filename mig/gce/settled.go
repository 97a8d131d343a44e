package gce

import (
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"slurmflex/mig"
)

// settledAge is for how long the requests of a settled group are taken for
// read, at least; at most it is twice that, by the group's name, so that not all
// groups are read at once.
const settledAge = 30 * time.Minute

// settled remembers the resize requests of the groups in which all have ended
// and nothing is being created. A request that has ended stays as it is, and a
// new one raises the group's target size by the time that it is accepted: so
// there is nothing to read in such a group before its size grows, or we ourselves
// change its requests. A request of another process that is still being created
// may be overlooked; it bears the name that we would give it, and there is no
// second of that name.
type settled struct {
	mu      sync.Mutex
	regions map[string]map[string]settledGroup // the groups that there are, by region and name
}

// settledGroup is zero for a group that is not settled.
type settledGroup struct {
	created  time.Time
	size     int // the target size when it was last seen
	requests []mig.Request
	until    time.Time
}

// isOf reports whether the requests are still those of the group.
func (r settledGroup) isOf(g mig.Group, now time.Time) bool {
	return g.TargetSize <= r.size && g.Creating == 0 && r.created.Equal(g.Created) && !now.After(r.until)
}

// requestsOf returns the group's requests if they are known.
func (s *settled) requestsOf(g mig.Group, now time.Time) (requests []mig.Request, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.regions[g.Region][g.Name]
	if !r.isOf(g, now) {
		return nil, false
	}
	return slices.Clone(r.requests), true
}

// note remembers what was read of a region at that time, and forgets the groups
// that are there no longer.
func (s *settled) note(region string, groups []mig.Group, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, listed := s.regions[region], make(map[string]settledGroup, len(groups))
	for _, g := range groups {
		var r settledGroup
		if len(g.Live()) == 0 && g.Creating == 0 && g.Unread == "" { // the list of requests may lag behind that of groups
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

// has reports whether the group was there when its region was last read.
func (s *settled) has(id mig.GroupID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.regions[id.Region][id.Name]
	return there
}

// forget has a group's requests read again.
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
