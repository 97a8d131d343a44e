package main

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"slurmflex/config"
	"slurmflex/flex/check"
	"slurmflex/flex/view"
)

// checkReport is what config check has found, for programs.
type checkReport struct {
	view.Envelope
	File     string    `json:"file"`
	Cluster  string    `json:"cluster,omitempty"` // empty if the file cannot be loaded
	Live     bool      `json:"live"`              // Slurm and Compute were looked at
	Valid    bool      `json:"valid"`             // there are no faults
	Complete bool      `json:"complete"`          // everything could be looked at
	Findings []finding `json:"findings"`
}

type finding struct {
	Level string `json:"level"`
	File  string `json:"file"`
	Line  int    `json:"line,omitzero"`
	Key   string `json:"key,omitempty"`
	Text  string `json:"text"`
}

func newCheckReport(file, cluster string, live bool, found check.Findings) checkReport {
	r := checkReport{
		Envelope: view.EnvelopeOf("check"), File: file, Cluster: cluster, Live: live, Findings: []finding{},
		Valid: len(found.Of(check.Fault)) == 0, Complete: len(found.Of(check.Unread)) == 0,
	}
	for _, f := range found {
		level := [...]string{check.Fault: "fault", check.Unread: "unread", check.Advice: "advice", check.Ignored: "ignored"}[f.Level]
		r.Findings = append(r.Findings, finding{level, f.File, f.Line, f.Key, f.Text})
	}
	return r
}

// faultsOf are the problems of a file that cannot be loaded.
func faultsOf(problems config.Problems) (found check.Findings) {
	for _, p := range problems {
		found = append(found, check.Finding{Level: check.Fault, File: p.File, Line: p.Line, Key: p.Key, Text: p.Text})
	}
	return found
}

// effectiveReport is the effective configuration for programs.
type effectiveReport struct {
	view.Envelope
	File   string         `json:"file"`
	Config map[string]any `json:"config"`
}

// newEffectiveReport is the report on a file whose effective configuration is this
// YAML.
func newEffectiveReport(file string, text []byte) (effectiveReport, error) {
	r := effectiveReport{Envelope: view.EnvelopeOf("effective_config"), File: file}
	if err := yaml.Unmarshal(text, &r.Config); err != nil {
		return r, fmt.Errorf("read the effective configuration: %w", err)
	}
	return r, nil
}
