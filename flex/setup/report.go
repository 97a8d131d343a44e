package setup

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"slurmflex/config"
	"slurmflex/flex/view"
)

// Report is what config check has found.
type Report struct {
	view.Envelope
	File     string   `json:"file"`
	Cluster  string   `json:"cluster,omitempty"` // empty if the file cannot be loaded
	Live     bool     `json:"live"`              // Slurm and Compute were looked at
	Valid    bool     `json:"valid"`             // without faults
	Complete bool     `json:"complete"`          // everything could be looked at
	Findings Findings `json:"findings"`

	sums string // counts the nodesets, for people
}

// Check returns the report on a file and its configuration. unpriced is the reason for missing
// prices; nil if prices exist.
func Check(file string, cfg *config.Config, unpriced error) Report {
	return reportOf(file, cfg, false, adviceOn(cfg, unpriced))
}

// reportOf returns the report with these findings.
func reportOf(file string, cfg *config.Config, live bool, found Findings) Report {
	r := Report{
		Envelope: view.EnvelopeOf("check"), File: file, Cluster: cfg.Cluster, Live: live, Findings: append(Findings{}, found...),
		Valid: len(found.of(Fault)) == 0, Complete: len(found.of(Unread)) == 0,
	}
	r.sums = fmt.Sprintf("slurmflex provisions %d of %s", len(cfg.FlexSets()), view.Count(len(cfg.NodeSets), "nodeset"))
	return r
}

// Unloaded is the report on a file that cannot be loaded.
func Unloaded(file string, problems config.Problems) Report {
	var found Findings
	for _, p := range problems {
		found = append(found, Finding{Level: Fault, File: p.File, Line: p.Line, Key: p.Key, Text: p.Text})
	}
	return reportOf(file, &config.Config{}, false, found)
}

// String lists ignored keys and advice. Err has the rest.
func (r Report) String() string {
	var text strings.Builder
	for _, f := range append(r.Findings.of(Ignored), r.Findings.of(Advice)...) {
		fmt.Fprintln(&text, f.problem().Error())
	}
	if r.Valid && r.Complete {
		world := ""
		if r.Live {
			world = "; Slurm and Compute match"
		}
		fmt.Fprintf(&text, "%s: OK: cluster %s: %s%s\n", r.File, r.Cluster, r.sums, world)
	}
	return text.String()
}

// Err returns faults and what could not be read; nil without any.
func (r Report) Err() error {
	if wrong := r.Findings.of(Fault, Unread); len(wrong) > 0 {
		return wrong.problems()
	}
	return nil
}

// Effective is the effective configuration, defaults included.
type Effective struct {
	view.Envelope
	File   string         `json:"file"`
	Config map[string]any `json:"config"`

	text string
}

// EffectiveOf is the effective configuration of a file.
func EffectiveOf(file string, cfg *config.Config) (Effective, error) {
	text := cfg.Effective()
	e := Effective{Envelope: view.EnvelopeOf("effective_config"), File: file, text: string(text)}
	err := yaml.Unmarshal(text, &e.Config)
	return e, err
}

// String is the configuration as YAML.
func (e Effective) String() string { return e.text }
