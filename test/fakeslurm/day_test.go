package fakeslurm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// day runs a random day and returns a log of every action and of the final state.
func day(t *testing.T, version string, seed uint64) string {
	w := newWorld(t, version)
	draw := rand.New(rand.NewPCG(seed, 0))
	var story strings.Builder
	for range 200 {
		done := w.something(draw)
		w.pass(time.Duration(draw.IntN(40)) * time.Second)
		fmt.Fprintf(&story, "%s\n%s\n%v\n", done, w.squeue(), w.programs())
		for _, n := range w.nodes {
			fmt.Fprintf(&story, "%s %s %s\n", n.name, n.state(), n.reason)
		}
		w.consistent(done)
	}
	return story.String()
}

// something performs one random action of a user, an admin or a machine.
func (w *world) something(draw *rand.Rand) string {
	node := w.o.Nodes[draw.IntN(len(w.o.Nodes))]
	id := uint32(draw.IntN(int(w.lastID) + 2))
	states := []string{"power_up", "power_down", "power_down_asap", "power_down_force", "resume", "idle", "undrain", "drain", "down"}
	state := states[draw.IntN(len(states))]
	job := JobSpec{
		Partition: []string{"train", "open", "static"}[draw.IntN(3)], Nodes: draw.IntN(3), Tasks: draw.IntN(2) * draw.IntN(4),
		Limit: time.Duration(draw.IntN(60)) * time.Minute, Run: time.Duration(draw.IntN(600)) * time.Second,
		NoRequeue: draw.IntN(4) == 0, Interactive: draw.IntN(4) == 0,
	}
	verbs := []struct {
		name string
		do   func() error
	}{
		{"submit", func() error { _, err := w.Submit(job); return err }},
		{"submit another", func() error { _, err := w.Submit(job); return err }},
		{"boot", func() error { w.Register(node, w.now); return nil }},
		{"boot another", func() error { w.Register(node, w.now.Add(-time.Second)); return nil }},
		{"vanish", func() error { w.Silence(node); return nil }},
		{state, func() error { return w.refused(node, state, "why") }},
		{"cancel", func() error { return w.Cancel(id) }},
		{"cancel one", func() error { return w.CancelJob(w.t.Context(), id) }},
		{"requeue", func() error { return w.Requeue(id) }},
		{"requeue and hold", func() error { return w.RequeueHold(id) }},
		{"hold", func() error { return w.HoldJob(w.t.Context(), id) }},
		{"release", func() error { return w.Release(id) }},
		{"start now", func() error { return w.Start(id) }},
		{"shrink", func() error { return w.Shrink(id, 1) }},
		{"limit", func() error { return w.SetLimit(id, job.Limit) }},
		{"priority", func() error { return w.SetPriority(id, uint64(draw.IntN(5))) }},
		{"restart", func() error { w.Restart(); return nil }},
		{"reserve", func() error { return w.reserveFrom(fmt.Sprint(id), 20*time.Minute, node) }},
		{"cover", func() error {
			return w.Scontrol(w.t.Context(), fmt.Sprintf("create reservation reservationname=%d nodes=a[0-2] duration=infinite users=root flags=ignore_jobs,overlap,purge_comp=6", id))
		}},
		{"door", func() error { return w.Scontrol(w.t.Context(), doorText(fmt.Sprint(id), node, 60)) }},
		{"use", func() error {
			return w.Scontrol(w.t.Context(), fmt.Sprintf("update jobid=%d reservationname=%d", id, draw.IntN(int(id)+1)))
		}},
		{"open", func() error {
			return w.Scontrol(w.t.Context(), fmt.Sprintf("update reservationname=%d starttime=now", id))
		}},
		{"crash", func() error { w.Crash(time.Minute); return nil }},
		{"unreserve", func() error { return w.DeleteReservation(w.t.Context(), fmt.Sprint(id)) }},
	}
	verb := verbs[draw.IntN(len(verbs))]
	return fmt.Sprintf("%s %s job %d: %v", verb.name, node, id, verb.do())
}

// consistent checks the model's invariants.
func (w *world) consistent(done string) {
	w.t.Helper()
	for _, n := range w.nodes {
		for _, j := range n.jobs {
			require.True(w.t, j.active() && slices.Contains(j.nodes, n), "%s: %s has job %d, which is %s", done, n.name, j.id, j.state)
			require.False(w.t, len(n.jobs) > 1 && j.partition.Exclusive, "%s: job %d shares %s", done, j.id, n.name)
			require.False(w.t, n.down || n.has(slurm.PoweringDown), "%s: job %d is on %s, which is %s", done, j.id, n.name, n.state())
		}
		require.LessOrEqual(w.t, len(n.jobs), coresPerNode, done)
		require.False(w.t, n.has(slurm.PoweringDown) && n.hasAny(slurm.PoweredDown|slurm.PoweringUp), "%s: %s is %s", done, n.name, n.state())
	}
	for _, j := range w.queue {
		require.True(w.t, j.reservation == nil || slices.Contains(w.reservations, j.reservation), "%s: job %d", done, j.id)
		require.False(w.t, j.over() && j.unconfirmed == 0, "%s: job %d is over", done, j.id)
		if j.active() {
			for _, n := range j.nodes {
				require.Contains(w.t, n.jobs, j, "%s: job %d on %s", done, j.id, n.name)
			}
		}
	}
}

func TestSameSeedGivesTheSameDay(t *testing.T) {
	for _, version := range Releases() {
		for seed := range uint64(2) {
			require.Equal(t, day(t, version, seed), day(t, version, seed), "seed %d of %s", seed, version)
		}
	}
}
