package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/cost"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// namesOf returns the JSON names of a type's fields, including embedded ones, except the
// envelope's.
func namesOf(of reflect.Type) (names []string) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == reflect.TypeFor[view.Envelope](), !f.IsExported():
		case f.Anonymous && f.Type.Kind() == reflect.Pointer:
			names = append(names, namesOf(f.Type.Elem())...)
		case f.Anonymous:
			names = append(names, namesOf(f.Type)...)
		case name != "-":
			names = append(names, name)
		}
	}
	return names
}

func TestHistoryPageListsEveryName(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	for heading, types := range map[string][]reflect.Type{
		"The history":          {reflect.TypeFor[history.Entry](), reflect.TypeFor[history.Use]()},
		"The JSON of estimate": {reflect.TypeFor[estimate.Report](), reflect.TypeFor[estimate.Answer]()},
		"The JSON of cost":     {reflect.TypeFor[cost.Report](), reflect.TypeFor[cost.Line]()},
	} {
		_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
		require.True(t, found, heading)
		section, _, _ = strings.Cut(section, "\n## ")
		documented := map[string]bool{}
		for _, quoted := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(section, -1) {
			documented[quoted[1]] = true
		}
		for _, of := range types {
			for _, name := range namesOf(of) {
				assert.True(t, documented[name], "%s: %s of %s", heading, name, of)
			}
		}
	}
}
