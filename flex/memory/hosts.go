package memory

import (
	"maps"
	"time"

	"slurmflex/flex/plan/scene"
)

// badFor is how long the host of a machine that failed its health check is remembered.
const badFor = 24 * time.Hour

// Hosts remembers the physical hosts of machines that failed their health check, by their names in
// Compute.
type Hosts struct {
	// Recorded returns the failures since then from the history, which outlasts the process; nil: none.
	Recorded func(since time.Time) map[string]scene.BadHost

	bad map[string]scene.BadHost
}

// matter returns the failures of the last day.
func (h *Hosts) matter(now time.Time) map[string]scene.BadHost {
	if h.bad == nil {
		h.bad = map[string]scene.BadHost{}
		if h.Recorded != nil {
			maps.Copy(h.bad, h.Recorded(now.Add(-badFor)))
		}
	}
	maps.DeleteFunc(h.bad, func(_ string, b scene.BadHost) bool { return now.Sub(b.At) >= badFor })
	return maps.Clone(h.bad)
}

// see remembers the hosts of the machines that have failed their health check.
func (h *Hosts) see(s *scene.Scene) {
	for _, set := range s.Config.FlexSets() {
		b := s.Boots(set)
		if b == nil {
			continue
		}
		for name, why := range b.Unhealthy {
			for _, in := range s.MachinesOf(name) {
				if in.Host != "" {
					h.bad[in.Host] = scene.BadHost{Node: name, Why: why, At: s.Seen.Now}
				}
			}
		}
	}
}
