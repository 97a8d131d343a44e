package mig

import (
	"fmt"
	"strings"
	"time"
)

// Template holds the settings of an instance template that flex-start prescribes, in the API's own
// words. An empty field is not set in the template.
type Template struct {
	Link        string        // its path, such as projects/P/regions/R/instanceTemplates/T
	MachineType string        // short name, such as a3-ultragpu-8g
	Model       string        // provisioningModel
	MaxRun      time.Duration // maxRunDuration; 0: not set
	Termination string        // instanceTerminationAction
	Maintenance string        // onHostMaintenance
	Reservation string        // consumeReservationType
	Policies    []string      // resource policies of its instances
	Labels      map[string]string
	GPU         string // accelerator type attached to the machine type; empty: none
	GPUs        int
}

// Machine returns the machine type with the GPUs that the template attaches: N1 machine types have
// no GPUs of their own.
func (t Template) Machine(m MachineType) MachineType {
	if m.GPUs == 0 {
		m.GPU, m.GPUs = t.GPU, t.GPUs
	}
	return m
}

// Contradictions returns the template settings that exclude flex-start, each with its fix; empty if
// the template is suitable. Source: Compute's documentation "About resize requests in a MIG".
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

// wrongMaxRun describes a template's maxRunDuration if flex-start does not allow it.
func wrongMaxRun(d time.Duration) string {
	switch {
	case d == 0:
		return "missing"
	case d < MinDuration || d > MaxDuration:
		return fmt.Sprintf("%v s", d.Seconds())
	}
	return ""
}
