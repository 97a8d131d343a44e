package gce

import (
	"hash/maphash"
	"sync"

	"slurmflex/mig"
)

// rows are those of the lists that every pass reads.
type rows struct {
	groups    said[mig.Group]
	instances said[*shown]
}

// said remembers what the rows of lists were understood to say: one whose text is the
// same says the same. Only those of the last whole list are kept, and only their texts'
// hashes, of 64 bits by a secret of the process.
type said[T any] struct {
	mu    sync.Mutex
	seed  maphash.Seed
	lists map[string]map[rowText]T
}

// rowText is the text of a row.
type rowText struct {
	place string // the zone that it is of, where the row itself does not say
	hash  uint64
}

// saying is a list that is being read.
type saying[T any] struct {
	said        *said[T]
	name        string
	before, now map[rowText]T
}

// begin begins to read a list.
func (s *said[T]) begin(name string) *saying[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.seed, s.lists = maphash.MakeSeed(), map[string]map[rowText]T{}
	}
	before := s.lists[name]
	return &saying[T]{s, name, before, make(map[rowText]T, len(before))}
}

// end remembers the list, all of which was read.
func (l *saying[T]) end() {
	l.said.mu.Lock()
	defer l.said.mu.Unlock()
	l.said.lists[l.name] = l.now
}

// row is what a row says: as before, or as read finds it. What is not whole is read
// again each time.
func (l *saying[T]) row(place string, text []byte, read func() (one T, whole bool, err error)) (T, error) {
	key := rowText{place, maphash.Bytes(l.said.seed, text)}
	one, known := l.before[key]
	whole := known
	var err error
	if !known {
		one, whole, err = read()
	}
	if whole && err == nil {
		l.now[key] = one
	}
	return one, err
}
