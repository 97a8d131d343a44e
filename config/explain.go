package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Explanation describes a key of the configuration file for people. Unknown parts are empty.
type Explanation struct {
	Path    string // such as nodeset.NAME.dws_flex.keep_idle
	Meaning string // all about the key
	Doc     string
	Default string // "required" for a key that must be set
}

var named = regexp.MustCompile(`^(partitions|nodeset|slurmflex\.regions)\.[^.]+`)

// meaningOf returns all about a key as one text.
func meaningOf(f field) string {
	text, unset := docOf(f)+" Values: "+valuesOf(f)+".", defaultOf(f)
	switch unset {
	case "":
		return text
	case "required":
		return text + " Required."
	}
	return text + " Default: " + unset + "."
}

// Explain explains the key with a path, or with the last parts of one, and the keys below it. An
// empty path stands for all keys.
func Explain(path string) ([]Explanation, error) {
	keys := explained(reflect.TypeFor[Config](), "")
	if path == "" {
		return keys, nil
	}
	name := named.ReplaceAllString(path, "$1.NAME")
	var found []Explanation
	var known []string
	for _, k := range keys {
		known = append(known, k.Path, k.Path[strings.LastIndex(k.Path, ".")+1:])
		if strings.Contains("."+k.Path+".", "."+name+".") {
			found = append(found, k)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, fmt.Errorf("unknown key %s; %s", quote(path), suggest(path, known, "slurmflex config --explain lists all keys"))
}

// explained returns the keys of a struct below a path, in the order of the struct.
func explained(t reflect.Type, path string) []Explanation {
	var keys []Explanation
	for _, f := range taggedOf(t) {
		at, key := path, f.key
		if f.capacity == "only" {
			at = strings.TrimSuffix(path, "dws_flex.")
		}
		keys = append(keys, Explanation{at + key, meaningOf(f), docOf(f), defaultOf(f)})
		inner := f.is
		if inner.Kind() == reflect.Slice {
			inner, key = inner.Elem(), key+".NAME"
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			keys = append(keys, explained(inner, at+key+".")...)
		}
	}
	return keys
}

// docOf returns the meaning of a key, and what follows from its other tags.
func docOf(f field) string {
	doc := f.doc
	if f.needs != "" {
		doc += " Has no effect without " + f.needs + "."
	}
	if f.leaves > 0 {
		doc += fmt.Sprintf(" At most max_run_duration - %s.", f.leaves)
	}
	if f.capacity == "too" {
		doc += " Beside capacity, it is set in the nodeset itself."
	}
	if f.restart {
		doc += " A change needs a restart of the daemon."
	}
	return doc
}

// valuesOf returns the permitted values of a key.
func valuesOf(f field) string {
	switch {
	case f.values != "":
		return f.values
	case len(f.words) > 0:
		return either(f.words)
	case f.form != "":
		return forms[f.form].values
	case f.bounds != "":
		return strings.TrimSpace(f.bounds + " " + f.unit)
	case f.is.Kind() == reflect.Bool:
		return "true or false"
	case f.is == reflect.TypeFor[[]string]():
		return "list of names"
	}
	return "mapping"
}

// defaultOf returns the value without the key.
func defaultOf(f field) string {
	switch {
	case f.required:
		return "required"
	case f.unset != "" && f.capacity != "only":
		return f.unset
	case f.is.Kind() == reflect.Bool:
		return "false"
	case strings.HasPrefix(f.bounds, "0"): // a key without 0 may be unset
		low, _, _ := strings.Cut(f.bounds, " to ")
		return low
	}
	return ""
}
