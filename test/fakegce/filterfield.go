package fakegce

import (
	"reflect"
	"strconv"
	"strings"
)

// step leads from a value to a field of it: of a struct by index, of a map by
// key.
type step struct {
	index int
	key   string
}

// fieldReader finds a field by its path, such as scheduling.automaticRestart
// labels.owner or tags.items, in items of type t. Reading gives a string, a number
// (int64, uint64 or float64), a bool, a list of these, or nil where the resource does
// not have the field.
func fieldReader(t reflect.Type, path string) (func(reflect.Value) any, bool) {
	var steps []step
	for name := range strings.SplitSeq(path, ".") {
		t = element(t)
		switch t.Kind() {
		case reflect.Struct:
			f, ok := jsonField(t, name)
			if !ok {
				return nil, false
			}
			steps = append(steps, step{index: f.Index[0]})
			t = f.Type
		case reflect.Map:
			steps = append(steps, step{key: name})
			t = t.Elem()
		default:
			return nil, false
		}
	}
	return func(v reflect.Value) any { return read(v, steps) }, scalar(t)
}

// element is what a pointer, or a list, holds.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// scalar reports whether a filter can compare fields of the type.
func scalar(t reflect.Type) bool {
	switch element(t).Kind() {
	case reflect.String, reflect.Bool, reflect.Int64, reflect.Uint64, reflect.Float64:
		return true
	}
	return false
}

func read(v reflect.Value, steps []step) any {
	for v.Kind() == reflect.Pointer {
		v = v.Elem() // the zero Value for nil
	}
	switch v.Kind() {
	case reflect.Slice:
		return readEach(v, steps)
	case reflect.Struct:
		return read(v.Field(steps[0].index), steps[1:])
	case reflect.Map:
		return read(v.MapIndex(reflect.ValueOf(steps[0].key)), steps[1:])
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int64:
		return v.Int()
	case reflect.Uint64:
		return v.Uint()
	case reflect.Float64:
		return v.Float()
	}
	return nil
}

func readEach(list reflect.Value, steps []step) []any {
	var all []any
	for i := range list.Len() {
		switch inner := read(list.Index(i), steps).(type) {
		case nil:
		case []any:
			all = append(all, inner...)
		default:
			all = append(all, inner)
		}
	}
	return all
}

// textOf is a field's value as a regular expression sees it.
func textOf(field any) string {
	switch field := field.(type) {
	case string:
		return field
	case bool:
		return strconv.FormatBool(field)
	case int64:
		return strconv.FormatInt(field, 10)
	case uint64:
		return strconv.FormatUint(field, 10)
	case float64:
		return strconv.FormatFloat(field, 'f', -1, 64)
	}
	return ""
}
