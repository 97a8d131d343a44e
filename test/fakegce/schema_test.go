package fakegce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// document is Google's discovery document, as far as it is needed here.
type document struct {
	Revision   string             `json:"revision"`
	Schemas    map[string]*schema `json:"schemas"`
	Parameters map[string]any     `json:"parameters"` // of every method
	Resources  map[string]struct {
		Methods map[string]*method `json:"methods"`
	} `json:"resources"`
}

type method struct {
	HTTPMethod string `json:"httpMethod"`
	Path       string `json:"path"`
	Parameters map[string]struct {
		Location string `json:"location"`
	} `json:"parameters"`
	bodies
}

// discovery reads the document from the module that it ships in.
var discovery = sync.OnceValues(func() (*document, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		return nil, fmt.Errorf("find the discovery document: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "compute", "v1", "compute-api.json"))
	if err != nil {
		return nil, err
	}
	d := new(document)
	return d, json.Unmarshal(b, d)
})

// method is the method of that name, such as instances.aggregatedList.
func (d *document) method(name string) *method {
	resource, verb, _ := strings.Cut(name, ".")
	return d.Resources[resource].Methods[verb]
}

// faults is what is wrong with a JSON value by its schema.
func (d *document) faults(v any, s *schema, at string) []string {
	if s.Ref != "" {
		return d.faults(v, d.Schemas[s.Ref], at)
	}
	wrong := func() []string { return []string{fmt.Sprintf("%s: %v is not a %s %s", at, v, s.Type, s.Format)} }
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			return wrong()
		}
		var all []string
		for name, inner := range v {
			p := s.Properties[name]
			if p == nil {
				p = s.AdditionalProperties
			}
			if p == nil {
				all = append(all, at+"."+name+": there is no such field")
				continue
			}
			all = append(all, d.faults(inner, p, at+"."+name)...)
		}
		return all
	case []any:
		if s.Type != "array" {
			return wrong()
		}
		var all []string
		for _, inner := range v {
			all = append(all, d.faults(inner, s.Items, at+"[]")...)
		}
		return all
	case string:
		if s.Type != "string" || len(s.Enum) > 0 && !slices.Contains(s.Enum, v) || strings.HasSuffix(s.Format, "int64") && !digits(v) {
			return wrong()
		}
	case bool:
		if s.Type != "boolean" {
			return wrong()
		}
	case float64:
		if s.Type != "integer" && s.Type != "number" {
			return wrong()
		}
	}
	return nil
}

// unkind are the objects in an answer that lack the kind that their schema gives them.
func (d *document) unkind(v any, s *schema, at string) (all []string) {
	for s.Ref != "" {
		s = d.Schemas[s.Ref]
	}
	switch v := v.(type) {
	case map[string]any:
		if kind := s.Properties["kind"]; kind != nil && kind.Default != "" && v["kind"] != kind.Default {
			all = append(all, fmt.Sprintf("%s: its kind is %v, not %s", at, v["kind"], kind.Default))
		}
		for name, inner := range v {
			p := s.Properties[name]
			if p == nil {
				p = s.AdditionalProperties
			}
			if p != nil { // faults says it of what is nil
				all = append(all, d.unkind(inner, p, at+"."+name)...)
			}
		}
	case []any:
		for _, inner := range v {
			all = append(all, d.unkind(inner, s.Items, at+"[]")...)
		}
	}
	return all
}

func digits(s string) bool {
	_, err := json.Number(s).Int64()
	return err == nil || len(s) == 20
}

// goWords is what only a program in Go says: its errors, its types and its durations.
var goWords = regexp.MustCompile(`json: |unmarshal|Go struct|Go value|strconv|fakegce\.|invalid character|unexpected EOF|syntax error|%!|\b(?:\d+h)?\d+m\d+s\b|\*[a-z]+\.[A-Z]`)

// schemaChecker is a transport that holds every body of an accepted call
// against the discovery document, and lets no answer speak Go.
type schemaChecker struct {
	t    *testing.T
	next http.RoundTripper
}

func (c *schemaChecker) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(got))
	assert.NotRegexp(c.t, goWords, string(got), "%s %s shows what the fake is made of", r.Method, r.URL.Path)
	if resp.StatusCode != http.StatusOK || strings.HasPrefix(r.URL.Path, "/fake/") {
		return resp, nil
	}
	d, err := discovery()
	if err != nil {
		return nil, err
	}
	m := d.find(r)
	if m == nil {
		c.t.Errorf("%s %s was accepted, and is not a method of the API", r.Method, r.URL.Path)
		return resp, nil
	}
	for name := range r.URL.Query() {
		if d.Parameters[name] == nil && name != partialSuccess { // which the document lacks; see Switches
			assert.Equal(c.t, "query", m.Parameters[name].Location, "%s: parameter %s was accepted", r.URL.Path, name)
		}
	}
	if len(sent) > 0 {
		c.check(d.faults, sent, m.Request, "request")
	}
	c.check(d.faults, got, m.Response, "response")
	if !r.URL.Query().Has("fields") {
		c.check(d.unkind, got, m.Response, "response")
	}
	return resp, nil
}

func (c *schemaChecker) check(faults func(any, *schema, string) []string, body []byte, s *schema, what string) {
	var v any
	if assert.NoError(c.t, json.Unmarshal(body, &v), what) {
		assert.Empty(c.t, faults(v, s, what+" "+s.Ref))
	}
}

// find is the method that a request calls.
func (d *document) find(r *http.Request) *method {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/compute/v1/"), "/")
	var best *method
	for _, resource := range d.Resources {
		for _, m := range resource.Methods {
			if m.HTTPMethod == r.Method && fits(strings.Split(m.Path, "/"), path) && (best == nil || strings.Count(m.Path, "{") < strings.Count(best.Path, "{")) {
				best = m
			}
		}
	}
	return best
}

func fits(pattern, path []string) bool {
	if len(pattern) != len(path) {
		return false
	}
	for i, part := range pattern {
		if !strings.HasPrefix(part, "{") && part != path[i] {
			return false
		}
	}
	return true
}

func TestEveryRouteIsAMethodOfTheAPIWithItsParameters(t *testing.T) {
	d, err := discovery()
	require.NoError(t, err)
	for _, r := range routes() {
		t.Run(r.method, func(t *testing.T) {
			m := d.method(r.method)
			require.NotNil(t, m, "there is no such method")
			assert.Equal(t, m.HTTPMethod, r.verb)
			pattern := strings.Split(m.Path, "/")[2:]
			require.Len(t, r.pattern, len(pattern))
			for i, part := range pattern {
				if !strings.HasPrefix(part, "{") {
					assert.Equal(t, part, r.pattern[i])
				} else {
					assert.True(t, strings.HasPrefix(r.pattern[i], "{"), "%s is a variable", part)
				}
			}
			for _, q := range r.query {
				assert.Equal(t, "query", m.Parameters[q].Location, q)
			}
		})
	}
}

// TestEveryAnswerKeepsToTheSchema asks every method that reads, in a world
// that has something of everything, by plain HTTP.
func TestEveryAnswerKeepsToTheSchema(t *testing.T) {
	w := newWorld(t, Options{BootTime: 4})
	_, err := w.AddTemplate("", FlexTemplate("global", "g2-standard-4"))
	require.NoError(t, err)
	w.givenGroup("m")
	w.givenRequest("m", "got", "n0", "n1")
	w.Advance(4)
	w.SetCapacity("", "", 0)
	w.givenRequest("m", "waits", "n2")
	w.post("regions/us-central1/resourcePolicies", `{"name":"p","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`)
	w.post("zones/us-central1-a/instances/bulkInsert", `{"count":"1","perInstanceProperties":{"b0":{}},"sourceInstanceTemplate":"global/instanceTemplates/global"}`)
	operation := map[string]string{}
	for _, o := range w.operations.all() {
		operation[o.at.String()] = o.name
	}
	values := map[string]string{
		"{region}": "us-central1", "{zone}": "us-central1-a", "{request}": "got",
		"instances/{name}": "instances/n0", "machineTypes/{name}": "machineTypes/a3-highgpu-8g", "resourcePolicies/{name}": "resourcePolicies/p",
		"regions/us-central1/instanceTemplates/{name}": "regions/us-central1/instanceTemplates/a3", "global/instanceTemplates/{name}": "global/instanceTemplates/global",
		"regions/us-central1/instanceGroupManagers/{name}": "regions/us-central1/instanceGroupManagers/m",
		"regions/us-central1/operations/{name}":            "regions/us-central1/operations/" + operation["regions/us-central1"],
		"zones/us-central1-a/operations/{name}":            "zones/us-central1-a/operations/" + operation["zones/us-central1-a"],
	}
	for _, r := range w.routes {
		reads := r.verb == http.MethodGet || strings.HasSuffix(r.method, ".listManagedInstances") || strings.HasSuffix(r.method, ".wait")
		if !reads || strings.HasPrefix(r.method, "globalOperations.") && strings.Contains(strings.Join(r.pattern, "/"), "{name}") {
			continue
		}
		path := strings.Join(r.pattern, "/")
		for range 2 {
			for from, to := range values {
				path = strings.ReplaceAll(path, from, to)
			}
		}
		t.Run(r.method, func(t *testing.T) {
			status, body := w.ask(r.verb, path, "")
			require.Equal(t, http.StatusOK, status, body)
		})
	}
}

func (w *world) post(path, body string) {
	w.t.Helper()
	status, answer := w.ask(http.MethodPost, path, body)
	require.Equal(w.t, http.StatusOK, status, answer)
}

// ask sends one plain request to a path of the project, or to an address.
func (w *world) ask(verb, path, body string) (int, string) {
	w.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = "http://fake/compute/v1/projects/demo/" + path
	}
	r, err := http.NewRequestWithContext(w.t.Context(), verb, path, strings.NewReader(body))
	require.NoError(w.t, err)
	resp, err := w.http.Do(r)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return resp.StatusCode, string(b)
}
