package gce

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

func TestTemplateIsReadByAnyFormOfLink(t *testing.T) {
	const global, regional = "global/instanceTemplates/T", "regions/us-central1/instanceTemplates/T"
	for link, path := range map[string]string{
		global:                 "projects/p/" + global,
		regional:               "projects/p/" + regional,
		"projects/q/" + global: "projects/q/" + global,
		"https://www.googleapis.com/compute/v1/projects/q/" + regional:     "projects/q/" + regional,
		"https://compute.googleapis.com/compute/beta/projects/q/" + global: "projects/q/" + global,
	} {
		api := answers(ok(`{"name":"T","properties":{"machineType":"a3-ultragpu-8g"}}`))
		template, err := clientOf(t, inMemory{api}).Template(t.Context(), link)
		require.NoError(t, err)
		assert.Equal(t, path, template.Link)
		assert.Equal(t, []call{{"GET", "/compute/v1/" + path, "alt=json&prettyPrint=false", ""}}, api.calls)
	}
}

func TestTemplateReadsTheSettingsForFlexStart(t *testing.T) {
	tests := map[string]struct {
		properties string
		want       mig.Template
	}{
		"all of it": {
			`"machineType":"a3-ultragpu-8g","labels":{"team":"ml"},"resourcePolicies":["compact"],
			 "scheduling":{"provisioningModel":"FLEX_START","maxRunDuration":{"seconds":"7200","nanos":500000000},
			  "instanceTerminationAction":"DELETE","onHostMaintenance":"TERMINATE","automaticRestart":false},
			 "reservationAffinity":{"consumeReservationType":"NO_RESERVATION"}`,
			mig.Template{
				MachineType: "a3-ultragpu-8g", Model: "FLEX_START", MaxRun: 7200*time.Second + 500*time.Millisecond,
				Termination: "DELETE", Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
				Policies: []string{"compact"}, Labels: map[string]string{"team": "ml"},
			},
		},
		"GPUs beside the machine type": {
			`"machineType":"n1-standard-8","guestAccelerators":[{"acceleratorType":"projects/p/zones/z/acceleratorTypes/nvidia-tesla-t4","acceleratorCount":2}]`,
			mig.Template{MachineType: "n1-standard-8", GPU: "nvidia-tesla-t4", GPUs: 2},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api := answers(ok(`{"name":"T","properties":{` + test.properties + `}}`))
			got, err := clientOf(t, inMemory{api}).Template(t.Context(), "global/instanceTemplates/T")
			require.NoError(t, err)
			test.want.Link = "projects/p/global/instanceTemplates/T"
			assert.Equal(t, test.want, got)
		})
	}
}

func TestUnreadableTemplateIsAnError(t *testing.T) {
	const link = "global/instanceTemplates/T"
	tests := map[string]struct {
		link   string
		answer http.HandlerFunc
		cause  mig.Cause
		want   string
	}{
		"not there":        {link, refusal(404, "notFound", "was not found"), mig.CauseNotFound, "404 notFound: was not found"},
		"without contents": {link, ok(`{"name":"T"}`), mig.CauseUnavailable, "a template without machine type"},
		"a bare name": {
			"T", nil, mig.CauseConfig,
			"not a link of one; give projects/PROJECT/global/instanceTemplates/NAME or projects/PROJECT/regions/REGION/instanceTemplates/NAME",
		},
		"a link without its name":  {"global/instanceTemplates/", nil, mig.CauseConfig, "not a link of one; "},
		"a link after other words": {"see " + link, nil, mig.CauseConfig, "not a link of one; "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api := answers(test.answer)
			template, err := clientOf(t, inMemory{api}).Template(t.Context(), test.link)
			require.ErrorContains(t, err, "read instance template "+test.link+": "+test.want)
			assert.Equal(t, test.cause, mig.CauseOf(err))
			assert.Zero(t, template)
			if test.answer == nil {
				assert.Empty(t, api.calls)
			}
		})
	}
}
