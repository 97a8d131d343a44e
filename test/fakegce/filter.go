package fakegce

import (
	"reflect"
	"regexp"
	"strings"
)

// filterForm is the form of a filter: a field, a sign and a value.
var filterForm = regexp.MustCompile(`^\s*([A-Za-z]+)\s*(=|\beq\b)\s*("[^"]*"|[^\s"=<>:()]+)\s*$`)

// predicate reports whether a resource (a pointer to an API struct) matches.
type predicate func(reflect.Value) bool

// parseFilter parses a list's filter for items of type t: a text field that equals a value, or that
// matches a regular expression as a whole (eq). Other syntax of Compute is refused with status 501.
func parseFilter(filter string, t reflect.Type) (predicate, error) {
	if filter == "" {
		return func(reflect.Value) bool { return true }, nil
	}
	m := filterForm.FindStringSubmatch(filter)
	if m == nil {
		return nil, notImplemented("This fake takes filters of the forms name=VALUE and name eq EXPRESSION only, and not " + filter + ".")
	}
	field, known := jsonField(t, m[1])
	value := strings.Trim(m[3], `"`)
	if m[2] == "=" {
		value = regexp.QuoteMeta(value)
	}
	whole, err := regexp.Compile(`^(?:` + value + `)$`)
	if !known || field.Type.Kind() != reflect.String || err != nil {
		return nil, invalid("Invalid value for field 'filter': '%s'. Invalid list filter expression.", filter)
	}
	return func(v reflect.Value) bool { return whole.MatchString(v.Elem().FieldByIndex(field.Index).String()) }, nil
}

// jsonField returns the struct field with this JSON name.
func jsonField(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == name && tag != "-" {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}
