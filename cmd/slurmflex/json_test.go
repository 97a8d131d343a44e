package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/setup"
	"slurmflex/flex/view"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// documents lists each object that --json prints, with the commands that print it.
var documents = []struct {
	kind     string
	of       any
	commands []string
}{
	{"status", view.View{}, []string{"status", "status --nodeset a3"}},
	{"why", view.Answer{}, []string{"why 812", "why alpha-a3-0", "why 99", "why --story 812"}},
	{"plan", view.Plan{}, []string{"plan", "gc --dry-run", "down --dry-run"}},
	{"pass", view.Pass{}, []string{"gc", "sync", "sync"}},
	{"block", view.Blocked{}, []string{"block a3"}},
	{"unblock", view.Unblock{}, []string{"unblock a3"}},
	{"down", view.Takedown{}, nil}, // see TestDownReportsAsJSON
	{"check", setup.Report{}, []string{"config check"}},
	{"effective_config", setup.Effective{}, []string{"config check --effective"}},
	{"version", view.Build{}, []string{"version"}},
}

func TestEveryReportingCommandPrintsItsDocument(t *testing.T) {
	schema := must.Text("../../docs/slurmflex.schema.json")
	for name, w := range map[string]*world{"with nothing to do": newWorld(t), "with much to do": mixed(t)} {
		t.Run(name, func(t *testing.T) {
			for _, d := range documents {
				assert.Contains(t, schema, fmt.Sprintf("\"const\": %q,", d.kind))
				for _, command := range d.commands {
					r := w.in(t).flex(append(strings.Fields(command), "--json")...).exits(exitDone)
					text := r.stdout.String()
					r.decodes(reflect.New(reflect.TypeOf(d.of)).Interface())
					envelope := fmt.Sprintf("{\n  \"schema_version\": %d,\n  \"kind\": %q,\n", view.Schema, d.kind)
					assert.True(t, strings.HasPrefix(text, envelope), "%s: %s", command, text)
					assert.NotContains(t, text, "null", command)
				}
			}
		})
	}
}

func TestFailureIsInTheDocumentAndInTheExitStatus(t *testing.T) {
	w := left(t)
	require.NoError(t, w.cloud.AddFault(fakegce.Fault{
		Method: "*.deleteInstances", Status: 403, Message: "Required 'compute.instances.delete' permission",
	}))
	r := w.fails("gc")
	r.printed("0 actions done, 1 failed\n")
	assert.Regexp(t, `\nslurmflex: 1 of 1 actions failed; the next pass retries\n$`, r.stderr.String())
	r = w.fails("gc", "--json")
	var pass view.Pass
	r.decodes(&pass)
	require.Len(t, pass.Actions, 1)
	assert.Contains(t, pass.Actions[0].Error, "Required 'compute.instances.delete' permission")
	assert.Equal(t, 3, pass.Actions[0].Times)

	w.configure("project: demo\n", "")
	var report setup.Report
	r = w.rejects("config", "check", "--json")
	r.decodes(&report)
	assert.False(t, report.Valid)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, "project", report.Findings[0].Key)
	r.reports("project: missing")
}
