package mig

import "time"

// BulkSpec says which instances one bulk insert must make: all of them in one
// zone, or none. No group manages them; their labels hold Stamp.
type BulkSpec struct {
	Region    string
	Zones     []string      // short names of zones of Region; at least one
	Template  Template      // as read back: its link and labels are used
	Instances []string      // 1 to MaxInstances names
	Duration  time.Duration // MinDuration to MaxDuration, whole seconds
	Stamp     Stamp

	// Occasion names what the instances are made for. Of calls that bear the same
	// one, no matter who makes them, Compute acts on the first. Empty: each call acts.
	Occasion string
}
