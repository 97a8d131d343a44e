package fakeslurm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

func TestPowerDownKeepsANodesTexts(t *testing.T) {
	w := newWorld(t, "24.11")
	text, long := "armed\n10:00", strings.Repeat("é", 600)
	require.NoError(t, w.UpdateNodes(t.Context(), []string{"a0"}, slurm.NodeChange{Comment: &text, Extra: &long}))
	w.update("a0", "power_down_force")
	w.pass(20 * time.Second)
	n := w.node("a0")
	require.Equal(t, "armed 10:00", n.Comment)
	require.LessOrEqual(t, len(n.Extra), 500)
	require.True(t, strings.HasSuffix(n.Extra, "é…"))
	empty := ""
	require.NoError(t, w.UpdateNodes(t.Context(), []string{"a0"}, slurm.NodeChange{Comment: &empty}))
	require.Empty(t, w.node("a0").Comment)
}

func TestSlurm2205HidesPoweredDownNodesWithoutPrivateCloud(t *testing.T) {
	for version, shown := range map[string]int{"22.05": 2, "24.11": 7} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, version, func(o *Options) { o.PrivateCloud = false })
			w.update("a0", "power_up")
			w.update("b0", "power_down_force")
			w.pass(2 * time.Second)
			nodes := listed(w, w.Nodes)
			require.Len(t, nodes, shown)
		})
	}
}

func TestSlurmctldThatIsDownNeitherAnswersNorActs(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b0")
	id := w.submit(open("b0"))
	w.pass(time.Second)
	gone := errors.New("connection refused")
	w.Down(gone)
	w.pass(20 * time.Minute)
	ctx := t.Context()
	_, nodes := w.Nodes(ctx)
	_, jobs := w.Jobs(ctx)
	_, records := w.JobRecords(ctx, []uint32{id})
	_, reservations := w.Reservations(ctx)
	_, config := w.Config(ctx)
	_, partitions := w.Partitions(ctx)
	_, submit := w.Submit(open())
	for _, err := range []error{
		nodes, jobs, records, reservations, config, partitions, submit, w.refused("a0", "power_up", ""),
		w.reserveFrom("eol", time.Hour, "a0"), w.SetReservation(ctx, "eol", slurm.ReservationChange{Nodes: []string{"a0"}}), w.DeleteReservation(ctx, "eol"),
		w.HoldJob(ctx, id), w.CancelJob(ctx, id), w.NotifyJob(ctx, id, ""), w.SetAdminComment(ctx, id, ""), w.Requeue(id),
	} {
		require.ErrorIs(t, err, gone)
	}
	require.Equal(t, slurm.JobRunning, w.JobState(id))
	w.Up()
	w.pass(time.Second)
	require.Equal(t, slurm.JobCompleted, w.JobState(id))
	w.Down(nil)
	require.ErrorIs(t, w.HoldJob(ctx, id), scontrol.ErrNoController)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, w.HoldJob(ended, id), context.Canceled)
}

func TestConfigMatchesScontrol(t *testing.T) {
	for version, full := range map[string]string{"22.05": "22.05.0", "25.05.8": "25.05.8", "": "24.11.5"} {
		w := newWorld(t, version)
		config := listed(w, w.Config)
		v, err := config.Version()
		require.NoError(t, err)
		require.Equal(t, full, v.String())
		require.Equal(t, time.Minute, config.Seconds("ResumeTimeout").Duration)
		require.Equal(t, 100*time.Second, config.Seconds("SuspendTime").Duration)
		require.Contains(t, config.List("SlurmctldParameters"), "idle_on_node_suspend")
	}
}
