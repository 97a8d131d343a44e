package config

import "time"

// Capacity is the kind of capacity that a nodeset's machines come from.
type Capacity string

// The kinds. All but FlexStart give machines at once or refuse them.
const (
	FlexStart   Capacity = "flex_start" // of a nodeset with dws_flex
	OnDemand    Capacity = "on_demand"
	Spot        Capacity = "spot"
	Reservation Capacity = "reservation" // a named one, which the machines consume
)

// NoLease is how far away the end of a machine without a lease is: ten years.
const NoLease = 10 * 365 * 24 * time.Hour

// AtOnce reports whether machines come at once or are refused: Google has no queue
// for them.
func (c Capacity) AtOnce() bool { return c != FlexStart }

// Model is the provisioning model of such machines, in the API's word. Source: discovery
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

// readCapacity reads the keys of a nodeset with capacity, whose machines have no lease
// and come by bulk insert: all of a job's, or none.
func readCapacity(s *section) *Flex {
	values := defaults[Flex]()
	f := &values
	f.MaxRunDuration, f.SalvageTimeout = 0, 0 // no lease, and nothing to salvage
	f.UseBulkInsert = true
	s.read(f, besideCapacity)
	if s.text("capacity", "") == "" {
		s.problem("capacity", "empty; give %s, %s or %s", OnDemand, Spot, Reservation)
	}
	if f.Capacity == Reservation && !reservationName.MatchString(f.Reservation) {
		s.problem("reservation_name", "%s; give NAME, or projects/PROJECT/reservations/NAME for one that is shared",
			unlike(f.Reservation, "is not the name of a reservation"))
	}
	return f
}
