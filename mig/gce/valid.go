package gce

import (
	"encoding/json"
	"hash/maphash"
	"sync"
)

// mostValid limits the remembered answers. A pass over a large region reads some dozens of pages.
const mostValid = 1000

// valid remembers which answers were JSON: a steady pass reads the same pages as the pass before. It
// keeps 64-bit hashes of their texts with a secret seed of the process.
type valid struct {
	mu    sync.Mutex
	seed  maphash.Seed
	known map[uint64]bool // nil before the first answer
}

// isJSON reports whether the text is JSON.
func (v *valid) isJSON(text []byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.seed, v.known = maphash.MakeSeed(), map[uint64]bool{}
	}
	hash := maphash.Bytes(v.seed, text)
	if v.known[hash] {
		return true
	}
	if !json.Valid(text) {
		return false
	}
	if len(v.known) >= mostValid {
		clear(v.known)
	}
	v.known[hash] = true
	return true
}
