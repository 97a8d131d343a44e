// Package past remembers the last day of a cluster: how many nodes waited and ran, how leases were
// used, and the stories of jobs. It is only for people: nothing is decided from it, and it is lost
// when the daemon stops. It is pure: its times are those of the passes.
package past

import (
	"slices"
	"time"

	"slurmflex/flex/ledger"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
)

// The limits of a day.
const (
	Length     = 24 * time.Hour
	pace       = time.Minute // between samples
	mostJobs   = 2000
	mostEvents = 60 // per job
	mostUses   = 60 // per lease
)

// Day holds the observations of the last day. A copy returned by Clone does not change.
type Day struct {
	Since   time.Time // time of the first observation; zero before it
	Samples []Sample  // oldest first
	Latest  Sample    // of the last complete observation

	leases ledger.Book[lease, used]
}

// Clone returns a copy of the day as it is now.
func (d *Day) Clone() Day {
	c := *d
	c.leases = d.leases.Clone()
	return c
}

// See adds the observations of a pass. An incomplete observation does not become a sample.
func (d *Day) See(s *scene.Scene, p plan.Plan) {
	l := newLook(s, p)
	if d.Since.IsZero() {
		d.Since = l.at
	}
	if isComplete(s) {
		d.Latest = l.sample()
		if n := len(d.Samples); n == 0 || l.at.Truncate(pace).After(d.Samples[n-1].At.Truncate(pace)) {
			d.Samples = append(d.Samples, d.Latest)
		}
	}
	d.use(l)
	for len(d.Samples) > 0 && l.at.Sub(d.Samples[0].At) > Length {
		d.Samples = d.Samples[1:]
	}
}

// isComplete reports whether all regions could be read.
func isComplete(s *scene.Scene) bool { return !slices.ContainsFunc(s.Regions(), s.Unseen) }
