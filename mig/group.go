// Package mig holds the values of our domain on the cloud's side: managed
// instance groups, the resize requests in them and the instances they made.
// It talks to nobody; mig/gce maps these values to and from the Compute API.
package mig

import (
	"cmp"
	"time"
)

// Limits of flex-start that hold for every machine type.
// Source: Compute's documentation of resize requests in a MIG.
const (
	MinDuration  = 600 * time.Second     // shortest run duration of a request
	MaxDuration  = 604_800 * time.Second // longest run duration of a request
	MaxInstances = 1000                  // instances that one request, or one deleteInstances call, may name
)

// Group is a regional managed instance group: ours, or (without a stamp) one
// that slurm-gcp left.
type Group struct {
	Name       string
	Region     string
	Stamp      Stamp
	Template   string   // path of its instance template without the project; empty if that is not known
	Zones      []string // short names of those that it may choose from, sorted; none if that is not known
	Policy     string   // name of its workload policy; empty if it has none
	TargetSize int
	Creating   int // members that are being created, which includes those that wait for capacity
	Created    time.Time
	Requests   []Request // every resize request on record, the oldest first

	// Unread says what of the group or of its requests could not be read; empty if
	// all was. Then the other fields are what could be, and nothing may be done to
	// the group, nor to the nodes that its requests name. Only Name, Region and the
	// requests' names are always there; without a Stamp it may be ours.
	Unread string
}

// Live returns the group's resize requests that may still bring instances.
func (g Group) Live() []Request {
	var live []Request
	for _, r := range g.Requests {
		if r.State.Live() {
			live = append(live, r)
		}
	}
	return live
}

// Hidden counts the members of the group that are neither among the instances that
// show, nor asked for by a live request, and reports whether the group is creating
// some that no live request asks for: then the list of requests lags.
func (g Group) Hidden(shown int) (members int, creating bool) {
	asked := 0
	for _, r := range g.Live() {
		asked += r.Size()
	}
	return g.TargetSize - shown - asked, g.Creating > asked
}

// GroupSpec says what a new group must be. Everything that flex-start
// prescribes and nobody may choose (size 0, one zone, no redistribution, no
// repairs) is not a field: mig/gce writes it.
type GroupSpec struct {
	Name     string
	Region   string
	Template string   // a link or path of the instance template, global or of the same region
	Zones    []string // short names; at least one
	Policy   string   // name of a workload policy of the same region; empty for none
	Stamp    Stamp
}

// GroupID names a managed instance group: a name is unique in its region only.
type GroupID struct{ Region, Name string }

// ID names the group.
func (g Group) ID() GroupID { return GroupID{g.Region, g.Name} }

// String is region/name.
func (id GroupID) String() string { return id.Region + "/" + id.Name }

// Compare orders by region, then by name.
func (id GroupID) Compare(other GroupID) int {
	return cmp.Or(cmp.Compare(id.Region, other.Region), cmp.Compare(id.Name, other.Name))
}
