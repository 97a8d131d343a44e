package chaos

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// create sends a call that creates a policy.
func (p *planted) create(ctx context.Context) (*http.Response, error) {
	const path = "http://compute.test/compute/v1/projects/" + project + "/regions/" + us + "/resourcePolicies"
	body := `{"name":"alpha-close-job-7","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	require.NoError(p.t, err)
	return (&wire{process: p.p, next: p.cloud.Transport()}).RoundTrip(req)
}

func TestAilmentsDistortCallsToCompute(t *testing.T) {
	const no, yes, perhaps = 0, 1, 2
	type effect struct {
		acts   int
		status int // 0: no answer
		late   bool
	}
	tests := map[ailment]effect{
		"": {yes, 200, false}, unsent: {no, 0, false}, unanswered: {yes, 0, false}, hung: {perhaps, 0, true}, slow: {yes, 200, true},
		lateAnswer: {yes, 200, true}, gateway: {no, 502, false}, cutOff: {yes, 200, false}, doubled: {yes, 200, false},
	}
	for what, answer := range refusals {
		tests[what] = effect{no, answer.status, false}
	}
	require.Len(t, tests, len(apiAilments())+1)
	for what, test := range tests {
		t.Run(string(what), func(t *testing.T) {
			plant(t, func(p *planted) {
				if what != "" {
					p.faults.catch(1, compute, sickness{what, everything, 1, time.Hour})
				}
				ctx, cancel := context.WithTimeout(p.ctx, 40*time.Second)
				defer cancel()
				sent := time.Now()
				resp, err := p.create(ctx)
				took := time.Since(sent)
				assert.Equal(t, test.late, took > time.Second, "%v", took)
				assert.Equal(t, test.status == 0, err != nil, "%v", err)
				if err == nil {
					defer resp.Body.Close()
					assert.Equal(t, test.status, resp.StatusCode)
					assert.NotEmpty(t, must.Get(io.ReadAll(resp.Body)))
				}
				time.Sleep(time.Minute)
				if test.acts != perhaps {
					assert.Len(t, p.cloud.State().Policies, test.acts)
				}
			})
		})
	}
}

func TestDyingProcessMayCompleteItsLastCall(t *testing.T) {
	for what, acts := range map[string]bool{"before": false, "after": true} {
		t.Run("killed "+what+" the call", func(t *testing.T) {
			plant(t, func(p *planted) {
				p.p.doom(kill{calls: 1, acts: acts})
				_, err := (&commands{process: p.p, next: p.slurm}).Jobs(p.p.ctx)
				require.NoError(t, err)
				_, err = p.create(p.p.ctx)
				require.ErrorIs(t, err, errKilled)
				assert.True(t, p.p.gone())
				assert.Equal(t, acts, len(p.cloud.State().Policies) == 1)
			})
		})
	}
}

func TestUnnecessaryCallsAreDetected(t *testing.T) {
	for says, day := range map[string]toll{
		"": {passes: 100, wakeUps: 5, reads: 4163, changes: 40, struck: 3, due: 2000},
		"501 passes in 1h0m0s with 5 wake-ups, and 500 would do":     {passes: 501, wakeUps: 5},
		"4164 calls that only look in 100 passes, and 4163 would do": {passes: 100, reads: 4164, changes: 40, struck: 3, due: 2000},
	} {
		assert.Equal(t, says, day.excess(time.Hour))
	}
	assert.Equal(t, "131 passes in 1h0m0s of rest, and 130 would do", toll{passes: 131}.idle(time.Hour, time.Minute, 0))
	assert.Equal(t, "13 changes in 1h0m0s of rest, and 12 would do", toll{changes: 13}.idle(time.Hour, time.Minute, 1))
}
