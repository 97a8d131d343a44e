package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/check"
	"slurmflex/flex/view"
	"slurmflex/test/fakegce"
)

// documents lists each object that --json prints, with the commands that print it.
var documents = []struct {
	kind     string
	of       any
	commands []string
}{
	{"status", view.View{}, []string{"status", "status --nodeset a3 --sort wait"}},
	{"why", view.Story{}, []string{"why 812", "why alpha-a3-0", "why 99", "why --story 812"}},
	{"plan", view.Plan{}, []string{"plan", "gc --dry-run", "down --dry-run"}},
	{"pass", view.Pass{}, []string{"gc", "sync", "sync"}},
	{"unblock", view.Unblock{}, []string{"unblock a3"}},
	{"down", view.Takedown{}, nil}, // see TestDownReportsAsJSON
	{"check", check.Report{}, []string{"config check"}},
	{"effective_config", check.Effective{}, []string{"config check --effective"}},
	{"version", view.Build{}, []string{"version"}},
}

// fields returns the rows that docs/reference.md must have for a JSON object and for the objects in it
// that were not described before: "rows.zone string?".
func fields(of reflect.Type, path string, described map[reflect.Type]bool) []string {
	described[of] = true
	var rows, inner []string
	for f := range of.Fields() {
		if f.Anonymous || !f.IsExported() { // the envelope, and fields that are not in the JSON
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind, object := kindOf(f.Type)
		if options != "" {
			kind += "?"
		}
		rows = append(rows, fmt.Sprintf("%s.%s %s", path, name, kind))
		if object != nil && !described[object] {
			inner = append(inner, fields(object, strings.TrimPrefix(path+"."+name, "status."), described)...)
		}
	}
	return append(rows, inner...)
}

// kindOf returns the word for a type, and the type of the objects in it.
func kindOf(of reflect.Type) (word string, object reflect.Type) {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return "time", nil
	case of == reflect.TypeFor[view.Seconds]():
		return "seconds", nil
	case of.Kind() == reflect.Slice:
		word, object = kindOf(of.Elem())
		return word + "s", object
	case of.Kind() == reflect.Pointer:
		return kindOf(of.Elem())
	case of.Kind() == reflect.Struct:
		return "object", of
	case of.Kind() == reflect.Map:
		return "object", nil
	case of.Kind() == reflect.String:
		return "string", nil
	case of.Kind() == reflect.Bool:
		return "boolean", nil
	}
	return "number", nil
}

func TestJSONPageListsExactlyTheFields(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	row := regexp.MustCompile("^\\| (`[\\w`, ]+`) \\| (\\w+\\??) \\| (.+) \\|$") // of one name, or of several names with one type
	small := regexp.MustCompile("^\\| `([\\w.]+)` \\| .*\\| (.+) \\|$")          // of a kind, with its names
	inner := regexp.MustCompile("`(\\w+)` (\\w+\\??)")
	var documented []string
	document := func(path, names string) {
		for _, m := range inner.FindAllStringSubmatch(names, -1) {
			documented = append(documented, path+"."+m[1]+" "+m[2])
		}
	}
	object := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			object = heading
		}
		if strings.HasPrefix(line, "## ") {
			object = "" // of another JSON
		}
		if object == "Other commands" {
			if m := small.FindStringSubmatch(line); m != nil {
				document(m[1], m[2])
			}
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || object == "" {
			continue
		}
		for name := range strings.SplitSeq(m[1], ", ") {
			name = object + "." + strings.Trim(name, "`")
			documented = append(documented, name+" "+m[2])
			if strings.HasPrefix(m[2], "object") { // a small object: its names are in the row
				document(strings.TrimPrefix(name, "status."), m[3])
			}
		}
	}
	for i, name := range documented {
		documented[i] = strings.Replace(name, " hostlist", " string", 1)
	}
	var want []string
	described := map[reflect.Type]bool{}
	for _, d := range documents {
		want = append(want, fields(reflect.TypeOf(d.of), d.kind, described)...)
	}
	assert.ElementsMatch(t, want, documented)
	assert.Contains(t, string(page), fmt.Sprintf("| `schema_version` | number | %d; ", view.Schema))
}

func TestEveryReportingCommandPrintsItsDocument(t *testing.T) {
	for name, w := range map[string]*world{"with nothing to do": newWorld(t), "with much to do": mixed(t)} {
		t.Run(name, func(t *testing.T) {
			for _, d := range documents {
				for _, command := range d.commands {
					r := w.flex(t, append(strings.Fields(command), "--json")...).exits(t, exitDone)
					text := r.stdout.String()
					decoder := json.NewDecoder(strings.NewReader(text))
					decoder.DisallowUnknownFields()
					require.NoError(t, decoder.Decode(reflect.New(reflect.TypeOf(d.of)).Interface()), "%s: %s", command, text)
					assert.False(t, decoder.More(), "%s: it is one object", command)
					envelope := fmt.Sprintf("{\n  \"schema_version\": %d,\n  \"kind\": %q,\n", view.Schema, d.kind)
					assert.True(t, strings.HasPrefix(text, envelope), "%s: %s", command, text)
					assert.NotContains(t, text, "null", command)
				}
			}
		})
	}
}

func TestFailureIsInTheDocumentAndInTheExitStatus(t *testing.T) {
	w := newWorld(t)
	w.left(t)
	require.NoError(t, w.cloud.AddFault(fakegce.Fault{
		Method: "*.deleteInstances", Status: 403, Message: "Required 'compute.instances.delete' permission",
	}))
	r := w.flex(t, "gc").exits(t, exitFailed)
	assert.Equal(t, "0 actions done, 1 failed\n", r.stdout.String())
	assert.Regexp(t, `\nslurmflex: 1 of 1 actions failed; the next pass retries\n$`, r.stderr.String())
	r = w.flex(t, "gc", "--json").exits(t, exitFailed)
	var pass view.Pass
	require.NoError(t, json.Unmarshal(r.stdout.Bytes(), &pass))
	require.Len(t, pass.Actions, 1)
	assert.Contains(t, pass.Actions[0].Error, "Required 'compute.instances.delete' permission")
	assert.Equal(t, 3, pass.Actions[0].Times)

	w.configure(t, "project: demo\n", "")
	var report check.Report
	r = w.flex(t, "config", "check", "--json").exits(t, exitUsage)
	require.NoError(t, json.Unmarshal(r.stdout.Bytes(), &report))
	assert.False(t, report.Valid)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, check.Finding{Level: check.Fault, File: w.path("config.yaml"), Line: 1, Key: "project", Text: report.Findings[0].Text}, report.Findings[0])
	assert.Contains(t, r.stderr.String(), "project: missing")
}
