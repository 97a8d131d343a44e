package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/test/scenetest"
)

// K4: jobs that wait at Google keep a nodeset's nodes from more important ones.
func TestNodesetWithoutNodesForAMoreImportantJobIsNamed(t *testing.T) {
	const full = "nodeset a3 has too few nodes: job 9 has no request, and less important job 7 waits at Google: raise node_count_dynamic_max, or cancel one of them"
	named := func(change func(w waitingPending)) bool {
		w := newWaitingPending()
		w.reserve("slurmflex-alpha.door-8-1795262400", 14*time.Minute, "alpha-a3-[2-3]", "PURGE_COMP=00:05:00")
		waits := w.another(8)
		waits.Priority, waits.Reservation = 20, "slurmflex-alpha.door-8-1795262400"
		lacks := w.another(9)
		lacks.Priority, lacks.Reservation, lacks.Reason = 30, "", "Resources"
		change(w)
		return slices.ContainsFunc(w.plan().Problems, func(p scene.Problem) bool { return p.Text == full })
	}
	assert.True(t, named(func(waitingPending) {}))
	assert.False(t, named(func(w waitingPending) { w.Snap.Jobs[2].Priority = 5 }), "it is the least important one")
	assert.False(t, named(func(w waitingPending) { w.Snap.Jobs[2].Priority = 0 }), "it is held")
	assert.False(t, named(func(w waitingPending) { w.Snap.Jobs[0].Priority = 0 }), "the other one is held")
	assert.False(t, named(func(w waitingPending) { w.Snap.Reservations = w.Snap.Reservations[:2] }), "two nodes are free")
	assert.False(t, named(func(w waitingPending) { w.Snap.Unseen[scenetest.US] = errors.New("503") }), "nothing is known of its nodes")
	assert.False(t, named(func(w waitingPending) {
		w.window(40*time.Minute, 2*time.Hour, "alpha-a3-[0-3]", "MAINT")
		w.Snap.Jobs[0].Limit.Duration, w.Snap.Jobs[1].Limit.Duration = 10*time.Minute, 10*time.Minute
	}), "it would not end before others use the nodes")
}

// K9: the time limit was raised after Google had granted machines with a shorter lease.
func TestOwnerReadsOfAShortLeaseBeforeTheJobStarts(t *testing.T) {
	told := func(limit time.Duration) string {
		w := newWaitingPending()
		w.up("alpha-a3-[0-1]")
		w.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD+POWERED_DOWN+RESERVED") // they boot
		w.job().Limit.Duration = limit
		for _, a := range w.plan().Actions {
			if c, ok := a.(action.CommentJob); ok && strings.Contains(c.Text, "nodes end") {
				return c.Text
			}
		}
		return ""
	}
	assert.Empty(t, told(time.Hour))
	assert.Equal(t, "flex-start: its nodes end at 2026-11-21T15:59:30Z, before its time limit", told(6*time.Hour))
}
