// Package schema keeps docs/slurmflex.schema.json, the JSON Schema of what slurmflex prints with
// --json and of a line of the history. It derives the schema from the Go types and their comments.
package schema

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/cost"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/setup"
	"slurmflex/flex/view"
	"slurmflex/test/must"
)

const file = "../../../docs/slurmflex.schema.json"

// documents are the objects that --json prints, by their kind, and the lines of the history.
var documents = map[string]any{
	"status": view.View{}, "why": view.Answer{}, "estimate": estimate.Report{}, "cost": cost.Report{}, "plan": view.Plan{}, "pass": view.Pass{},
	"block": view.Blocked{}, "unblock": view.Unblock{}, "down": view.Takedown{}, "check": setup.Report{}, "effective_config": setup.Effective{},
	"version": view.Build{}, "wait": history.Entry{}, "job": history.StoryLine{},
}

// derived returns the schema as JSON.
func derived(t *testing.T) []byte {
	t.Helper()
	// The comments are found by paths that start with the package's.
	t.Chdir("../../..")
	r := &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true,
		Namer: func(of reflect.Type) string {
			if of.Name() == "" { // a list
				return ""
			}
			return of.PkgPath()[strings.LastIndex(of.PkgPath(), "/")+1:] + "." + of.Name()
		},
		Mapper: func(of reflect.Type) *jsonschema.Schema {
			switch of {
			case reflect.TypeFor[view.Seconds]():
				return &jsonschema.Schema{Type: "number"}
			case reflect.TypeFor[view.Hostlist]():
				return &jsonschema.Schema{Type: "string"}
			case reflect.TypeFor[history.Time](), reflect.TypeFor[time.Time]():
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			}
			return nil
		},
	}
	for _, folder := range []string{"./flex", "./mig"} {
		require.NoError(t, r.AddGoComments("slurmflex", folder, jsonschema.WithFullComment()))
	}
	s := &jsonschema.Schema{
		Version: jsonschema.Version, Definitions: jsonschema.Definitions{},
		Title: "An object that slurmflex prints with --json, or a line of the history",
	}
	for _, kind := range slices.Sorted(maps.Keys(documents)) {
		document := r.Reflect(documents[kind])
		maps.Copy(s.Definitions, document.Definitions)
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Ref: document.Ref})
		of, _ := s.Definitions[strings.TrimPrefix(document.Ref, "#/$defs/")].Properties.Get("kind")
		if of.Const = kind; kind == "wait" {
			of.Const, of.Enum = nil, []any{"wait", "lease"}
		}
	}
	return append(must.Get(json.MarshalIndent(s, "", " ")), '\n')
}

func TestSchemaFollowsTheTypes(t *testing.T) {
	is, err := os.ReadFile(file)
	want := derived(t)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(strings.TrimPrefix(file, "../../../"), want, 0o644))
		return
	}
	require.NoError(t, err)
	if string(want) != string(is) {
		t.Error("docs/slurmflex.schema.json is not what the types say; run UPDATE=1 go test -C test/tools ./schema")
	}
}

// TestStatusHasItsSchema validates the golden status of package view, and with a name less, and with
// a value of a wrong type.
func TestStatusHasItsSchema(t *testing.T) {
	compiler := validator.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(file)
	require.NoError(t, err)
	for name, change := range map[string]func(map[string]any){
		"":                       func(map[string]any) {},
		"missing property":       func(status map[string]any) { delete(status, "rows") },
		"is not valid date-time": func(status map[string]any) { status["seen_at"] = "noon" },
	} {
		text := must.Get(os.ReadFile("../../../flex/view/testdata/status.json"))
		var status map[string]any
		require.NoError(t, json.Unmarshal(text, &status))
		change(status)
		err = schema.Validate(status)
		if name == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, name)
		}
	}
}
