package rules

import (
	"maps"

	"slurmflex/config"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// Places counts live requests against the limits on their number.
type Places struct {
	w        *demand.Wanted
	inRegion map[string]int
	ofSet    map[string]int
	ofUser   map[demand.UserIn]int          // only where max_active_requests_per_user applies
	users    map[*mig.Request]demand.UserIn // the users who submitted the requests' jobs
}

// PlacesNow counts the live requests that this pass has seen.
func PlacesNow(w *demand.Wanted) Places {
	inRegion, ofSet := activeRequests(w.Scene)
	p := Places{w, inRegion, ofSet, map[demand.UserIn]int{}, map[*mig.Request]demand.UserIn{}}
	if w.Config.Options.MaxActivePerUser == 0 {
		return p
	}
	for _, c := range w.Claims {
		if c.Live != nil && p.users[c.Live.Request] == (demand.UserIn{}) {
			p.users[c.Live.Request] = userOf(c)
		}
	}
	for _, s := range w.Settled {
		if _, serves := p.users[s.Request]; !serves {
			p.users[s.Request] = demand.UserIn{Region: s.Group.Region, Name: w.UserOf(s.Group.Stamp)}
		}
		p.ofUser[p.users[s.Request]]++
	}
	return p
}

func (p Places) clone() Places {
	p.inRegion, p.ofSet, p.ofUser = maps.Clone(p.inRegion), maps.Clone(p.ofSet), maps.Clone(p.ofUser)
	return p
}

// userOf returns who submitted the claim's job. Static nodes, and nodes that an admin powered
// up, have an empty user.
func userOf(c *demand.Claim) demand.UserIn {
	if c.Job == nil {
		return demand.UserIn{}
	}
	return demand.UserIn{Region: c.Set.Region, Name: c.Job.User}
}

// Take counts a request for the claim.
func (p Places) Take(c *demand.Claim) {
	p.inRegion[c.Set.Region]++
	p.ofSet[c.Set.Name]++
	p.ofUser[userOf(c)]++
}

// free removes a live request from the count.
func (p Places) free(r scene.Live) {
	p.inRegion[r.Group.Region]--
	p.ofSet[r.Group.Stamp.NodeSet]--
	p.ofUser[p.users[r.Request]]--
}

// hasRoom reports whether the claim may make another request. A nodeset that already has a request
// leaves free places to the region's other nodesets without a request. Otherwise requests that
// cannot be granted would fill all places. At most a quarter of all places is reserved this way.
func (p Places) hasRoom(c *demand.Claim) bool {
	most := p.w.Config.Options.MaxActiveRequests
	free := most - p.inRegion[c.Set.Region]
	return free > 0 && (p.ofSet[c.Set.Name] == 0 || free > min(p.idleSets(c.Set), most/4)) && !p.isUserFull(c)
}

// isUserFull reports whether the user's jobs have as many requests as
// max_active_requests_per_user allows.
func (p Places) isUserFull(c *demand.Claim) bool {
	user, most := userOf(c), p.w.Config.Options.MaxActivePerUser
	return most > 0 && user.Name != "" && p.ofUser[user] >= most
}

// idleSets counts the region's other nodesets that request nodes for jobs and lack a live
// request.
func (p Places) idleSets(set *config.NodeSet) (n int) {
	for _, other := range p.w.Config.FlexSets() {
		if other != set && other.Region == set.Region && !other.Flex.UseBulkInsert && other.Size() > other.Static && p.ofSet[other.Name] == 0 {
			n++
		}
	}
	return n
}

// activeRequests counts live requests by region and by nodeset. The requests of an unreadable group
// count only in its region.
func activeRequests(s *scene.Scene) (inRegion, ofSet map[string]int) {
	inRegion, ofSet = map[string]int{}, map[string]int{}
	for _, g := range s.Groups {
		if g.Stamp.Newer() {
			continue
		}
		live := len(g.Live())
		inRegion[g.Region] += live
		if g.Unread == "" {
			ofSet[g.Stamp.NodeSet] += live
		}
	}
	return inRegion, ofSet
}
