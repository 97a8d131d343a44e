package trial

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// A check that cannot fail proves nothing.
func TestEachCheckPassesInAnOrdinaryProjectAndCanFail(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.tries(t.Context())
		assert.Len(t, r.having(passed), len(checks()), r.String())
		assert.True(t, r.good())
		other := seen{spec: w.spec, clock: &offset{there: w.seen.clock.there}, operations: &[2]string{"one", "another"}}
		var failing []string
		for _, change := range []func(r *result){
			func(r *result) { // each call ends otherwise
				switch {
				case r.snapshot != nil:
				case r.err == nil:
					r.err = &mig.Error{Trouble: mig.Trouble{Cause: mig.CausePermission}, Err: assert.AnError}
				default:
					r.err = nil
				}
			},
			func(r *result) { // the group is another one, and machines have only their names
				if r.snapshot != nil {
					l := snapshot{at: r.snapshot.at}
					for _, in := range r.snapshot.machines {
						l.machines = append(l.machines, mig.Instance{Name: in.Name})
					}
					r.snapshot = &l
				}
			},
			func(r *result) { // nothing has happened since the first request
				if r.snapshot != nil {
					r.snapshot = w.seen.snapshot("waiting request")
				}
			},
		} {
			other.results = map[string]*result{}
			for name, r := range w.seen.results {
				changed := *r
				change(&changed)
				other.results[name] = &changed
			}
			for _, c := range checks() {
				if verdict, _ := c.judge(&other); verdict == failed {
					failing = append(failing, c.name)
				}
			}
		}
		for _, c := range checks() {
			assert.Contains(t, failing, c.name)
		}
	})
}

func TestReportNamesWhyChecksWereSkipped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fault(fakegce.Fault{Method: "resourcePolicies.list", Status: http.StatusForbidden, Message: "Required permission"})
		r := w.tries(t.Context())
		assert.Equal(t, []string{"may create policies", "may delete policies"}, r.having(skipped))
		assert.Contains(t, r.String(), "skipped: 2, because: list workload policies of us-central1: 403 forbidden: Required permission\n")
	})
}

func TestTrialNamesAndStampsEverythingItCreates(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.wire.via = func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			state := w.cloud.State()
			for _, g := range state.Groups {
				assert.Equal(t, "alpha-trial--kxqzv-g", g.Name)
				assert.JSONEq(t, `{"slurmflex":1,"cluster":"alpha-trial-","nodeset":"a3"}`, g.Description)
			}
			for _, p := range state.Policies {
				assert.True(t, strings.HasSuffix(p, "/resourcePolicies/alpha-trial--kxqzv-p"), p)
			}
			for _, in := range state.Instances {
				assert.Regexp(t, `^alpha-trial--kxqzv-[0-9]$`, in.Name)
			}
			return next.RoundTrip(r)
		}
		w.tries(t.Context())
	})
}

func TestMissingMachineSkipsItsChecksAndCostsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cloud.SetCapacity("", "", 0)
		begun := time.Now()
		r := w.tries(t.Context())
		assert.Less(t, time.Since(begun), w.spec.wait+2*time.Minute)
		assert.Empty(t, r.having(failed), r.String())
		assert.Contains(t, r.having(passed), "empty lists")
		assert.Contains(t, r.having(skipped), "lost machine")
		assert.Contains(t, r.String(), "because: no machine within 5m0s ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS")
		assert.True(t, r.good())
	})
}

func TestMachineCreatedBeforeCancellationIsDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.tries(t.Context())
		assert.Empty(t, r.having(failed), r.String())
		assert.Equal(t, []string{
			"may cancel requests", "may delete requests", "accepted", "raised size", "kept request", "waiting member", "cancel", "cancelled",
			"lowered size", "cancelled member", "second cancel", "deleted record", "delete while waiting",
		}, r.having(skipped))
	}, func(o *fakegce.Options) { o.QueueTime, o.BootTime = 0, 0 })
}

func TestTrialInterruptedAtAnyCallLeavesNothing(t *testing.T) {
	calls := 0
	inWorld(t, func(t *testing.T, w *world) {
		w.tries(t.Context())
		calls = len(w.cloud.Calls())
	})
	for n := 1; n <= calls; n += 3 {
		t.Run(fmt.Sprint("at call ", n), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				ctx, interrupt := context.WithCancel(t.Context())
				w.wire.via = func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
					if len(w.cloud.Calls()) == n {
						interrupt()
					}
					return next.RoundTrip(r)
				}
				r := w.tries(ctx)
				assert.Empty(t, r.having(failed), r.String())
				assert.Contains(t, r.String(), "left behind: nothing")
			})
		})
	}
}

// Lists may lag, while reading a group by name shows its present state.
func TestInterruptedTrialDoesNotTrustALaggingList(t *testing.T) {
	for _, created := range []string{"instanceGroupManagers", "resourcePolicies", "resizeRequests"} {
		t.Run(created, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				for _, method := range []string{"*GroupManagers.list", "instances.list", "resourcePolicies.list"} {
					w.fault(fakegce.Fault{Method: method, Lag: 30 * time.Second})
				}
				ctx, interrupt := context.WithCancel(t.Context())
				w.wire.via = func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+created) {
						interrupt()
					}
					return next.RoundTrip(r)
				}
				assert.Contains(t, w.tries(ctx).String(), "left behind: nothing")
			})
		})
	}
}

func TestTrialCleansUpAfterLostAnswers(t *testing.T) {
	for _, method := range []string{
		"*GroupManagers.insert", "*ResizeRequests.insert", "*ResizeRequests.cancel", "*GroupManagers.delete", "regionOperations.wait",
		"resourcePolicies.insert", "resourcePolicies.delete",
	} {
		t.Run(method, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.fault(fakegce.Fault{Method: method, DropAfter: true, Times: 7})
				assert.Contains(t, w.tries(t.Context()).String(), "left behind: nothing")
			})
		})
	}
}

func TestReportNamesThingsThatCannotBeDeletedOrListed(t *testing.T) {
	for method, left := range map[string]string{
		"*GroupManagers.delete": "group alpha-trial--kxqzv-g (delete group alpha-trial--kxqzv-g: 403 forbidden: Required permission)\n",
		"instances.list":        "unknown (list instances of us-central1: zone us-central1-a: 403 forbidden: Required permission)\n",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.fault(fakegce.Fault{Method: method, Status: 403, Message: "Required permission"})
			r := w.run(t.Context())
			assert.Contains(t, r.String(), "left behind: "+left)
			assert.False(t, r.good())
		})
	}
}
