package gce

import (
	"hash/maphash"
	"sync"

	"slurmflex/mig"
)

// rows caches the parsed rows of the lists that every pass reads.
type rows struct {
	groups    said[mig.Group]
	instances said[*shown]
}

// said caches the parsed rows of a list: equal text has equal meaning. It keeps only the rows of
// the last complete list, keyed by a 64-bit hash of their text with a secret seed of the process.
type said[T any] struct {
	mu    sync.Mutex
	seed  maphash.Seed
	lists map[string]map[rowText]T
}

// rowText identifies the text of a row.
type rowText struct {
	place string // the row's zone, if the row does not contain it
	hash  uint64
}

// saying is a list that is being read.
type saying[T any] struct {
	said        *said[T]
	name        string
	before, now map[rowText]T
}

// begin starts to read a list.
func (s *said[T]) begin(name string) *saying[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.seed, s.lists = maphash.MakeSeed(), map[string]map[rowText]T{}
	}
	before := s.lists[name]
	return &saying[T]{s, name, before, make(map[rowText]T, len(before))}
}

// end stores the rows of a list that was read completely.
func (l *saying[T]) end() {
	l.said.mu.Lock()
	defer l.said.mu.Unlock()
	l.said.lists[l.name] = l.now
}

// row returns the cached value of a row, or calls read. Incomplete values are not cached.
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
