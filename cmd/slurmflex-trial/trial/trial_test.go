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
	inWorld(t, func(w *world) {
		r := w.tries(w.Context())
		assert.Len(w, r.having(passed), len(checks()), r.String())
		assert.True(w, r.good())
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
			assert.Contains(w, failing, c.name)
		}
	})
}

func TestReportNamesWhyChecksWereSkipped(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fault(fakegce.Fault{Method: "resourcePolicies.list", Status: http.StatusForbidden, Message: "Required permission"})
		r := w.tries(w.Context())
		assert.Equal(w, []string{"may create policies", "may delete policies"}, r.having(skipped))
		assert.Contains(w, r.String(), "skipped: 2, because: list workload policies of us-central1: 403 forbidden: Required permission\n")
	})
}

func TestTrialNamesAndStampsEverythingItCreates(t *testing.T) {
	inWorld(t, func(w *world) {
		w.wire.via = func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			state := w.cloud.State()
			for _, g := range state.Groups {
				assert.Equal(w, "alpha-trial--kxqzv-g", g.Name)
				assert.JSONEq(w, `{"slurmflex":1,"cluster":"alpha-trial-","nodeset":"a3"}`, g.Description)
			}
			for _, p := range state.Policies {
				assert.True(w, strings.HasSuffix(p, "/resourcePolicies/alpha-trial--kxqzv-p"), p)
			}
			for _, in := range state.Instances {
				assert.Regexp(w, `^alpha-trial--kxqzv-[0-9]$`, in.Name)
			}
			return next.RoundTrip(r)
		}
		w.tries(w.Context())
	})
}

func TestMissingMachineSkipsItsChecksAndCostsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cloud.SetCapacity("", "", 0)
		begun := time.Now()
		r := w.tries(w.Context())
		assert.Less(w, time.Since(begun), w.spec.wait+2*time.Minute)
		assert.Empty(w, r.having(failed), r.String())
		assert.Contains(w, r.having(passed), "empty lists")
		assert.Contains(w, r.having(skipped), "lost machine")
		assert.Contains(w, r.String(), "because: no machine within 5m0s ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS")
		assert.True(w, r.good())
	})
}

func TestMachineCreatedBeforeCancellationIsDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.tries(w.Context())
		assert.Empty(w, r.having(failed), r.String())
		assert.Equal(w, []string{
			"may cancel requests", "may delete requests", "accepted", "raised size", "kept request", "waiting member", "cancel", "cancelled",
			"lowered size", "cancelled member", "second cancel", "deleted record", "delete while waiting",
		}, r.having(skipped))
	}, func(o *fakegce.Options) { o.QueueTime, o.BootTime = 0, 0 })
}

func TestTrialInterruptedAtAnyCallLeavesNothing(t *testing.T) {
	calls := 0
	inWorld(t, func(w *world) {
		w.tries(w.Context())
		calls = len(w.cloud.Calls())
	})
	for n := 1; n <= calls; n += 3 {
		t.Run(fmt.Sprint("at call ", n), func(t *testing.T) {
			inWorld(t, func(w *world) {
				ctx, interrupt := context.WithCancel(w.Context())
				w.wire.via = func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
					if len(w.cloud.Calls()) == n {
						interrupt()
					}
					return next.RoundTrip(r)
				}
				r := w.tries(ctx)
				assert.Empty(w, r.having(failed), r.String())
				assert.Contains(w, r.String(), "left behind: nothing")
			})
		})
	}
}

// Lists may lag, while reading a group by name shows its present state.
func TestInterruptedTrialDoesNotTrustALaggingList(t *testing.T) {
	for _, created := range []string{"instanceGroupManagers", "resourcePolicies", "resizeRequests"} {
		t.Run(created, func(t *testing.T) {
			inWorld(t, func(w *world) {
				for _, method := range []string{"*GroupManagers.list", "instances.list", "resourcePolicies.list"} {
					w.fault(fakegce.Fault{Method: method, Lag: 30 * time.Second})
				}
				ctx, interrupt := context.WithCancel(w.Context())
				w.wire.via = func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+created) {
						interrupt()
					}
					return next.RoundTrip(r)
				}
				assert.Contains(w, w.tries(ctx).String(), "left behind: nothing")
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
			inWorld(t, func(w *world) {
				w.fault(fakegce.Fault{Method: method, DropAfter: true, Times: 7})
				assert.Contains(w, w.tries(w.Context()).String(), "left behind: nothing")
			})
		})
	}
}

func TestReportNamesThingsThatCannotBeDeletedOrListed(t *testing.T) {
	for method, left := range map[string]string{
		"*GroupManagers.delete": "group alpha-trial--kxqzv-g (delete group alpha-trial--kxqzv-g: 403 forbidden: Required permission)\n",
		"instances.list":        "unknown (list instances of us-central1: zone us-central1-a: 403 forbidden: Required permission)\n",
	} {
		inWorld(t, func(w *world) {
			w.fault(fakegce.Fault{Method: method, Status: 403, Message: "Required permission"})
			r := w.run(w.Context())
			assert.Contains(w, r.String(), "left behind: "+left)
			assert.False(w, r.good())
		})
	}
}
