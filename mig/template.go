package mig

import (
	"fmt"
	"strings"
	"time"
)

// Template is what an instance template says about the things that flex-start
// prescribes. The words are the API's own; an empty one is not in the template.
type Template struct {
	Link        string        // its path, such as projects/P/regions/R/instanceTemplates/T
	MachineType string        // short name, such as a3-ultragpu-8g
	Model       string        // provisioningModel
	MaxRun      time.Duration // maxRunDuration; 0 if there is none
	Termination string        // instanceTerminationAction
	Maintenance string        // onHostMaintenance
	Reservation string        // consumeReservationType
	Policies    []string      // resource policies that its instances get
	Labels      map[string]string
	GPU         string // accelerator type that it attaches to the machine type; empty: none
	GPUs        int
}

// Machine returns what an instance of a machine type has with the GPUs that the template
// attaches: N1 machine types have none of their own.
func (t Template) Machine(m MachineType) MachineType {
	if m.GPUs == 0 {
		m.GPU, m.GPUs = t.GPU, t.GPUs
	}
	return m
}

// Contradictions returns what in the template excludes flex-start, each with
// its fix; none if the template is fit. Source: Compute's documentation "About
// resize requests in a MIG".
func (t Template) Contradictions() []string {
	var all []string
	for _, field := range []struct{ name, got, unset, want string }{
		{"provisioningModel", t.Model, "STANDARD", "FLEX_START"},
		{"instanceTerminationAction", t.Termination, "STOP", "DELETE"},
		{"onHostMaintenance", t.Maintenance, "MIGRATE", "TERMINATE"},
		{"consumeReservationType", t.Reservation, "ANY_RESERVATION", "NO_RESERVATION"},
	} {
		switch field.got {
		case field.want:
		case "":
			all = append(all, fmt.Sprintf("%s is missing, which means %s; make a template with %s", field.name, field.unset, field.want))
		default:
			all = append(all, fmt.Sprintf("%s is %s; make a template with %s", field.name, field.got, field.want))
		}
	}
	if wrong := wrongMaxRun(t.MaxRun); wrong != "" {
		all = append(all, fmt.Sprintf("maxRunDuration is %s; make a template with %d to %d s",
			wrong, int(MinDuration.Seconds()), int(MaxDuration.Seconds())))
	}
	if len(t.Policies) > 0 {
		all = append(all, fmt.Sprintf("resourcePolicies has %s; make a template without, and set enable_placement if nodes must be close together",
			strings.Join(t.Policies, ", ")))
	}
	return all
}

// Excludes returns what in the template excludes machines of a provisioning model that
// come by bulk insert, each with its fix: what that says goes over the template, but takes
// nothing out of it.
func (t Template) Excludes(model string) []string {
	var all []string
	if model != FlexStart && t.MaxRun > 0 {
		all = append(all, fmt.Sprintf("maxRunDuration is %v s, after which Compute deletes the machines; make a template without", t.MaxRun.Seconds()))
	}
	if model == Standard && t.Termination != "" && t.MaxRun == 0 {
		all = append(all, fmt.Sprintf("instanceTerminationAction is %s, which Compute refuses on demand; make a template without", t.Termination))
	}
	return all
}

// wrongMaxRun says what a template's run duration is if flex-start does not
// allow it.
func wrongMaxRun(d time.Duration) string {
	switch {
	case d == 0:
		return "missing"
	case d < MinDuration || d > MaxDuration:
		return fmt.Sprintf("%v s", d.Seconds())
	}
	return ""
}
