package fakegce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// flex and cmd/slurmflex-trial test the other switches.
func TestSwitchesChangeBehaviour(t *testing.T) {
	for name, c := range map[string]struct {
		switches Switches
		noRoom   bool
		happens  func(w *world) // after request r for n0 was accepted
		passes   time.Duration
		shows    string
	}{
		"a lease ends": {passes: 2 * time.Hour, shows: "0; r SUCCEEDED;"},
		"an ended lease leaves the target size": {
			switches: Switches{ExpiryKeepsTargetSize: true}, passes: 2 * time.Hour, shows: "1; r SUCCEEDED;",
		},
		"a deletion waits for instances being created": {
			happens: func(w *world) { w.start("DELETE", groupList+"/m", "") }, passes: 9 * time.Second, shows: "1; r ACCEPTED; n0 CREATING PROVISIONING;",
		},
		"and then deletes them": {
			happens: func(w *world) { w.start("DELETE", groupList+"/m", "") }, passes: 10 * time.Second, shows: "1; r SUCCEEDED; n0 DELETING STOPPING;",
		},
		"the target size rises with the acceptance": {
			switches: Switches{TargetSizeAt: AtAccepted},
			happens:  func(w *world) { w.request("m", "s", "n1") },
			passes:   time.Second, shows: "1; r ACCEPTED; s CREATING; n0 CREATING PROVISIONING; n1 CREATING;",
		},
		"deleting queued instances cancels their request": {
			switches: Switches{QueuedDeletable: true}, noRoom: true,
			happens: func(w *world) { w.start("POST", groupList+"/m/deleteInstances", `{"instances":["n0"]}`) },
			passes:  2 * time.Second, shows: "0; r CANCELLED;",
		},
		"a request is cancelled while creating": {
			switches: Switches{CancelWhileCreating: true},
			happens: func(w *world) {
				w.request("m", "s", "n1")
				w.start("POST", requests+"/s/cancel", "")
			},
			passes: 2 * time.Second, shows: "1; r ACCEPTED; s CANCELLED; n0 CREATING PROVISIONING;",
		},
		"an instance shows NONE once it is created": {
			switches: Switches{NoActionOnceCreated: true}, passes: 10 * time.Second, shows: "1; r SUCCEEDED; n0 NONE STAGING;",
		},
		"instances skip staging": {
			switches: Switches{NoStaging: true}, passes: 10 * time.Second, shows: "1; r SUCCEEDED; n0 CREATING PROVISIONING;",
		},
		"a name conflict fails the request": {
			switches: Switches{NameConflictFails: true},
			happens: func(w *world) {
				w.group("new")
				w.request("new", "r", "n0")
				w.Advance(2 * time.Second)
				g, _ := w.State().Group("new")
				assert.Equal(w.t, "FAILED", g.Requests[0].State)
			},
			shows: "1; r ACCEPTED; n0 CREATING PROVISIONING;",
		},
		"refusals come late": {
			switches: Switches{LateRefusals: true, RequestErrorStatus: true}, noRoom: true,
			happens: func(w *world) {
				w.start("DELETE", requests+"/r", "")
				w.request("m", "r", "n1")
				w.Advance(2 * time.Second)
				w.failed("CONDITION_NOT_MET")
				w.failed("RESOURCE_ALREADY_EXISTS")
				operations := w.State().Operations
				_, op := w.ask("GET", "regions/us-central1/operations/"+operations[len(operations)-1].Name, "")
				assert.Contains(w.t, op, `"httpErrorStatusCode":409`)
			},
			shows: "1; r ACCEPTED; n0 CREATING;",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.switches)
			if c.noRoom {
				w.SetCapacity("", "", 0)
			}
			w.request("m", "r", "n0")
			w.Advance(2 * time.Second)
			if c.happens != nil {
				c.happens(w)
			}
			w.Advance(c.passes)
			assert.Equal(t, c.shows, w.shows())
		})
	}
}
