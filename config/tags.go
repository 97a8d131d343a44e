package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is a field of the configuration, as its struct tags describe it. The tags serve Parse,
// Effective, Reload, Unmet and Explain. A field named _ stands for a key that is read without a field,
// and serves Explain only.
//
//	key       the key in the file; "-" for a field that follows from other fields
//	was       the former name of the key, which is still accepted
//	range     the bounds of a number or duration, such as "1 to 1000" or "10m to 168h"
//	unit      the unit of a number or duration; a duration in "s" is a whole number of seconds
//	default   the value without the key
//	words     the permitted values, separated by spaces; the first is the default
//	form      the form of a text, a key of forms
//	values    the permitted values, if no other tag names them
//	required  "true" if there is no configuration without the key
//	doc       the meaning
//	needs     the key without which this key has no effect
//	capacity  "too" if the key may also be set beside capacity, "only" if it is set only there
//	reload    "restart" if a running process keeps the value that it started with
type field struct {
	index     int
	key       string
	was       string
	unit      string
	low, high int64 // for a duration in nanoseconds
	unset     string
	words     []string
	form      string
	needs     string
	capacity  string
	restart   bool
}

// fieldsOf returns the fields of a struct that have a key, in the order of the struct.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key := tag.Get("key")
		if key == "" || key == "-" || t.Field(i).Name == "_" {
			continue
		}
		f := field{
			index: i, key: key, was: tag.Get("was"), unit: tag.Get("unit"), unset: tag.Get("default"), words: strings.Fields(tag.Get("words")),
			form: tag.Get("form"), needs: tag.Get("needs"), capacity: tag.Get("capacity"), restart: tag.Get("reload") == "restart",
		}
		if low, high, bounded := strings.Cut(tag.Get("range"), " to "); bounded {
			f.low, f.high = number(t.Field(i).Type, low), number(t.Field(i).Type, high)
		}
		if f.unset == "" && len(f.words) > 0 {
			f.unset = f.words[0]
		}
		fields = append(fields, f)
	}
	return fields
}

// These functions select the fields of a Flex by the place where they are set.
func inFlexBlock(f field) bool    { return f.capacity != "only" }
func besideCapacity(f field) bool { return f.capacity != "" }

func all(field) bool { return true }

// only selects fields by key.
func only(keys ...string) func(field) bool {
	return func(f field) bool { return slices.Contains(keys, f.key) }
}

// inSize selects the fields that every nodeset has, including those that slurmflex does not
// provision.
var inSize = only("nodeset_name", "node_count_static", "node_count_dynamic_max")

var duration = reflect.TypeFor[time.Duration]()

// number parses a bound or default in a tag. A malformed tag is a bug.
func number(t reflect.Type, text string) int64 {
	if t == duration {
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(fmt.Sprintf("a struct tag of package config: %v", err))
		}
		return int64(d)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("a struct tag of package config: %v", err))
	}
	return n
}

// defaults returns a struct with the default of each field.
func defaults[T any]() T {
	var of T
	v := reflect.ValueOf(&of).Elem()
	for _, f := range fieldsOf(v.Type()) {
		to := v.Field(f.index)
		switch {
		case f.unset == "":
		case to.CanInt():
			to.SetInt(number(to.Type(), f.unset))
		default:
			to.SetString(f.unset)
		}
	}
	return of
}

// read reads the keys of selected fields of a struct from a section. If a key is missing, its field
// keeps its value.
func (s *section) read(into any, selects func(field) bool) {
	v := reflect.ValueOf(into).Elem()
	for _, f := range fieldsOf(v.Type()) {
		if selects(f) {
			if f.was != "" {
				_, former := s.value(f.was)
				switch {
				case former && s.has(f.key):
					s.problem(f.was, "is the former name of %s, which is set too; remove this", f.key)
				case former:
					f.key = f.was
				}
			}
			s.readField(f, v.Field(f.index))
		}
	}
}

func (s *section) readField(f field, v reflect.Value) {
	switch {
	case v.Type() == duration && f.unit == "s":
		v.SetInt(int64(s.seconds(f.key, time.Duration(v.Int()), time.Duration(f.low), time.Duration(f.high))))
	case v.Type() == duration:
		v.SetInt(int64(s.duration(f.key, time.Duration(v.Int()), time.Duration(f.low), time.Duration(f.high))))
	case v.CanInt():
		v.SetInt(int64(s.integer(f.key, int(v.Int()), int(f.low), int(f.high))))
	case v.Kind() == reflect.Bool:
		v.SetBool(s.flagOr(f.key, v.Bool()))
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(s.settings(f.key)))
	case v.Type() == reflect.TypeFor[[]Limit]():
		v.Set(reflect.ValueOf(readLimits(s.sections(f.key))))
	case v.Type() == reflect.TypeFor[[]Region]():
		v.Set(reflect.ValueOf(readRegions(s.sections(f.key))))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.ValueOf(s.texts(f.key)))
	case v.Kind() == reflect.Struct:
		inner := s.section(f.key)
		inner.read(v.Addr().Interface(), all)
		inner.finish()
	case len(f.words) > 0:
		v.SetString(s.choice(f.key, v.String(), f.words))
	default:
		v.SetString(s.formed(f.form, f.key, v.String()))
	}
}

// formed reads a text of a form.
func (s *section) formed(form, key, unset string) string {
	switch form {
	case "path":
		return s.absolute(key, unset)
	case "address":
		return s.address(key, unset)
	case "endpoint":
		return s.endpoint(key)
	case "cluster":
		return s.clusterName(key)
	case "project":
		return s.project(key)
	case "name":
		return s.ownName(key)
	case "":
		return s.text(key, unset)
	}
	panic(fmt.Sprintf("a struct tag of package config: unknown form %q", form))
}

// Unmet is a key that has no effect because a key that it needs is not set.
type Unmet struct {
	Key   string
	Needs string
	Set   string // the text that sets the needed key
}

// Unmet returns the keys that have no effect in a nodeset, whether they are in the file or not.
func (f *Flex) Unmet() []Unmet { return unmet(reflect.ValueOf(f).Elem()) }

func unmet(v reflect.Value) []Unmet {
	var unmet []Unmet
	fields := fieldsOf(v.Type())
	for _, f := range fields {
		at := slices.IndexFunc(fields, func(other field) bool { return f.needs != "" && other.key == f.needs })
		if at < 0 || !v.Field(fields[at].index).IsZero() {
			continue
		}
		set := f.needs
		if v.Field(fields[at].index).Kind() == reflect.Bool {
			set += ": true"
		}
		unmet = append(unmet, Unmet{Key: f.key, Needs: f.needs, Set: set})
	}
	return unmet
}
