package mig

import "time"

// Provisioning models, in the API's words. Source: discovery document,
// Scheduling.provisioningModel.
const (
	FlexStart = "FLEX_START"
	Spot      = "SPOT"
	Standard  = "STANDARD"
)

// BulkSpec describes the instances of one bulk insert: Compute creates all of them in one zone, or
// none. No group manages these instances; their labels hold Stamp.
type BulkSpec struct {
	Region    string
	Zones     []string      // short names of zones of Region; at least one
	Template  Template      // as read back: its link and labels are used
	Instances []string      // 1 to MaxInstances names
	Model     string        // the provisioning model
	Duration  time.Duration // FlexStart: MinDuration to MaxDuration in whole seconds; other models: 0, no limit
	Stamp     Stamp

	// Reservation is the name or link of the reservation that the instances consume; empty: none.
	Reservation string

	// Occasion identifies the purpose of the call. A call acts only if no earlier call with the same
	// occasion, no matter who sent it, is still running or ended successfully in the last three
	// minutes. With an empty occasion, only a call that this process repeats because it does not know
	// the outcome has no effect of its own.
	Occasion string

	// Failed is how many calls with that Occasion are known to have failed. It saves calls.
	Failed int
}
