package view

import (
	"fmt"
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/slurm"
)

// Schema is the version of all JSON. It increases when a name is removed or its meaning changes,
// not when a name is added.
const Schema = 1

// Envelope starts every JSON object that a command prints or the daemon answers.
type Envelope struct {
	Schema int    `json:"schema_version"`
	Kind   string `json:"kind"` // kind of object
}

// EnvelopeOf returns the envelope of a kind of object.
func EnvelopeOf(kind string) Envelope { return Envelope{Schema, kind} }

// Plan describes what a reconcile pass would do.
type Plan struct {
	Envelope
	Cluster  string    `json:"cluster"`
	Actions  []Planned `json:"actions"`
	Problems []string  `json:"problems"`
}

// Planned is an action that a reconcile pass would execute.
type Planned struct {
	Kind  string `json:"kind"`
	What  string `json:"what"`
	Why   string `json:"why"`
	Group string `json:"group,omitempty"`
	Job   uint32 `json:"job,omitzero"`
	Nodes string `json:"nodes,omitempty"` // hostlist
}

// PlanOf returns the description of a plan with these actions.
func PlanOf[A action.Action](cluster string, actions []A, problems []string) Plan {
	of := Plan{EnvelopeOf("plan"), cluster, []Planned{}, append([]string{}, problems...)}
	for _, a := range actions {
		about := action.About(a)
		of.Actions = append(of.Actions, Planned{about.Kind, about.Text, a.Because(), about.Group, about.Job, slurm.Fold(about.Nodes)})
	}
	return of
}

// String formats the plan for people: each action with its reason, then the problems.
func (p Plan) String() string {
	var text strings.Builder
	for _, a := range p.Actions {
		fmt.Fprintf(&text, "%s\n    because %s\n", a.What, a.Why)
	}
	if len(p.Actions) == 0 {
		fmt.Fprintln(&text, "nothing to do")
	}
	for _, problem := range p.Problems {
		fmt.Fprintln(&text, "problem:", problem)
	}
	return text.String()
}

// Pass describes what a reconcile pass did.
type Pass struct {
	Envelope
	Cluster  string   `json:"cluster"`
	Skipped  string   `json:"skipped,omitempty"` // why no pass was made
	Actions  []Action `json:"actions"`           // in the order in which they ended
	Problems []string `json:"problems"`
}

// String summarizes the pass in one line, because the log already shows each action.
func (p Pass) String() string {
	failed := 0
	for _, a := range p.Actions {
		if a.Error != "" {
			failed++
		}
	}
	switch done := len(p.Actions) - failed; {
	case p.Skipped != "":
		return "nothing done: " + p.Skipped + "\n"
	case done+failed == 0:
		return "nothing to do\n"
	case failed == 0:
		return Count(done, "action") + " done\n"
	default:
		return fmt.Sprintf("%s done, %d failed\n", Count(done, "action"), failed)
	}
}
