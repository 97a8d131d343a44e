package fakegce

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// document is the part of Google's discovery document that the tests read.
type document struct {
	Revision   string             `json:"revision"`
	Schemas    map[string]*schema `json:"schemas"`
	Parameters map[string]any     `json:"parameters"` // accepted by every method
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

// discovery reads the document from the pinned module.
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

// method returns the named method, such as instances.list.
func (d *document) method(name string) *method {
	resource, verb, _ := strings.Cut(name, ".")
	return d.Resources[resource].Methods[verb]
}

func TestEveryRouteIsAMethodOfTheAPIWithItsParameters(t *testing.T) {
	d, err := discovery()
	require.NoError(t, err)
	for _, r := range routes() {
		t.Run(r.method, func(t *testing.T) {
			m := d.method(r.method)
			require.NotNil(t, m, "unknown method")
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
