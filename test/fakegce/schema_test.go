package fakegce

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// document is the part of Google's discovery document that the tests read.
type document struct {
	Revision  string             `json:"revision"`
	Schemas   map[string]*schema `json:"schemas"`
	Resources map[string]struct {
		Methods map[string]method `json:"methods"`
	} `json:"resources"`
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
