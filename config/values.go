package config

import (
	"fmt"
	"reflect"
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

// number reads a whole number, or a duration such as 30m: a number without a unit is in seconds.
func (s *section) number(f field, v reflect.Value) {
	n, ok := s.value(f.key)
	if !ok {
		return
	}
	kind, valid, got := "whole number", n.ShortTag() == "!!int", int64(0)
	if v.Type() == duration {
		text := n.Value
		if valid {
			text += "s"
		}
		d, err := time.ParseDuration(text)
		kind, valid, got = "duration in whole seconds", err == nil && d%time.Second == 0, int64(d)
	} else {
		valid = valid && n.Decode(&got) == nil
	}
	switch {
	case !valid:
		s.problem(f.key, "%s is not a %s; must be %s", describe(n), kind, f.bounds)
	case got < f.low || got > f.high:
		s.problem(f.key, "%s is out of range; must be %s", describe(n), f.bounds)
	default:
		v.SetInt(got)
	}
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
