package view

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fields are the rows that docs/status.md must have of a JSON object, and of
// those in it: "rows.zone string?".
func fields(of reflect.Type, path string) []string {
	var rows, inner []string
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind, object := kindOf(f.Type)
		if options != "" {
			kind += "?"
		}
		rows = append(rows, fmt.Sprintf("%s.%s %s", path, name, kind))
		if object != nil {
			inner = append(inner, fields(object, strings.TrimPrefix(path+"."+name, "status."))...)
		}
	}
	return append(rows, inner...)
}

// kindOf is the word for a type, and the type of the objects in it.
func kindOf(of reflect.Type) (word string, object reflect.Type) {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return "time", nil
	case of == reflect.TypeFor[Seconds]():
		return "seconds", nil
	case of.Kind() == reflect.Slice:
		word, object = kindOf(of.Elem())
		return word + "s", object
	case of.Kind() == reflect.Pointer:
		return kindOf(of.Elem())
	case of.Kind() == reflect.Struct:
		return "object", of
	case of.Kind() == reflect.String:
		return "string", nil
	case of.Kind() == reflect.Bool:
		return "boolean", nil
	}
	return "number", nil
}

func TestThePageOfTheJSONHasEachOfItsFieldsAndNoOther(t *testing.T) {
	page, err := os.ReadFile("../../docs/status.md")
	require.NoError(t, err)
	row := regexp.MustCompile("^\\| `(\\w+)` \\| (\\w+\\??) \\| .+ \\|$")
	var documented []string
	object := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## ") {
			object = "" // of another JSON
		}
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			object = heading
		}
		if m := row.FindStringSubmatch(line); m != nil && object != "" {
			documented = append(documented, fmt.Sprintf("%s.%s %s", object, m[1], strings.Replace(m[2], "hostlist", "string", 1)))
		}
	}
	assert.ElementsMatch(t, fields(reflect.TypeFor[View](), "status"), documented)
}
