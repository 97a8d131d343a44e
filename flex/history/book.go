package history

import (
	"iter"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Machine identifies an instance, because a name may be reused.
type Machine struct {
	Zone, Name string
	Created    int64 // Unix time
}

// Machines yields the cluster's machines, except those with an unknown creation time.
func Machines(s *scene.Scene) iter.Seq2[Machine, scene.Machine] {
	return func(yield func(Machine, scene.Machine) bool) {
		for _, in := range s.Machines() {
			if s.Belongs(in) && !in.Created.IsZero() && !yield(Machine{in.Zone, in.Name, in.Created.Unix()}, in) {
				return
			}
		}
	}
}

// Registered reports whether the slurmd of a node in that state has registered and still answers.
func Registered(s slurm.State) bool {
	const without = slurm.PoweredDown | slurm.PoweringDown | slurm.PoweringUp | slurm.PowerUp | slurm.NotResponding
	up := s.Base == slurm.Idle || s.Base == slurm.Allocated || s.Base == slurm.Mixed
	return up && s.Flags&without == 0
}

// Book keeps a record of each object that looks have shown. It is empty before the first look.
type Book[K comparable, R any] struct {
	looked  map[string]time.Time // by region: the last look that read it
	entries map[K]*entry[R]
}

// entry is an object's record. The region "" is that of objects that Slurm shows.
type entry[R any] struct {
	record R
	region string
	shown  bool // by the present look
	missed bool // the last look that read the region lacked it
}

// Show returns the record of an object that the present look shows. The object is new if no earlier
// look has shown it. What the first look at a region shows is not new, because its start is unknown
// or an earlier process has noted it.
func (b *Book[K, R]) Show(key K, region string) (record *R, isNew bool) {
	e := b.entries[key]
	if e == nil {
		if b.entries == nil {
			b.entries = map[K]*entry[R]{}
		}
		e, isNew = &entry[R]{}, !b.Last(region).IsZero()
		b.entries[key] = e
	}
	e.region, e.shown, e.missed = region, true, false
	return &e.record, isNew
}

// Last returns when the last look before this one read the region; zero if none has.
func (b *Book[K, R]) Last(region string) time.Time { return b.looked[region] }

// Close ends a look, and forgets what is gone: objects that two looks in a row lacked, because a
// list may be wrong once. If over is set, it decides instead about each object that the look lacked.
// Objects in unread regions are not gone.
func (b *Book[K, R]) Close(s *scene.Scene, over func(K, *R) bool) {
	for key, e := range b.entries {
		if e.shown || e.region != "" && s.Unseen(e.region) {
			e.shown = false
			continue
		}
		isOver := e.missed
		if over != nil {
			isOver = over(key, &e.record)
		}
		if e.missed = true; isOver {
			delete(b.entries, key)
		}
	}
	if b.looked == nil {
		b.looked = map[string]time.Time{}
	}
	b.looked[""] = s.Seen.Now
	for _, region := range s.Regions() {
		if !s.Unseen(region) {
			b.looked[region] = s.Seen.Now
		}
	}
}
