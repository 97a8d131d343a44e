package gce_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/mig/gce"
)

func TestRegionReadsStateAndQuotas(t *testing.T) {
	inWorld(t, func(w world) {
		require.NoError(w, w.cloud.SetQuota(region, "PREEMPTIBLE_NVIDIA_H100_GPUS", 16))
		r, err := w.Region(w.Context(), region)
		require.NoError(w, err)
		assert.True(w, r.Up)
		assert.InDelta(w, 16, r.Quotas["PREEMPTIBLE_NVIDIA_H100_GPUS"], 0)
		assert.NotContains(w, r.Quotas, mig.ActiveRequestsQuota)

		_, err = w.Region(w.Context(), "atlantis")
		assert.Equal(w, mig.CauseConfig, mig.CauseOf(err))
		require.ErrorContains(w, err, "read region atlantis: 400 invalid: ")
	})
}

func TestMachineTypeIsReadFromItsZone(t *testing.T) {
	inWorld(t, func(w world) {
		m, err := w.MachineType(w.Context(), "us-central1-a", machine)
		require.NoError(w, err)
		known, ok := mig.KnownMachine(machine)
		require.True(w, ok)
		assert.Equal(w, known, m, "the table knows it as Compute does")

		w.cloud.Withdraw("us-central1-a", machine)
		_, err = w.MachineType(w.Context(), "us-central1-a", machine)
		assert.Equal(w, mig.CauseNotFound, mig.CauseOf(err))
		require.ErrorContains(w, err, "read machine type us-central1-a/a3-highgpu-8g")
	})
}

func TestIncompleteRegionOrZoneIsAnError(t *testing.T) {
	for name, answer := range map[string]string{
		"not even a name":   `{}`,
		"no quotas for now": `{"name":"r","quotaStatusWarning":{"code":"QUOTA_INFO_UNAVAILABLE","message":"later"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := gce.New(t.Context(), gce.Options{Project: project, Endpoint: "http://compute.test", Transport: saying(answer)})
			require.NoError(t, err)
			_, err = c.Region(t.Context(), "r")
			require.ErrorContains(t, err, "read region r: ")
			_, err = c.MachineType(t.Context(), "z", "m")
			require.ErrorContains(t, err, "read machine type z/m: ")
			assert.Zero(t, c.Date())
		})
	}
}

// saying is a Compute that returns the same answer to every call.
type saying string

func (s saying) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}
