package gce_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
)

func (w world) adviceAbout(count int) mig.AdviceSpec {
	return mig.AdviceSpec{Region: region, Model: mig.FlexStart, Template: w.template, Zones: []string{"us-central1-a", "us-central1-b"}, Count: count, OneZone: true}
}

func TestAdviceAsksForTheTemplateInTheNodesetsZones(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.cloud.SetCapacity("us-central1-a", machine, 1)
		w.cloud.SetCapacity("us-central1-b", machine, 2)
		advice, err := w.CapacityAdvice(t.Context(), w.adviceAbout(4))
		require.NoError(t, err)
		assert.Equal(t, mig.Advice{Obtainability: .5, Zones: []string{"us-central1-b"}}, advice)

		apart := w.adviceAbout(3)
		apart.OneZone = false
		advice, err = w.CapacityAdvice(t.Context(), apart)
		require.NoError(t, err)
		assert.Equal(t, mig.Advice{Obtainability: 1, Zones: []string{"us-central1-a", "us-central1-b"}}, advice)

		w.cloud.SetCapacity("", machine, 0)
		w.cloud.SetCapacity("us-central1-a", machine, 0)
		w.cloud.SetCapacity("us-central1-b", machine, 0)
		advice, err = w.CapacityAdvice(t.Context(), apart)
		require.NoError(t, err)
		assert.Equal(t, mig.Advice{}, advice, "nothing is likely, and no zone recommended")
	})
}

// The request includes GPUs that the template adds to an N1 machine type.
func TestAdviceIncludesTheTemplatesGPUs(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		spec := fakegce.FlexTemplate("t4", "n1-standard-8")
		spec.Properties.GuestAccelerators = []*compute.AcceleratorConfig{{AcceleratorType: "nvidia-tesla-t4", AcceleratorCount: 2}}
		link, err := w.cloud.AddTemplate(region, spec)
		require.NoError(t, err)
		a := w.adviceAbout(1)
		a.Template = link
		_, err = w.CapacityAdvice(t.Context(), a)
		require.NoError(t, err)
		calls := w.cloud.Calls()
		assert.Contains(t, calls[len(calls)-1].Body, "nvidia-tesla-t4")
	})
}

func TestRejectedAdviceHasItsCause(t *testing.T) {
	for cause, fault := range map[mig.Cause]fakegce.Fault{
		mig.CauseConfig:     {Status: http.StatusBadRequest, Reason: "invalid", Message: "Invalid value 'FLEX_START'."},
		mig.CausePermission: {Status: http.StatusForbidden, Reason: "forbidden", Message: "no right"},
	} {
		inWorld(t, func(t *testing.T, w world) {
			fault.Method = "advice.capacity"
			require.NoError(t, w.cloud.AddFault(fault))
			_, err := w.CapacityAdvice(t.Context(), w.adviceAbout(1))
			assert.Equal(t, cause, mig.CauseOf(err))
			assert.ErrorContains(t, err, fmt.Sprintf("read capacity advice of us-central1: %d %s: %s", fault.Status, fault.Reason, fault.Message))
		})
	}
}

func TestEmptyAdviceIsAnError(t *testing.T) {
	for answer, says := range map[string]string{
		``:                                   "an answer without a recommendation",
		`{}`:                                 "an answer without obtainability",
		`{"scores":{}}`:                      "an answer without obtainability",
		`{"scores":{"obtainability":1.5}}`:   "an obtainability of 1.5, not of 0 to 1",
		`{"scores":{"obtainability":"NaN"}}`: "an obtainability of NaN, not of 0 to 1",
	} {
		both := saying(`{"properties":{"machineType":"m"},"recommendations":[` + answer + `]}`) // the template and the advice
		c, err := gce.New(t.Context(), gce.Options{Project: project, Endpoint: "http://compute.test", Transport: both})
		require.NoError(t, err)
		_, err = c.CapacityAdvice(t.Context(), mig.AdviceSpec{Region: region, Model: mig.FlexStart, Template: "global/instanceTemplates/t", Count: 1})
		assert.EqualError(t, err, "read capacity advice of us-central1: "+says, answer)
	}
}
