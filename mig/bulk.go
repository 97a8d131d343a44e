package mig

import "time"

// Provisioning models, in the API's words. Source: discovery document,
// Scheduling.provisioningModel.
const (
	FlexStart = "FLEX_START"
	Spot      = "SPOT"
	Standard  = "STANDARD"
)

// BulkSpec says which instances one bulk insert must make: all of them in one
// zone, or none. No group manages them; their labels hold Stamp.
type BulkSpec struct {
	Region    string
	Zones     []string      // short names of zones of Region; at least one
	Template  Template      // as read back: its link and labels are used
	Instances []string      // 1 to MaxInstances names
	Model     string        // the provisioning model
	Duration  time.Duration // with FlexStart MinDuration to MaxDuration, whole seconds; 0 with the others: for ever
	Stamp     Stamp

	// Reservation is the name, or link, of the one that they consume; empty: none.
	Reservation string

	// Occasion names what the instances are made for. Of calls that bear the same
	// one, no matter who makes them, Compute acts on the first. Empty: each call acts.
	Occasion string
}
