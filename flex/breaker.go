package flex

import (
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
)

// breakerRest is how long a nodeset is blocked after the last failure.
const breakerRest = time.Hour

// breaker counts, by nodeset, the instances in a row whose slurmd never
// registered. It is the daemon's memory: a restart, like an admin, clears it.
type breaker struct {
	mu   sync.Mutex
	sets map[string]*bootRecord
}

type bootRecord struct {
	failed map[plan.Boot]bool // each instance counts once
	last   time.Time          // when the last failure was noted
	newest time.Time          // the creation of the newest instance that failed
}

// note takes over what a round saw. An instance that came up after the last
// failed one was made ends the row.
func (b *breaker) note(boots []plan.Boot, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, boot := range boots {
		r := b.sets[boot.Set]
		switch {
		case boot.Up && r != nil && boot.Created.After(r.newest):
			delete(b.sets, boot.Set)
		case !boot.Up && (r == nil || !r.failed[boot]):
			if r == nil {
				r = &bootRecord{failed: map[plan.Boot]bool{}}
			}
			if b.sets == nil {
				b.sets = map[string]*bootRecord{}
			}
			b.sets[boot.Set] = r
			r.failed[boot], r.last = true, now
			if boot.Created.After(r.newest) {
				r.newest = boot.Created
			}
		}
	}
}

// blocked returns the nodesets from which nothing more is to be asked, with the
// number of failures in a row.
func (b *breaker) blocked(cfg *config.Config, now time.Time) map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := map[string]int{}
	for _, set := range cfg.NodeSets {
		r := b.sets[set.Name]
		if set.Flex == nil || r == nil {
			continue
		}
		if now.Sub(r.last) >= breakerRest {
			delete(b.sets, set.Name)
			continue
		}
		if most := set.Flex.BootFailures; most > 0 && len(r.failed) >= most {
			open[set.Name] = len(r.failed)
		}
	}
	return open
}

// clear forgets the failures of a nodeset.
func (b *breaker) clear(set string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sets, set)
}
