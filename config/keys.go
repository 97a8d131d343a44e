package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Keys is the value of each key of a configuration file, and its line, as written: for messages, and for keys that Load passes over. A key is a
// path such as nodeset.a3.dws_flex; an item of a list has its number in it:
// zone_policy_allow[0].
type Keys struct {
	File  string // its name
	keys  map[string]written
	order []string
}

type written struct {
	line  int
	value string // of a scalar that is not null
	given bool   // there is a value
}

// Keys lists the keys of the file that the configuration was read from.
func (c *Config) Keys() *Keys {
	k := &Keys{File: c.file, keys: map[string]written{}}
	if c.root != nil {
		silent := &reader{faulty: make(map[string]bool), left: maxEntries} // Parse has named the problems
		k.add(silent, "", c.root, 0)
	}
	return k
}

// maxDepth is how deep keys may lie in each other. No key of ours lies deeper
// than four.
const maxDepth = 16

// add notes what stands below a key.
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
	w := written{line: e.line}
	if n := resolve(e.value); n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		w.value, w.given = n.Value, true
	}
	k.keys[path] = w
	k.order = append(k.order, path)
	k.add(r, path, e.value, depth+1)
}

// Has reports whether the key is in the file.
func (k *Keys) Has(key string) bool {
	_, there := k.keys[key]
	return there
}

// Line is the line of a key, from 1; of one that is not there, that of what it
// would stand in; 0 if that is not there either.
func (k *Keys) Line(key string) int {
	for {
		if w, there := k.keys[key]; there {
			return w.line
		}
		cut := strings.LastIndexAny(key, ".[")
		if cut < 0 {
			return 0
		}
		key = key[:cut]
	}
}

// Value is a single value as it is written; false if the key is not there, is
// null, or has more below it.
func (k *Keys) Value(key string) (string, bool) {
	w := k.keys[key]
	return w.value, w.given
}

// Setting is a key and its value.
type Setting struct{ Key, Value string }

// Below are the single values right below a key, in the order of the file.
func (k *Keys) Below(key string) []Setting {
	var all []Setting
	for _, path := range k.order {
		name, below := strings.CutPrefix(path, key+".")
		if w := k.keys[path]; below && w.given && !strings.ContainsAny(name, ".[") {
			all = append(all, Setting{name, w.value})
		}
	}
	return all
}
