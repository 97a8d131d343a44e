package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Keys holds each key of a configuration file with its line, also the keys that Load ignores. A key is
// a path such as nodeset.a3.dws_flex. An item of a list has its index in the path: zone_policy_allow[0].
type Keys struct {
	File string         // the name of the file
	keys map[string]int // the lines
}

// Keys returns the keys of the file that the configuration was read from.
func (c *Config) Keys() *Keys {
	k := &Keys{File: c.file, keys: map[string]int{}}
	if c.root != nil {
		silent := &reader{faulty: make(map[string]bool), left: maxEntries} // Parse reports them
		k.add(silent, "", c.root, 0)
	}
	return k
}

// maxDepth is the maximum nesting depth of keys. slurmflex's own keys are at most four deep.
const maxDepth = 16

// add adds the entries below a key.
func (k *Keys) add(r *reader, path string, n *yaml.Node, depth int) {
	if n = resolve(n); depth > maxDepth {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		s := r.newSection(path, "", n.Line, n)
		for _, key := range s.keys {
			k.note(r, s.key(key), s.entries[key], depth)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if !r.spend(item.Line) {
				return
			}
			k.note(r, fmt.Sprintf("%s[%d]", path, i), entry{item.Line, item}, depth)
		}
	}
}

func (k *Keys) note(r *reader, path string, e entry, depth int) {
	k.keys[path] = e.line
	k.add(r, path, e.value, depth+1)
}

// Has reports whether the key is in the file.
func (k *Keys) Has(key string) bool {
	_, there := k.keys[key]
	return there
}

// Line returns the line of a key, from 1. For a missing key it returns the line of the nearest
// existing parent; 0 if no parent exists.
func (k *Keys) Line(key string) int {
	for {
		if line, there := k.keys[key]; there {
			return line
		}
		cut := strings.LastIndexAny(key, ".[")
		if cut < 0 {
			return 0
		}
		key = key[:cut]
	}
}
