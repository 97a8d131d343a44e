// Package mig holds the cloud values of our domain: managed instance groups, their resize requests,
// and the instances that these create. It makes no calls; mig/gce maps the values to and from the
// Compute API.
package mig

import (
	"cmp"
	"time"
)

// Limits of flex-start for all machine types. Source: Compute's documentation of resize requests in
// a MIG.
const (
	MinDuration  = 600 * time.Second     // shortest run duration of a request
	MaxDuration  = 604_800 * time.Second // longest run duration of a request
	MaxInstances = 1000                  // most instances in one request or one deleteInstances call
)

// Group is a regional managed instance group: ours, or (without a stamp) left by slurm-gcp.
type Group struct {
	Name       string
	Region     string
	Stamp      Stamp
	Template   string   // path of its instance template without the project; empty if unknown
	Zones      []string // short names of the zones that it may use, sorted; empty if unknown
	Policy     string   // name of its workload policy; empty: none
	TargetSize int
	Creating   int // members being created, including those that wait for capacity
	Created    time.Time
	Requests   []Request // all resize requests on record, oldest first

	// Unread names the parts of the group or of its requests that could not be read; empty: none.
	// If it is set, the other fields hold the parts that could be read, and slurmflex must not act
	// on the group or on the nodes of its requests. Only Name, Region and the names of the requests
	// are always set; a group without a Stamp may still be ours.
	Unread string
}

// Live returns the group's resize requests that may still create instances.
func (g Group) Live() []Request {
	var live []Request
	for _, r := range g.Requests {
		if r.State.Live() {
			live = append(live, r)
		}
	}
	return live
}

// Hidden counts the group's members that are neither among the shown instances nor requested by a
// live request. creating is true if the group is creating members that no live request covers: then
// the list of requests lags behind.
func (g Group) Hidden(shown int) (members int, creating bool) {
	asked := 0
	for _, r := range g.Live() {
		asked += r.Size()
	}
	return g.TargetSize - shown - asked, g.Creating > asked
}

// GroupSpec describes a new group. The settings that flex-start prescribes (size 0, one zone, no
// redistribution, no repairs) are not fields: mig/gce sets them.
type GroupSpec struct {
	Name     string
	Region   string
	Template string   // link or path of the instance template, global or in the same region
	Zones    []string // short names; at least one
	Policy   string   // name of a workload policy in the same region; empty for none
	Stamp    Stamp
}

// GroupID identifies a managed instance group: names are unique only within a region.
type GroupID struct{ Region, Name string }

// ID returns the group's region and name.
func (g Group) ID() GroupID { return GroupID{g.Region, g.Name} }

// String returns region/name.
func (id GroupID) String() string { return id.Region + "/" + id.Name }

// Compare orders IDs by region, then by name.
func (id GroupID) Compare(other GroupID) int {
	return cmp.Or(cmp.Compare(id.Region, other.Region), cmp.Compare(id.Name, other.Name))
}
