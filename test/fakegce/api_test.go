package fakegce

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This test fails when the pinned module is updated. UPDATE=1 writes api.json; its diff shows
// which changes the fake must follow.
func TestAPIDocumentIsThatOfThePinnedModule(t *testing.T) {
	d, err := discovery()
	require.NoError(t, err)
	text, err := d.needed().text()
	require.NoError(t, err)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile("api.json", []byte(text), 0o644))
		return
	}
	assert.Equal(t, d.Revision, theAPI().Revision, "the revision")
	assert.Equal(t, text, string(apiText))
}

// needed returns the part of the document that the fake uses.
func (d *document) needed() *api {
	a := &api{Revision: d.Revision, Methods: make(map[string]method), Schemas: make(map[string]*schema)}
	for name := range handlers() {
		resource, verb, _ := strings.Cut(name, ".")
		m := d.Resources[resource].Methods[verb]
		a.Methods[name] = m
		d.reach(a, m.Request)
		d.reach(a, m.Response)
	}
	return a
}

// reach adds every schema that s refers to.
func (d *document) reach(a *api, s *schema) {
	if s == nil {
		return
	}
	if s.Ref != "" && a.Schemas[s.Ref] == nil {
		a.Schemas[s.Ref] = d.Schemas[s.Ref]
		d.reach(a, d.Schemas[s.Ref])
	}
	for _, p := range s.Properties {
		d.reach(a, p)
	}
	d.reach(a, s.Items)
	d.reach(a, s.AdditionalProperties)
}

// text formats the API with one line per method and per schema.
func (a *api) text() (string, error) {
	methods, err := rows(a.Methods)
	if err != nil {
		return "", err
	}
	schemas, err := rows(a.Schemas)
	return fmt.Sprintf("{\n\"revision\": %q,\n\"methods\": {\n%s\n},\n\"schemas\": {\n%s\n}\n}\n", a.Revision, methods, schemas), err
}

func rows[T any](m map[string]T) (string, error) {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b, err := json.Marshal(m[name])
		if err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("%q: %s", name, b))
	}
	return strings.Join(lines, ",\n"), nil
}
