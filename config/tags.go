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
//	unit      the unit of a number
//	default   the value without the key
//	leaves    the least part of max_run_duration that a duration must leave
//	words     the permitted values, separated by spaces; the first is the default
//	form      the form of a text, a key of forms
//	values    the permitted values, if no other tag names them
//	required  "true" if every configuration needs the key
//	doc       the meaning
//	needs     the key that this key needs
//	capacity  "too" if the key may also be set beside capacity, "only" if it is set only there
//	reload    "restart" if a running process keeps the value that it started with
type field struct {
	index     int
	is        reflect.Type
	key       string
	was       string
	bounds    string // of a number; otherwise empty
	low, high int64  // for a duration in nanoseconds
	unit      string
	unset     string
	words     []string
	form      string
	values    string
	required  bool
	doc       string
	needs     string
	leaves    time.Duration
	capacity  string
	restart   bool
}

// taggedOf returns all keys of a struct, in the order of the struct.
func taggedOf(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		at := t.Field(i)
		tag := at.Tag.Get
		if tag("key") == "" || tag("key") == "-" {
			continue
		}
		f := field{
			index: i, is: at.Type, key: tag("key"), was: tag("was"), bounds: tag("range"), unit: tag("unit"), unset: tag("default"), words: strings.Fields(tag("words")),
			form: tag("form"), values: tag("values"), required: tag("required") == "true", doc: tag("doc"), needs: tag("needs"), capacity: tag("capacity"),
			restart: tag("reload") == "restart",
		}
		if leaves := tag("leaves"); leaves != "" {
			f.leaves = time.Duration(number(duration, leaves))
		}
		if low, high, bounded := strings.Cut(f.bounds, " to "); bounded {
			f.low, f.high = number(f.is, low), number(f.is, high)
		}
		if f.unset == "" && len(f.words) > 0 {
			f.unset = f.words[0]
		}
		fields = append(fields, f)
	}
	return fields
}

// fieldsOf returns the keys of a struct that have a field.
func fieldsOf(t reflect.Type) []field {
	return slices.DeleteFunc(taggedOf(t), func(f field) bool { return t.Field(f.index).Name == "_" })
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
var inSize = only("node_count_static", "node_count_dynamic_max")

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
			if f.required && v.Field(f.index).IsZero() && f.form != "" {
				s.problem(f.key, "missing; must be %s", forms[f.form].values)
			}
		}
	}
}

func (s *section) readField(f field, v reflect.Value) {
	switch {
	case v.CanInt():
		s.number(f, v)
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
	case f.form != "":
		v.SetString(s.formed(f.key, f.form, v.String()))
	default:
		v.SetString(s.text(f.key, v.String()))
	}
}

// Unmet is a key without effect, because a key that it needs is not set.
type Unmet struct {
	Key   string
	Needs string
	Set   string // the text that sets the needed key
}

// Unmet returns the keys without effect in a nodeset, whether they are in the file or not.
func (f *Flex) Unmet() (unmet []Unmet) {
	v := reflect.ValueOf(f).Elem()
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
