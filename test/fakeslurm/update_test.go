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

func TestPowerDownOnlyMarksANodeThatIsAllocatedOrPoweringUp(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		w := newWorld(t, version)
		w.powered("b0")
		w.submit(open("b0"))
		w.update("b1", "power_up")
		w.pass(2 * time.Second)
		w.programs()
		w.update("b[0-1]", "power_down")
		w.pass(5 * time.Second)
		w.shows("b0", "MIXED+CLOUD+POWER_DOWN")
		w.shows("b1", "IDLE+CLOUD+POWER_DOWN+POWERING_UP+NOT_RESPONDING")
		w.boot("b1")
		require.NoError(t, w.Cancel(1))
		w.pass(2 * time.Second)
		w.shows("b0", "IDLE+CLOUD+POWERING_DOWN")
		w.shows("b1", "IDLE+CLOUD+POWERING_DOWN")
	})
}

func TestANodeThatIsPoweredDownCanBePoweredDownAgain(t *testing.T) {
	for version, first := range map[string]string{"22.05": "IDLE+CLOUD+POWER_DOWN", "24.11": "IDLE+CLOUD+POWER_DOWN+POWERED_DOWN"} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, version)
			w.update("a0", "power_down_force")
			w.shows("a0", first)
			w.pass(time.Second)
			require.Equal(t, []string{"suspend a0"}, w.programs())
			w.pass(10 * time.Second)
			w.shows("a0", "IDLE+CLOUD+POWERED_DOWN")
		})
	}
}

func TestResumeIsRefusedForANodeInServiceAndOthersAreResumedAllTheSame(t *testing.T) {
	w := newWorld(t, "24.11")
	require.NoError(t, w.refused("a0", "down", "broken"))
	require.ErrorContains(t, w.refused("a[0-1]", "resume", ""), "Invalid node state specified")
	w.shows("a0", "IDLE+CLOUD+POWERED_DOWN+NOT_RESPONDING")
	w.update("a1", "power_up")
	w.pass(2 * time.Second)
	require.ErrorContains(t, w.refused("a1", "resume", ""), "Invalid node state specified")
}

func TestDownTakesANodeFromItsJob(t *testing.T) {
	w := newWorld(t, "24.11")
	id := w.submit(train("a0"))
	w.pass(2 * time.Second)
	require.NoError(t, w.refused("a0", "down", "broken"))
	require.Equal(t, slurm.JobPending, w.JobState(id))
	w.shows("a0", "DOWN+CLOUD+POWER_DOWN+POWERING_UP+NOT_RESPONDING")
	w.update("a0", "power_down")
	w.pass(2 * time.Second)
	w.shows("a0", "IDLE+CLOUD+POWERING_DOWN")
}

func TestDrainRequeuesAJobThatIsConfiguringAndLetsOneThatRunsEnd(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("a1")
	configuring, running := w.submit(train("a0")), w.submit(train("a1"))
	w.pass(2 * time.Second)
	require.NoError(t, w.refused("a[0-1]", "drain", "an admin's"))
	require.Equal(t, slurm.JobPending, w.JobState(configuring))
	require.Equal(t, slurm.JobRunning, w.JobState(running))
	w.shows("a1", "ALLOCATED+CLOUD+DRAIN+POWER_DOWN")
}

func TestANodeSetDownByHandIsBackWhenItsSlurmdIsAsked(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		w := newWorld(t, version)
		w.powered("b0")
		require.NoError(t, w.refused("b0", "down", "broken"))
		require.NoError(t, w.refused("b1", "down", "broken"))
		w.pass(time.Second)
		w.shows("b0", "DOWN+CLOUD")
		w.pass(10 * time.Second)
		w.shows("b0", "IDLE+CLOUD")
		w.shows("b1", "DOWN+CLOUD+POWERED_DOWN") // nobody is there
	})
}

func TestOn2411AReasonStaysUntilTheNextAllocationAndOthersAreAddedToIt(t *testing.T) {
	for version, reasons := range map[string][2]string{
		"22.05": {"", "ResumeTimeout reached"},
		"24.11": {"its lease ended", "its lease ended : ResumeTimeout reached"},
	} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, version)
			require.NoError(t, w.refused("a0", "power_down_force", "its lease ended"))
			w.pass(2 * time.Second)
			w.update("a0", "resume")
			w.update("a0", "power_up")
			w.pass(2 * time.Second)
			require.Equal(t, reasons[0], w.node("a0").Reason)
			w.pass(60 * time.Second)
			require.Equal(t, reasons[1], w.node("a0").Reason)
			w.update("a0", "resume")
			w.submit(train("a0"))
			w.pass(time.Second)
			require.Empty(t, w.node("a0").Reason)
		})
	}
}

func TestAReasonAloneIsKeptBy2411Only(t *testing.T) {
	for version, want := range map[string]string{"22.05": "", "24.11": "why"} {
		w := newWorld(t, version)
		require.NoError(t, w.refused("a0", "", "why"))
		require.Equal(t, want, w.node("a0").Reason)
	}
}

func TestTextsOfANodeAreKeptWhenItIsPoweredDown(t *testing.T) {
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

func TestWhatIsWrongWithAnUpdateIsRefused(t *testing.T) {
	w := newWorld(t, "24.11")
	require.ErrorIs(t, w.refused("a0,a9", "power_up", ""), scontrol.ErrUnknownNode)
	require.True(t, w.node("a0").State.Has(slurm.PowerUp), "the known one is changed")
	require.ErrorContains(t, w.refused("a0", "nonsense", ""), "Invalid input: state=nonsense")
	require.ErrorContains(t, w.refused("a0", "down", ""), "You must specify a reason when DOWNING or DRAINING a node")
	require.ErrorContains(t, w.refused("a0", "", ""), "nothing to change")
	require.NoError(t, w.UpdateNodes(t.Context(), nil, slurm.NodeChange{State: "resume"}), "nothing to do")
}

func TestOn2205NodesThatArePoweredDownAreHiddenWithoutPrivateCloud(t *testing.T) {
	for version, shown := range map[string]int{"22.05": 2, "24.11": 7} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, version, func(o *Options) { o.PrivateCloud = false })
			w.update("a0", "power_up")
			w.update("b0", "power_down_force")
			w.pass(2 * time.Second)
			nodes, err := w.Nodes(t.Context())
			require.NoError(t, err)
			require.Len(t, nodes, shown)
		})
	}
}

func TestNothingAnswersWhileSlurmctldIsDownAndNothingHappens(t *testing.T) {
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
		w.reserveFrom("eol", time.Hour, "a0"), w.SetReservationNodes(ctx, "eol", []string{"a0"}), w.DeleteReservation(ctx, "eol"),
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

func TestTheConfigurationIsAsScontrolShowsIt(t *testing.T) {
	for version, full := range map[string]string{"22.05": "22.05.0", "25.05.8": "25.05.8", "": "24.11.5"} {
		w := newWorld(t, version)
		config, err := w.Config(t.Context())
		require.NoError(t, err)
		v, err := config.Version()
		require.NoError(t, err)
		require.Equal(t, full, v.String())
		require.Equal(t, time.Minute, config.Seconds("ResumeTimeout").Duration)
		require.Equal(t, 100*time.Second, config.Seconds("SuspendTime").Duration)
		require.Contains(t, config.List("SlurmctldParameters"), "idle_on_node_suspend")
	}
}
