package memory

import (
	"maps"
	"math"
	"sync"
	"time"
)

// recall remembers values by key, each with the time when it was noted. Nothing is forgotten by
// itself: the rule of each recall is in Memory.Begin, Memory.Complete, or at the caller. The zero
// value is empty. It is safe for concurrent use, because actions run in parallel, also with the
// next pass.
type recall[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]noted[V]
}

type noted[V any] struct {
	value V
	at    time.Time
}

// Note remembers a value, instead of what was noted for the key before.
func (r *recall[K, V]) Note(key K, value V, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[K]noted[V]{}
	}
	r.of[key] = noted[V]{value, at}
}

// Replace replaces the value of a remembered key, and keeps the time when it was noted.
func (r *recall[K, V]) Replace(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, known := r.of[key]; known {
		r.of[key] = noted[V]{value, was.at}
	}
}

// Get returns the value of a key, and when it was noted.
func (r *recall[K, V]) Get(key K) (value V, at time.Time, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.of[key]
	return was.value, was.at, known
}

// All returns a copy of all values.
func (r *recall[K, V]) All() map[K]V {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[K]V, len(r.of))
	for key, was := range r.of {
		all[key] = was.value
	}
	return all
}

// Forget forgets some keys.
func (r *recall[K, V]) Forget(keys ...K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		delete(r.of, key)
	}
}

// Expire forgets what was noted that long ago or earlier.
func (r *recall[K, V]) Expire(now time.Time, after time.Duration) {
	r.keep(func(_ K, was *noted[V]) bool { return age(now, was.at) < after })
}

// keepOnly forgets all other keys.
func (r *recall[K, V]) keepOnly(keys map[K]bool) {
	r.keep(func(key K, _ *noted[V]) bool { return keys[key] })
}

// keep forgets the keys for which the rule returns false. The rule may change what was noted.
func (r *recall[K, V]) keep(rule func(key K, was *noted[V]) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.of, func(key K, was noted[V]) bool {
		isKept := rule(key, &was)
		r.of[key] = was
		return !isKept
	})
}

// overlap is how much later than the start of a pass an event can be recorded and still be seen by
// that pass: actions continue while the next pass reads.
const overlap = 10 * time.Minute

// age returns how long ago then was. A time in the future was recorded before this host's clock was
// set back. It counts as very old, so that nothing waits until the clock reaches that time again.
func age(now, then time.Time) time.Duration {
	if then.Sub(now) > overlap {
		return math.MaxInt64
	}
	return now.Sub(then)
}
