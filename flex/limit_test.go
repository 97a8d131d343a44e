package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// B3: every observation, in the daemon, for cron, in a hook or only to ask, gives up
// what does not end.
func TestAnyProcessThatLooksGivesUpAListThatDoesNotEnd(t *testing.T) {
	for name, look := range map[string]func(*testing.T, *world) error{
		"sync": func(t *testing.T, w *world) error {
			_, err := w.Sync(t.Context(), w.lock)
			return err
		},
		"a hook's own pass": func(t *testing.T, w *world) error {
			return w.Settle(t.Context(), w.lock, time.Hour)
		},
		"plan": func(t *testing.T, w *world) error {
			_, err := w.Plan(t.Context())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.Cloud = silentCloud{w.Cloud}
				begun := time.Now()
				require.NoError(t, look(t, w))
				assert.Equal(t, cloudLimit, time.Since(begun))
			})
		})
	}
}

// B2, B3: duplicates and endless pages cost neither a request nor a machine.
func TestNeitherDuplicatesNorEndlessPagesCostARequest(t *testing.T) {
	for name, fault := range map[string]fakegce.Fault{
		"duplicates":              {Method: "*ist", Doubled: true},
		"alternating tokens":      {Method: "*ist", Endless: fakegce.Alternating},
		"tokens always new":       {Method: "*ist", Endless: fakegce.AlwaysNew},
		"a request without age":   {Method: "*ResizeRequests.list", Broken: &fakegce.Broken{Field: "creationTimestamp", Value: "soon"}},
		"a request without state": {Method: "*ResizeRequests.list", Broken: &fakegce.Broken{Field: "state"}},
		"a group without stamp":   {Method: "*Managers.list", Broken: &fakegce.Broken{Field: "description", Value: `{"slurmflex":1,`}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cloud.SetCapacity("", "", 0)
				w.slurm.submit(7, "train", "alpha-a3-[0-1]")
				w.settle()
				before := w.mutations()
				require.NotEmpty(t, before)
				require.NoError(t, w.cloud.AddFault(fault))
				for range 3 {
					time.Sleep(3 * time.Minute)
					w.mustPass(t.Context())
				}
				assert.Equal(t, before, w.mutations())
			})
		})
	}
}
