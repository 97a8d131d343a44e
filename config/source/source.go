// Package source tells where in a configuration file a key stands, and what
// stands there as it is written. It is for messages, and for keys that package
// config passes over.
package source

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"slurmflex/regular"
)

// maxSize and maxKeys bound what is read of a file: 4 MiB, as package config
// does, and what a few aliases can make of it.
const (
	maxSize = 4 << 20
	maxKeys = 50_000
)

// File is a YAML file by its keys. A key is a path such as nodeset.a3.dws_flex,
// an item of a list has its number in it: zone_policy_allow[0].
type File struct {
	Path  string
	keys  map[string]entry
	order []string
}

type entry struct {
	line  int
	value string // of a scalar that is not null
	given bool   // there is a value
}

// Read reads the file at path.
func Read(path string) (*File, error) {
	f, err := regular.OpenPipe(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the content of a file; the path is only its name.
func Parse(path string, data []byte) (*File, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &File{Path: path, keys: map[string]entry{}}
	if len(doc.Content) > 0 {
		f.add("", doc.Content[0], 0)
	}
	return f, nil
}

// maxDepth is how deep keys may lie in each other. No key of ours lies deeper
// than four.
const maxDepth = 16

// add notes what stands below a key. Of a key that is there already, by itself
// or by an earlier merge (<<), the first counts.
func (f *File) add(path string, n *yaml.Node, depth int) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if depth > maxDepth {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		f.addMapping(path, n, depth)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			f.note(fmt.Sprintf("%s[%d]", path, i), item.Line, item, depth)
		}
	}
}

func (f *File) addMapping(path string, n *yaml.Node, depth int) {
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		f.note(join(path, key.Value), key.Line, value, depth)
	}
	for _, m := range merges {
		if m.Kind != yaml.SequenceNode {
			f.add(path, m, depth+1)
			continue
		}
		for _, one := range m.Content {
			f.add(path, one, depth+1)
		}
	}
}

func (f *File) note(path string, line int, value *yaml.Node, depth int) {
	if _, there := f.keys[path]; there || len(f.keys) >= maxKeys {
		return
	}
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	e := entry{line: line}
	if value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" {
		e.value, e.given = value.Value, true
	}
	f.keys[path] = e
	f.order = append(f.order, path)
	f.add(path, value, depth+1)
}

var plainKey = regexp.MustCompile(`^[\w-]+$`)

// join is the path of a key, written as package config writes it.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Has reports whether the key is in the file.
func (f *File) Has(key string) bool {
	_, there := f.keys[key]
	return there
}

// Line is the line of a key, from 1; of one that is not there, that of what it
// would stand in; 0 if that is not there either.
func (f *File) Line(key string) int {
	for {
		if e, there := f.keys[key]; there {
			return e.line
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
func (f *File) Value(key string) (string, bool) {
	e := f.keys[key]
	return e.value, e.given
}

// Setting is a key and its value.
type Setting struct{ Key, Value string }

// Below are the single values right below a key, in the order of the file.
func (f *File) Below(key string) []Setting {
	var all []Setting
	for _, path := range f.order {
		name, below := strings.CutPrefix(path, key+".")
		if e := f.keys[path]; below && e.given && !strings.ContainsAny(name, ".[") {
			all = append(all, Setting{name, e.value})
		}
	}
	return all
}
