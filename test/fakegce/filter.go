package fakegce

import (
	"reflect"
	"regexp"
	"strings"
)

// filterTerm is a list's filter: a field, what it is compared by, and with what.
var filterTerm = regexp.MustCompile(`^\s*([A-Za-z.]+)\s*(=|\beq\b)\s*("[^"]*"|[^\s"'()*=<>!:]+)\s*$`)

// predicate says whether a resource (a pointer to an API struct) matches.
type predicate func(reflect.Value) bool

// parseFilter reads a list's filter for items of type t. Of the two forms that
// Compute has it knows one comparison each: a field that is equal to a value,
// and one that matches a regular expression as a whole. It refuses what it does
// not understand.
func parseFilter(filter string, t reflect.Type) (predicate, error) {
	if strings.TrimSpace(filter) == "" {
		return func(reflect.Value) bool { return true }, nil
	}
	refused := invalid("Invalid value for field 'filter': '%s'. Invalid list filter expression.", filter)
	term := filterTerm.FindStringSubmatch(filter)
	if term == nil {
		return nil, refused
	}
	get, ok := fieldReader(t, term[1])
	if !ok {
		return nil, refused
	}
	value := strings.Trim(term[3], `"`)
	if term[2] == "=" {
		return func(v reflect.Value) bool { return get(v) == value }, nil
	}
	whole, err := regexp.Compile(`^(?:` + value + `)$`)
	if err != nil {
		return nil, refused
	}
	return func(v reflect.Value) bool { return whole.MatchString(get(v)) }, nil
}

// fieldReader finds a field of text by its path, such as scheduling.onHostMaintenance,
// in items of type t. Reading gives "" where the resource does not have the field.
func fieldReader(t reflect.Type, path string) (get func(reflect.Value) string, ok bool) {
	var steps []int
	for name := range strings.SplitSeq(path, ".") {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil, false
		}
		f, ok := jsonField(t, name)
		if !ok {
			return nil, false
		}
		steps, t = append(steps, f.Index[0]), f.Type
	}
	return func(v reflect.Value) string {
		for _, step := range steps {
			if v = reflect.Indirect(v); !v.IsValid() {
				return ""
			}
			v = v.Field(step)
		}
		return v.String()
	}, t.Kind() == reflect.String
}
