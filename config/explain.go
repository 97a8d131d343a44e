package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Explanation describes a key of the configuration file for people. Unknown parts are empty.
type Explanation struct {
	Path    string // such as nodeset.NAME.dws_flex.keep_idle
	Doc     string
	Values  string
	Default string // "required" for a key that must be set
}

var named = regexp.MustCompile(`^(partitions|nodeset|slurmflex\.regions)\.[^.]+`)

// Meaning returns all about the key as one text.
func (e Explanation) Meaning() string {
	text := e.Doc + " Values: " + e.Values + "."
	switch e.Default {
	case "":
		return text
	case "required":
		return text + " Required."
	}
	return text + " Default: " + e.Default + "."
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
	if near, ok := nearest(path, known); ok {
		return nil, fmt.Errorf("unknown key %s; did you mean %s?", quote(path), near)
	}
	return nil, fmt.Errorf("unknown key %s; slurmflex config --explain lists all keys", quote(path))
}

// explained returns the keys of a struct below a path, in the order of the struct.
func explained(t reflect.Type, path string) []Explanation {
	var keys []Explanation
	for f := range t.Fields() {
		key := f.Tag.Get("key")
		if key == "" || key == "-" {
			continue
		}
		at := path
		if f.Tag.Get("capacity") == "only" {
			at = strings.TrimSuffix(path, "dws_flex.")
		}
		keys = append(keys, Explanation{at + key, docOf(f), valuesOf(f), defaultOf(f)})
		inner := f.Type
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

// docOf returns the meaning of a key, and what its other tags say about it.
func docOf(f reflect.StructField) string {
	doc := f.Tag.Get("doc")
	if needs := f.Tag.Get("needs"); needs != "" {
		doc += " Has no effect without " + needs + "."
	}
	if f.Tag.Get("capacity") == "too" {
		doc += " Beside capacity, it is set in the nodeset itself."
	}
	if f.Tag.Get("reload") == "restart" {
		doc += " A change needs a restart of the daemon."
	}
	return doc
}

// forms are the values of texts and lists, by their form.
var forms = map[string]string{
	"path": "absolute path", "address": "HOST:PORT", "endpoint": "http(s)://HOST[:PORT]", "cluster": "name", "project": "id", "name": "name",
}

// valuesOf returns the permitted values of a key.
func valuesOf(f reflect.StructField) string {
	words, form, bounds, unit := f.Tag.Get("words"), f.Tag.Get("form"), f.Tag.Get("range"), f.Tag.Get("unit")
	switch {
	case f.Tag.Get("values") != "":
		return f.Tag.Get("values")
	case words != "":
		return either(strings.Fields(words))
	case form != "":
		return forms[form]
	case unit == "s":
		low, high, _ := strings.Cut(bounds, " to ")
		return inSeconds(low) + " to " + inSeconds(high) + " s"
	case unit == "duration":
		return bounds
	case bounds != "":
		return strings.TrimSpace(bounds + " " + unit)
	case f.Type.Kind() == reflect.Bool:
		return "true or false"
	case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.String:
		return "list of names"
	}
	return "mapping"
}

// defaultOf returns the value without the key.
func defaultOf(f reflect.StructField) string {
	unset := f.Tag.Get("default")
	switch {
	case f.Tag.Get("required") == "true":
		return "required"
	case f.Tag.Get("unit") == "s" && unset != "":
		return inSeconds(unset)
	case unset != "":
		return unset
	case f.Tag.Get("words") != "" && f.Tag.Get("capacity") != "only":
		return strings.Fields(f.Tag.Get("words"))[0]
	case f.Type.Kind() == reflect.Bool:
		return "false"
	case strings.HasPrefix(f.Tag.Get("range"), "0"): // a key without 0 may be unset
		return "0"
	}
	return ""
}

// inSeconds returns a duration in a tag as a number of seconds.
func inSeconds(text string) string {
	return strconv.Itoa(int(number(duration, text) / int64(time.Second)))
}
