package gce

import (
	"encoding/json"
	"hash/maphash"
	"sync"
)

// mostValid limits the remembered answers. A pass over a large region reads some dozens of pages.
const mostValid = 1000

// seed makes hashes of this process unpredictable.
var seed = maphash.MakeSeed()

// valid remembers which answers were JSON: a steady pass reads the same pages as the pass before. It
// keeps 64-bit hashes of their texts. Answers of several regions are checked side by side.
type valid struct {
	mu    sync.Mutex
	known map[uint64]bool // nil before the first answer
}

// isJSON reports whether the text is JSON.
func (v *valid) isJSON(text []byte) bool {
	hash := maphash.Bytes(seed, text)
	v.mu.Lock()
	known := v.known[hash]
	v.mu.Unlock()
	if known {
		return true
	}
	if !json.Valid(text) {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil || len(v.known) >= mostValid {
		v.known = map[uint64]bool{}
	}
	v.known[hash] = true
	return true
}
