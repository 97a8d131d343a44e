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
		"an ended lease leaves the target size": {
			switches: Switches{ExpiryKeepsTargetSize: true}, passes: 2 * time.Hour, shows: "1; r SUCCEEDED;",
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
