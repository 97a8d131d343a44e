package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// text reads a string. An empty string is the same as a missing key, as in slurm-gcp.
func (s *section) text(key, unset string) string {
	n, ok := s.value(key)
	if !ok {
		return unset
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		s.problem(key, "%s is not a string; write a string in quotes", describe(n))
		return unset
	}
	if n.Value == "" {
		return unset
	}
	return n.Value
}

// flag reads a boolean. A missing key is false.
func (s *section) flag(key string) bool { return s.flagOr(key, false) }

func (s *section) flagOr(key string, unset bool) bool {
	n, ok := s.value(key)
	if !ok {
		return unset
	}
	var b bool
	if n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
		s.problem(key, "%s is not a boolean; must be true or false", describe(n))
		return unset
	}
	return b
}

// integer reads a whole number from low to high.
func (s *section) integer(key string, unset, low, high int) int {
	if n, ok := s.value(key); ok {
		return s.whole(key, n, unset, low, high, "")
	}
	return unset
}

// seconds reads a number of seconds from low to high.
func (s *section) seconds(key string, unset, low, high time.Duration) time.Duration {
	n, ok := s.value(key)
	if !ok {
		return unset
	}
	return time.Second * time.Duration(s.whole(key, n, int(unset/time.Second), int(low/time.Second), int(high/time.Second), " s"))
}

// whole parses a whole number of a unit from low to high. For any other value it records a problem
// and returns unset.
func (s *section) whole(key string, n *yaml.Node, unset, low, high int, unit string) int {
	var i int
	switch {
	case n.ShortTag() != "!!int":
		s.problem(key, "%s is not a whole number; must be %d to %d", describe(n), low, high)
	case n.Decode(&i) != nil:
		s.problem(key, "%s is out of range; must be %d to %d", describe(n), low, high)
	case i < low:
		s.problem(key, "%d%s is below %d%s; must be %d to %d", i, unit, low, unit, low, high)
	case i > high:
		s.problem(key, "%d%s is above %d%s; must be %d to %d", i, unit, high, unit, low, high)
	default:
		return i
	}
	return unset
}

// duration reads a duration such as 30s or a number of seconds, from low to high.
func (s *section) duration(key string, unset, low, high time.Duration) time.Duration {
	n, ok := s.value(key)
	if !ok {
		return unset
	}
	if n.ShortTag() == "!!int" {
		return s.seconds(key, unset, low, high)
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case n.ShortTag() != "!!str" || err != nil:
		s.problem(key, "%s is not a duration; must be %s to %s", describe(n), low, high)
	case d < low || d > high:
		s.problem(key, "%s is out of range; must be %s to %s", d, low, high)
	default:
		return d
	}
	return unset
}

// texts reads a list of strings. It returns an empty list for null, for a missing key, and for a
// list with a problem.
func (s *section) texts(key string) []string {
	n, ok := s.value(key)
	if !ok {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		s.problem(key, "%s is not a list; write a list in brackets", describe(n))
		return nil
	}
	list := make([]string, 0, len(n.Content))
	for i, item := range n.Content {
		item = resolve(item)
		switch {
		case !s.r.spend(item.Line):
			return nil
		case item.ShortTag() != "!!str" || item.Value == "":
			s.itemProblem(key, i, "%s is not a name; write a string", describe(item))
			s.r.faulty[s.key(key)] = true
		default:
			list = append(list, item.Value)
		}
	}
	if len(list) < len(n.Content) {
		return nil
	}
	return list
}

// itemProblem records a problem of a list item, counted from 0.
func (s *section) itemProblem(key string, i int, format string, args ...any) {
	item := resolve(s.entries[key].value).Content[i]
	s.r.problem(item.Line, fmt.Sprintf("%s[%d]", s.key(key), i), format, args...)
}

// settings reads a mapping of words, numbers or booleans, as written in the file. Nulls are left
// out.
func (s *section) settings(key string) map[string]string {
	inner := s.section(key)
	all := make(map[string]string, len(inner.keys))
	for _, k := range inner.keys {
		n, ok := inner.value(k)
		switch {
		case !ok:
		case n.Kind != yaml.ScalarNode:
			inner.problem(k, "%s is not a single value; write a single value", describe(n))
		default:
			all[k] = n.Value
		}
	}
	return all
}

// choice reads one of the given words.
func (s *section) choice(key, unset string, words []string) string {
	word := s.text(key, unset)
	if !slices.Contains(words, word) {
		s.problem(key, "%s is not known; must be %s", quote(word), either(words))
		return unset
	}
	return word
}

// either lists the words to choose from.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
