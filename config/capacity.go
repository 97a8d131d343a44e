package config

import "time"

// Capacity is the kind of capacity that a nodeset's machines use.
type Capacity string

// The kinds of capacity. Google creates machines of every kind except FlexStart immediately, or
// rejects the request.
const (
	FlexStart   Capacity = "flex_start" // for a nodeset with dws_flex
	OnDemand    Capacity = "on_demand"
	Spot        Capacity = "spot"
	Reservation Capacity = "reservation" // a named reservation, which the machines consume
)

// NoLease is the lease assumed for a machine without one: ten years.
const NoLease = 10 * 365 * 24 * time.Hour

// AtOnce reports whether Google creates machines immediately or rejects the request. It is
// false for FlexStart: those requests wait in Google's queue.
func (c Capacity) AtOnce() bool { return c != FlexStart }

// Model returns the provisioning model of such machines, as the API spells it. Source: discovery
// document, Scheduling.provisioningModel.
func (c Capacity) Model() string {
	switch c {
	case FlexStart:
		return "FLEX_START"
	case Spot:
		return "SPOT"
	}
	return "STANDARD"
}

// readCapacity reads the keys of a nodeset with capacity. Its machines do not have a lease. Bulk
// insert creates all machines of a job or none.
func readCapacity(s *section) *Flex {
	values := defaults[Flex]()
	f := &values
	f.MaxRunDuration, f.SalvageTimeout = 0, 0 // without a lease, and without machines to salvage
	f.UseBulkInsert = true
	s.read(f, besideCapacity)
	if s.text("capacity", "") == "" {
		s.problem("capacity", "empty; must be %s, %s or %s", OnDemand, Spot, Reservation)
	}
	if f.Capacity == Reservation && f.Reservation == "" {
		s.problem("reservation_name", "missing; must be %s", forms["reservation"].values)
	}
	return f
}
