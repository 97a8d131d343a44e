package mig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func fit() Template {
	return Template{
		Model: "FLEX_START", MaxRun: 2 * time.Hour, Termination: "DELETE", Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
	}
}

func TestATemplateThatExcludesFlexStartSaysHowAndTheMend(t *testing.T) {
	tests := map[string]struct {
		change func(*Template)
		want   []string
	}{
		"fit": {func(*Template) {}, nil},
		"fit, with the shortest run": {
			func(t *Template) { t.MaxRun = 600 * time.Second }, nil,
		},
		"fit, with the longest run": {
			func(t *Template) { t.MaxRun = 7 * 24 * time.Hour }, nil,
		},
		"billed on demand": {
			func(t *Template) { t.Model = "STANDARD" },
			[]string{"provisioningModel is STANDARD; make a template with FLEX_START"},
		},
		"billed on demand by default": {
			func(t *Template) { t.Model = "" },
			[]string{"provisioningModel is missing, which means STANDARD; make a template with FLEX_START"},
		},
		"spot": {
			func(t *Template) { t.Model = "SPOT" },
			[]string{"provisioningModel is SPOT; make a template with FLEX_START"},
		},
		"without an end": {
			func(t *Template) { t.MaxRun = 0 },
			[]string{"maxRunDuration is missing; make a template with 600 to 604800 s"},
		},
		"with too early an end": {
			func(t *Template) { t.MaxRun = 599 * time.Second },
			[]string{"maxRunDuration is 599 s; make a template with 600 to 604800 s"},
		},
		"with too late an end": {
			func(t *Template) { t.MaxRun = 604801 * time.Second },
			[]string{"maxRunDuration is 604801 s; make a template with 600 to 604800 s"},
		},
		"stopped at its end": {
			func(t *Template) { t.Termination = "STOP" },
			[]string{"instanceTerminationAction is STOP; make a template with DELETE"},
		},
		"moved for maintenance": {
			func(t *Template) { t.Maintenance = "MIGRATE" },
			[]string{"onHostMaintenance is MIGRATE; make a template with TERMINATE"},
		},
		"from a reservation": {
			func(t *Template) { t.Reservation = "SPECIFIC_RESERVATION" },
			[]string{"consumeReservationType is SPECIFIC_RESERVATION; make a template with NO_RESERVATION"},
		},
		"from any reservation by default": {
			func(t *Template) { t.Reservation = "" },
			[]string{"consumeReservationType is missing, which means ANY_RESERVATION; make a template with NO_RESERVATION"},
		},
		"with a placement policy": {
			func(t *Template) { t.Policies = []string{"compact", "near"} },
			[]string{"resourcePolicies has compact, near; make a template without, and set enable_placement if nodes must be close together"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			template := fit()
			test.change(&template)
			assert.Equal(t, test.want, template.Contradictions())
		})
	}
}

func TestATemplateSaysAllThatIsWrongAtOnce(t *testing.T) {
	assert.Len(t, Template{Policies: []string{"compact"}}.Contradictions(), 6)
}
