package fakegce

import (
	"net/http"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"
)

func switched(s Switches) Options {
	o := slow()
	o.Switches = s
	return o
}

func TestTargetSizeMayRiseLater(t *testing.T) {
	for at, want := range map[string][3]int32{"": {1, 1, 1}, AtAccepted: {0, 1, 1}, AtSucceeded: {0, 0, 1}} {
		w := newWorld(t, switched(Switches{TargetSizeAt: at}))
		w.givenGroup("m")
		w.begun(w.insertRequest("m", namedRequest("r", "n0")))
		creating := w.group("m").GetTargetSize()
		w.Advance(2 * time.Second)
		accepted := w.group("m").GetTargetSize()
		w.Advance(10 * time.Second)
		assert.Equal(t, want, [3]int32{creating, accepted, w.group("m").GetTargetSize()}, "at %q", at)
		w.SetCapacity("", "", 0)
		w.givenRequest("m", "waits", "n1")
		w.begun(w.cancelRequest("m", "waits"))
		w.Advance(2 * time.Second)
		assert.EqualValues(t, 1, w.group("m").GetTargetSize(), "what is cancelled returns only what it took, at %q", at)
	}
}

// Covers every switch except TargetSizeAt.
func TestSwitchesChangeBehaviour(t *testing.T) {
	for name, c := range map[string]struct {
		switches Switches
		noRoom   bool
		happens  func(*testing.T, *world) // after request r for n0 in the group was accepted
		passes   time.Duration
		shows    string
	}{
		"an ended lease leaves the target size": {
			switches: Switches{ExpiryKeepsTargetSize: true}, passes: 2 * time.Hour, shows: "1; r SUCCEEDED;",
		},
		"a lost instance leaves its group": {
			switches: Switches{LostInstancesLeave: true},
			happens: func(t *testing.T, w *world) {
				w.Advance(time.Minute)
				assert.NoError(t, w.DeleteVM("n0"))
			},
			shows: "0; r SUCCEEDED;",
		},
		"deleting queued instances cancels their request": {
			switches: Switches{QueuedDeletable: true}, noRoom: true,
			happens: func(_ *testing.T, w *world) { w.begun(w.deleteInstances("m", "n0")) },
			passes:  2 * time.Second, shows: "0; r CANCELLED;",
		},
		"queued instances' URLs and names do not mix": {
			switches: Switches{QueuedDeletable: true}, noRoom: true,
			happens: func(t *testing.T, w *world) {
				op := w.begun(w.deleteInstances("m", "n0", "zones/us-central1-a/instances/n0"))
				w.Advance(2 * time.Second)
				assert.Equal(t, "INVALID_ARGUMENT", w.outcome(op))
			},
			shows: "1; r ACCEPTED; n0 CREATING;",
		},
		"a request is cancelled while creating": {
			switches: Switches{CancelWhileCreating: true},
			happens: func(_ *testing.T, w *world) {
				w.begun(w.insertRequest("m", namedRequest("s", "n1")))
				w.begun(w.cancelRequest("m", "s"))
			},
			passes: 2 * time.Second, shows: "1; r ACCEPTED; s CANCELLED; n0 CREATING PROVISIONING;",
		},
		"a refused request is forgotten": {
			switches: Switches{ForgetRefused: true},
			happens: func(t *testing.T, w *world) {
				short := namedRequest("s", "n1")
				short.RequestedRunDuration = &computepb.Duration{Seconds: proto.Int64(1)}
				op := w.begun(w.insertRequest("m", short))
				w.Advance(2 * time.Second)
				assert.Equal(t, "INVALID_ARGUMENT", w.outcome(op))
			},
			shows: "1; r ACCEPTED; n0 CREATING PROVISIONING;",
		},
		"an instance shows NONE once it is created": {
			switches: Switches{NoActionOnceCreated: true}, passes: 10 * time.Second, shows: "1; r SUCCEEDED; n0 NONE STAGING;",
		},
		"instances skip staging": {
			switches: Switches{NoStaging: true}, passes: 10 * time.Second, shows: "1; r SUCCEEDED; n0 CREATING PROVISIONING;",
		},
		"instances that skip staging run in the end": {
			switches: Switches{NoStaging: true}, passes: 20 * time.Second, shows: "1; r SUCCEEDED; n0 NONE RUNNING;",
		},
		"the template's lease wins": {
			switches: Switches{TemplateDuration: true},
			happens: func(t *testing.T, w *world) {
				w.Advance(20 * time.Second)
				assert.Equal(t, 7*24*time.Hour, w.vm("n0").Terminates.Sub(w.State().Now))
			},
			shows: "1; r SUCCEEDED; n0 NONE RUNNING;",
		},
		"a name conflict fails the request": {
			switches: Switches{NameConflictFails: true},
			happens: func(t *testing.T, w *world) {
				w.givenGroup("new", "us-central1-a")
				w.givenRequest("new", "r", "n0")
				assert.Equal(t, "FAILED", w.request("new", "r").GetState())
			},
			shows: "1; r ACCEPTED; n0 CREATING PROVISIONING;",
		},
		"refusals come late": {
			switches: Switches{LateRefusals: true, RequestErrorStatus: true}, noRoom: true,
			happens: func(t *testing.T, w *world) {
				op := w.begun(w.deleteRequest("m", "r"))
				duplicate := w.begun(w.insertRequest("m", namedRequest("r", "n1")))
				w.Advance(2 * time.Second)
				assert.Equal(t, "CONDITION_NOT_MET", w.outcome(op))
				assert.EqualValues(t, http.StatusPreconditionFailed, w.operation(op.Name()).GetHttpErrorStatusCode())
				assert.Error(t, op.Poll(t.Context()), "with a status Google's client sees the error")
				assert.Equal(t, "RESOURCE_ALREADY_EXISTS", w.outcome(duplicate))
			},
			shows: "1; r ACCEPTED; n0 CREATING;",
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := granted
			if c.noRoom {
				given = queued
			}
			w := given(t, switched(c.switches), "n0")
			if c.happens != nil {
				c.happens(t, w)
			}
			w.Advance(c.passes)
			assert.Equal(t, c.shows, w.shows())
		})
	}
}
