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

// maxEntries limits the keys and list items that are read, so that aliases cannot turn a small file
// into millions of entries.
const maxEntries = 50_000

// reader collects problems and facts while a file is read.
type reader struct {
	file     string
	problems Problems
	faulty   map[string]bool   // keys with a problem
	ignored  []string          // for Config
	places   map[string]string // the result of places
	left     int               // entries left of maxEntries
	root     *yaml.Node
}

// problem records a problem of a key. Only the first problem of a key is kept, because later ones
// usually follow from it.
func (r *reader) problem(line int, key, format string, args ...any) {
	if r.faulty[key] {
		return
	}
	r.faulty[key] = true
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// spend takes one entry from the budget. It reports false if the budget is used up.
func (r *reader) spend(line int) bool {
	if r.left == 0 {
		r.problem(line, "", "more than %d keys and list items with aliases written out; use fewer aliases", maxEntries)
		return false
	}
	r.left--
	return true
}

// document parses the file and returns its top level; nil if the file as a whole has a problem. Each
// further YAML document extends and replaces the keys of those before it.
func (r *reader) document(data []byte) *section {
	if len(data) > MaxSize {
		r.problem(0, "", "larger than %d MiB; a configuration is much smaller, so use another file", MaxSize>>20)
		return nil
	}
	// The parser also reads UTF-16, and names no line of a wrong byte.
	if line := slices.IndexFunc(bytes.Split(data, []byte("\n")), func(line []byte) bool { return !utf8.Valid(line) }); line >= 0 {
		r.problem(line+1, "", "not UTF-8; save the file in UTF-8")
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.syntax(err)
			return nil
		}
		switch top := doc.Content[0]; {
		case top.ShortTag() == "!!null":
		case top.Kind != yaml.MappingNode:
			r.problem(top.Line, "", "%s is not a mapping; write keys and values", describe(top))
			return nil
		case r.root == nil:
			r.root = top
		default:
			r.root = r.overlay(r.root, top)
		}
	}
	if r.root == nil {
		r.problem(0, "", "empty; set at least slurm_cluster_name and project")
		return nil
	}
	return r.newSection("", "", 1, r.root)
}

// overlay returns the mapping base with the keys of the mapping over, in which mappings extend each
// other. A key that over has twice stays twice, which add reports.
func (r *reader) overlay(base, over *yaml.Node) *yaml.Node {
	base, over = resolve(base), resolve(over)
	if base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		return over
	}
	merged := *base // aliases may share base
	merged.Content = slices.Clone(base.Content)
	at := make(map[string]int)
	for i := 0; i+1 < len(base.Content); i += 2 {
		at[resolve(base.Content[i]).Value] = i
	}
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		if !r.spend(key.Line) {
			break
		}
		j, known := at[resolve(key).Value]
		if !known {
			merged.Content = append(merged.Content, key, value)
			continue
		}
		delete(at, resolve(key).Value)
		merged.Content[j], merged.Content[j+1] = key, r.overlay(merged.Content[j+1], value)
	}
	return &merged
}

var syntaxError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// syntax records an error of the YAML parser. Its line may be inexact, because the parser counts
// some lines from 0, or from the start of the value.
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

// section is a mapping in the file. Its methods read one key each. A null counts as a missing key,
// because slurm-gcp writes null for unset keys. The section remembers the keys that were read, so
// that finish can report the rest.
type section struct {
	r       *reader
	path    string // empty at the top level
	name    string // the last part of path, as written in the file
	line    int    // the line of the section's own key
	keys    []string
	entries map[string]entry
	asked   map[string]bool
}

type entry struct {
	line  int
	value *yaml.Node
}

// newSection reads a mapping. A nil node is an empty mapping.
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

// add adds the entries of a mapping: its own entries first, then those that it merges with <<. A
// mapping is merged only once, so that a mapping that merges itself does not loop.
func (s *section) add(n *yaml.Node, merged map[*yaml.Node]bool) {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		s.r.problem(s.line, s.path, "%s is not a mapping; write keys and values", describe(n))
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
			s.r.problem(key.Line, s.path, "%s is not a key; write a word", describe(key))
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

// key returns the path of a key in the section, on one line even if the key has line breaks.
func (s *section) key(key string) string {
	if !plainKey.MatchString(key) {
		key = quote(key)
	}
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}

// lineOf returns the line of a key in the section. For a missing key it returns the line of the
// section.
func (s *section) lineOf(key string) int {
	if e, ok := s.entries[key]; ok {
		return e.line
	}
	return s.line
}

// problem records a problem of a key in the section.
func (s *section) problem(key, format string, args ...any) {
	s.r.problem(s.lineOf(key), s.key(key), format, args...)
}

// value returns a key's value; false if the key is missing or null.
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

// has reports whether the key exists, even with a null.
func (s *section) has(key string) bool {
	_, ok := s.entries[key]
	return ok
}

// section reads a mapping. A missing key is an empty mapping.
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

// finish reports every key in a section of slurmflex that has not been read.
func (s *section) finish() {
	for _, key := range s.unread() {
		if instead, known := removed[s.key(key)]; known {
			s.problem(key, "no longer a key; remove it, and %s", instead)
		} else if place, ours := s.r.places[key]; ours {
			s.problem(key, "unknown key; move it into %s", place)
		} else {
			s.problem(key, "unknown key; %s", suggest(key, s.known(), "remove it"))
		}
	}
}

const mailed = "use Slurm's --mail-type, and Alertmanager with the alert rules of slurmflex"

// removed maps keys that an earlier release read, and this release does not know, to their
// replacements.
var removed = map[string]string{
	"slurmflex.capacity_advice":    "use slurmflex estimate, which reads only this cluster's waits",
	"slurmflex.credentials_file":   "set google_app_cred_path, outside this section",
	"slurmflex.log_format":         "read log_file, which has JSON, or the journal",
	"slurmflex.metrics_by_account": "use slurmflex cost --by account --json",
	"slurmflex.notify_events":      mailed,
	"slurmflex.notify_program":     mailed,
	"slurmflex.notify_timeout":     mailed,
	"slurmflex.max_gates":          "set waiting: pending for jobs that start as soon as their machines are up",
}

// ignore returns the unread keys in a section of slurm-gcp, because each release of slurm-gcp adds
// keys. It reports two kinds as problems: keys of slurmflex's sections, and likely misspellings of
// keys that were read.
func (s *section) ignore() []string {
	var ignored []string
	for _, key := range s.unread() {
		if place, ours := s.r.places[key]; ours {
			s.problem(key, "has no effect here; move it into %s", place)
		} else if near, ok := nearest(key, s.known()); ok && edits(key, near) <= maxSlip {
			s.problem(key, "unknown key; did you mean %s?", near)
		} else {
			ignored = append(ignored, s.key(key))
		}
	}
	return ignored
}

// maxSlip is the maximum number of differing letters in a misspelled key.
const maxSlip = 2

// unread returns the keys that have not been read.
func (s *section) unread() []string {
	return slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool { return s.asked[key] })
}

// known returns the keys that have been read, whether they exist or not.
func (s *section) known() []string { return slices.Sorted(maps.Keys(s.asked)) }

// resolve follows an alias to its node.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// describe describes a node for a message.
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

// quote formats text of the file for a message: on one line, shortened.
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
