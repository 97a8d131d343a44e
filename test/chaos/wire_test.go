package chaos

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// create sends a call that creates a policy.
func (p *planted) create(ctx context.Context) (*http.Response, error) {
	const path = "http://compute.test/compute/v1/projects/" + project + "/regions/" + us + "/resourcePolicies"
	body := `{"name":"alpha-close-job-7","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	require.NoError(p.t, err)
	return (&wire{process: p.p, next: p.cloud.Transport()}).RoundTrip(req)
}

func (p *planted) scheduler() *commands { return &commands{process: p.p, next: p.slurm} }

func TestAilmentsDistortCallsToCompute(t *testing.T) {
	const no, yes, perhaps = 0, 1, 2
	tests := map[ailment]struct {
		acts   int
		status int // 0: no answer
		late   bool
	}{
		"":          {yes, 200, false},
		unsent:      {no, 0, false},
		unanswered:  {yes, 0, false},
		hung:        {perhaps, 0, true},
		slow:        {yes, 200, true},
		lateAnswer:  {yes, 200, true},
		refused401:  {no, 401, false},
		refused503:  {no, 503, false},
		refused500:  {no, 500, false},
		refused429:  {no, 429, false},
		rateLimited: {no, 403, false},
		notAllowed:  {no, 403, false},
		notReady:    {no, 400, false},
		gateway:     {no, 502, false},
		cutOff:      {yes, 200, false},
		doubled:     {yes, 200, false},
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
					text, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					assert.NotEmpty(t, text)
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
				p.p.doom(kill{calls: 0, acts: acts})
				_, err := p.create(p.p.ctx)
				require.ErrorIs(t, err, errKilled)
				assert.True(t, p.p.gone())
				assert.Equal(t, acts, len(p.cloud.State().Policies) == 1)
			})
		})
	}
}

func TestDoomedProcessDiesAtTheChosenCall(t *testing.T) {
	plant(t, func(p *planted) {
		p.p.doom(kill{calls: 2})
		for range 2 {
			_, err := p.scheduler().Jobs(p.p.ctx)
			require.NoError(t, err)
		}
		_, err := p.scheduler().Jobs(p.p.ctx)
		require.ErrorIs(t, err, errKilled)
	})
}

func TestSlurmSicknessAffectsAllCommandsOrOneKind(t *testing.T) {
	plant(t, func(p *planted) {
		p.faults.catch(1, controller, sickness{unsent, "squeue", 1, time.Minute})
		_, err := p.scheduler().Jobs(p.p.ctx)
		require.ErrorIs(t, err, scontrol.ErrNoController)
		_, err = p.scheduler().Nodes(p.p.ctx)
		require.NoError(t, err)
		assert.False(t, p.faults.well(p.begun, controller))
		time.Sleep(2 * time.Minute)
		_, err = p.scheduler().Jobs(p.p.ctx)
		require.NoError(t, err, "it has passed")
		assert.False(t, p.faults.well(p.begun, controller))
		assert.True(t, p.faults.well(time.Now().Add(-time.Minute), controller))
	})
}

func TestHungCommandTimesOut(t *testing.T) {
	plant(t, func(p *planted) {
		p.faults.catch(1, controller, sickness{hung, everything, 1, time.Minute})
		sent := time.Now()
		require.ErrorIs(t, p.scheduler().UpdateNodes(p.p.ctx, []string{"alpha-gang-0"}, slurm.NodeChange{State: "power_up"}), scontrol.ErrNoController)
		assert.Equal(t, commandTime, time.Since(sent))
	})
}

func TestCallsAreDistinguishedByWhatTheyCreate(t *testing.T) {
	a := apiCall{object: "regions/r/instanceGroupManagers", body: []byte(`{"name":"a"}`)}
	b := apiCall{object: a.object, body: []byte(`{"name":"b"}`)}
	bulk := apiCall{object: "zones/z/instances/bulkInsert", body: []byte(`{"perInstanceProperties":{"n1":{},"n0":{}}}`)}
	assert.NotEqual(t, a.subject(), b.subject())
	assert.Equal(t, "zones/z/instances/bulkInsert  n0 n1", bulk.subject())
	assert.Equal(t, "x", apiCall{object: "x"}.subject())
}

func TestCallsOfOneInstantShareTheirFateInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := faults{dice: 17}
		first := a.next(compute, "list requests", "daemon g1")
		assert.Equal(t, first, a.next(compute, "list requests", "daemon g1"))
		other := a.next(compute, "list requests", "daemon g2")
		assert.NotEqual(t, first.way, other.way, "another object has another lot")
		time.Sleep(time.Nanosecond)
		later := a.next(compute, "list requests", "daemon g1")
		assert.NotEqual(t, first.way, later.way, "so has a later call")
	})
}

func TestDigestIgnoresRequestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		digest := func(text string) string {
			j := journal{begun: time.Now()}
			j.note("cannot read %s", text)
			return j.digest()
		}
		assert.Equal(t, digest(`{"clientOperationId":"5f0c-1","name":"a"}`), digest(`{"clientOperationId":"77aa-2","name":"a"}`))
		assert.Equal(t, digest(`{\"clientOperationId\":\"5f0c-1\"}`), digest(`{\"clientOperationId\":\"77aa-2\"}`))
		assert.NotEqual(t, digest(`{"clientOperationId":"5f0c-1","name":"a"}`), digest(`{"clientOperationId":"5f0c-1","name":"b"}`))
	})
}

func TestUnnecessaryCallsAreDetected(t *testing.T) {
	usual := toll{passes: 100, wakeUps: 5, reads: 2500, changes: 40, struck: 3, due: 2000}
	spins, woken, rereads, struck := usual, usual, usual, usual
	spins.passes, rereads.reads = 600, 4164
	woken.passes, woken.wakeUps = 600, 20
	struck.reads, struck.struck = 4164, 4
	for day, want := range map[toll]string{
		usual:   "",
		spins:   "600 passes in 1h0m0s with 5 wake-ups, and 500 would do",
		woken:   "",
		rereads: "4164 calls that only look in 100 passes, and 4163 would do",
		struck:  "", // a failed call is repeated
	} {
		assert.Equal(t, want, day.excess(time.Hour))
	}
}

func TestActivityAtRestIsDetected(t *testing.T) {
	rest := toll{passes: 60, reads: 900, due: 900}
	spins, busy := rest, rest
	spins.passes, busy.changes = 131, 1
	assert.Empty(t, rest.idle(time.Hour, time.Minute, 0))
	assert.Equal(t, "131 passes in 1h0m0s of rest, and 130 would do", spins.idle(time.Hour, time.Minute, 0))
	assert.Empty(t, spins.idle(time.Hour, time.Minute, 2), "leases are renewed")
	assert.Equal(t, "1 changes in 1h0m0s of rest, and 0 would do", busy.idle(time.Hour, time.Minute, 0))
}
