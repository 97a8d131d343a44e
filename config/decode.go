package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxEntries bounds the keys and list items that are read, so that a few
// aliases cannot make millions of a small file.
const maxEntries = 50_000

// reader gathers what is found while a file is read.
type reader struct {
	file     string
	problems Problems
	faulty   map[string]bool // keys that have a problem
	ignored  []Ignored
	places   map[string]string // of places
	left     int               // of maxEntries
	root     *yaml.Node
}

// problem records what is wrong with a key. A key has one problem at most: the
// first is the cause of those that follow from it.
func (r *reader) problem(line int, key, format string, args ...any) {
	if r.faulty[key] {
		return
	}
	r.faulty[key] = true
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// spend takes one entry from what may be read, and reports whether there was one.
func (r *reader) spend(line int) bool {
	if r.left == 0 {
		r.problem(line, "", "more than %d keys and list items with aliases written out; use fewer aliases", maxEntries)
		return false
	}
	r.left--
	return true
}

// document parses the file and returns its top level; nil if there is a
// problem with the file as a whole.
func (r *reader) document(data []byte) *section {
	if len(data) > MaxSize {
		r.problem(0, "", "larger than %d MiB; a configuration is much smaller, so give another file", MaxSize>>20)
		return nil
	}
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && doc.Content[0].ShortTag() == "!!null" {
		r.problem(0, "", "empty; give at least slurm_cluster_name and project")
		return nil
	}
	if err != nil {
		r.syntax(err)
		return nil
	}
	switch err := d.Decode(&more); {
	case err == nil:
		r.problem(more.Line, "", "a second YAML document; keep one")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	if top := doc.Content[0]; top.Kind != yaml.MappingNode {
		r.problem(top.Line, "", "%s is not a mapping; give keys and values", describe(top))
		return nil
	}
	r.root = doc.Content[0]
	return r.newSection("", "", 1, r.root)
}

var syntaxError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// syntax records an error of the YAML parser. Its line is not always that of
// the error: the parser counts some from 0, or from where the value begins.
func (r *reader) syntax(err error) {
	where, text := "", err.Error()
	if m := syntaxError.FindStringSubmatch(text); m != nil {
		text = m[2]
		if m[1] != "" {
			where = " near line " + m[1]
		}
	}
	r.problem(0, "", "not YAML%s: %s; fix the syntax", where, text)
}

// section is a mapping of the file. Its methods read one key each; a null is
// the same as a key that is not there, which is how slurm-gcp writes it. What
// was asked for is known, so finish can tell what is not.
type section struct {
	r       *reader
	path    string // empty at the top level
	name    string // the last part of path, as written in the file
	line    int    // of the section's own key
	keys    []string
	entries map[string]entry
	asked   map[string]bool
}

type entry struct {
	line  int
	value *yaml.Node
}

// newSection reads a mapping; nil is an empty one.
func (r *reader) newSection(path, name string, line int, n *yaml.Node) *section {
	s := &section{
		r: r, path: path, name: name, line: line,
		entries: make(map[string]entry), asked: make(map[string]bool),
	}
	if n != nil {
		s.add(n, make(map[*yaml.Node]bool))
	}
	return s
}

// add takes the entries of a mapping, its own before those that it merges with
// <<. A mapping that was merged already has nothing to add, which also ends
// the loop of one that merges itself.
func (s *section) add(n *yaml.Node, merged map[*yaml.Node]bool) {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		s.r.problem(s.line, s.path, "%s is not a mapping; give keys and values", describe(n))
		return
	}
	if merged[n] {
		return
	}
	merged[n] = true
	var merges []*yaml.Node
	own := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		switch {
		case !s.r.spend(key.Line):
			return
		case key.ShortTag() == "!!merge":
			merges = append(merges, value)
		case key.Kind != yaml.ScalarNode:
			s.r.problem(key.Line, s.path, "%s is not a key; give a word", describe(key))
		case own[key.Value] > 0:
			s.r.problem(key.Line, s.key(key.Value), "appears twice, first on line %d; keep one", own[key.Value])
		default:
			own[key.Value] = key.Line
			s.put(key.Value, entry{key.Line, value})
		}
	}
	for _, m := range merges {
		if list := resolve(m); list.Kind == yaml.SequenceNode {
			for _, item := range list.Content {
				s.add(item, merged)
			}
		} else {
			s.add(m, merged)
		}
	}
}

func (s *section) put(key string, e entry) {
	if _, taken := s.entries[key]; !taken {
		s.keys = append(s.keys, key)
		s.entries[key] = e
	}
}

var plainKey = regexp.MustCompile(`^[\w-]+$`)

// key is the path of a key of the section, in one line whatever the key is.
func (s *section) key(key string) string {
	if !plainKey.MatchString(key) {
		key = quote(key)
	}
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}

// lineOf is the line of a key of the section or, if it is not there, the
// section's own.
func (s *section) lineOf(key string) int {
	if e, ok := s.entries[key]; ok {
		return e.line
	}
	return s.line
}

// problem records what is wrong with a key of the section.
func (s *section) problem(key, format string, args ...any) {
	s.r.problem(s.lineOf(key), s.key(key), format, args...)
}

// value returns a key's value; false if it is not there or null.
func (s *section) value(key string) (*yaml.Node, bool) {
	s.asked[key] = true
	e, ok := s.entries[key]
	if !ok {
		return nil, false
	}
	n := resolve(e.value)
	if n.ShortTag() == "!!null" {
		return nil, false
	}
	return n, true
}

// has reports whether the key is there, even with a null.
func (s *section) has(key string) bool {
	_, ok := s.entries[key]
	return ok
}

// section reads a mapping, which is empty if the key is not there.
func (s *section) section(key string) *section {
	n, _ := s.value(key)
	return s.r.newSection(s.key(key), key, s.lineOf(key), n)
}

// sections reads a mapping of mappings, in the order of the file.
func (s *section) sections(key string) []*section {
	outer := s.section(key)
	var all []*section
	for _, name := range outer.keys {
		all = append(all, outer.section(name))
	}
	return all
}

// finish reports every key of a section of ours that nobody asked for.
func (s *section) finish() {
	for _, key := range s.unread() {
		if instead, known := removed[s.key(key)]; known {
			s.problem(key, "no longer a key; remove it, and %s", instead)
		} else {
			s.problem(key, "unknown key; %s", s.suggest(key))
		}
	}
}

// removed names what replaces each key that a release has read and that this one does not know.
var removed = map[string]string{
	"slurmflex.max_gates": "set waiting: pending for jobs that start as soon as their machines are up",
}

// ignore returns the keys of a section of slurm-gcp's that were not read: each
// release has more of them. One of a section of ours is reported, and one that is most
// likely a misspelling of a key that is read.
func (s *section) ignore() []Ignored {
	var ignored []Ignored
	for _, key := range s.unread() {
		if place, ours := s.r.places[key]; ours {
			s.problem(key, "has no effect here; give it inside %s", place)
		} else if near, ok := nearest(key, s.known()); ok && edits(key, near) <= maxSlip {
			s.problem(key, "unknown key; did you mean %s?", near)
		} else {
			ignored = append(ignored, Ignored{Key: s.key(key), Line: s.lineOf(key)})
		}
	}
	return ignored
}

// maxSlip is how many letters of a key may differ for it to be a slip.
const maxSlip = 2

// unread are the keys that nobody asked for.
func (s *section) unread() []string {
	return slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool { return s.asked[key] })
}

// known are the keys that were read, whether they are there or not.
func (s *section) known() []string { return slices.Sorted(maps.Keys(s.asked)) }

func (s *section) suggest(key string) string {
	if place, ours := s.r.places[key]; ours {
		return "give it inside " + place
	}
	if near, ok := nearest(key, s.known()); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "remove it"
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// describe says in a message what is in the file.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!str":
		return quote(n.Value)
	case n.ShortTag() == "!!null":
		return "null"
	}
	quoted := quote(n.Value)
	return quoted[1 : len(quoted)-1]
}

// quote puts a text of the file into a message: one line, and not endless.
func quote(text string) string {
	const longest = 80
	if len(text) > longest {
		end := longest
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return strconv.Quote(text)
}
