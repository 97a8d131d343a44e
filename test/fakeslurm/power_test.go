package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestAllocatedNodePowersUpRunsItsJobAndPowersDown(t *testing.T) {
	w := newWorld(t, "24.11")
	id := w.submit(train("a0", "a1"))
	w.Step()
	w.shows("a0", "ALLOCATED+CLOUD+POWER_DOWN+POWERED_DOWN") // for up to a second
	allocated := w.now
	w.pass(time.Second)
	w.shows("a0", "ALLOCATED+CLOUD+POWER_DOWN+POWERING_UP+NOT_RESPONDING")
	require.Equal(t, []string{"resume a[0-1] for job 1"}, w.programs())
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	require.Equal(t, allocated, w.queued(id).Start)

	w.pass(3 * time.Second)
	w.boot("a[0-1]")
	w.shows("a0", "ALLOCATED+CLOUD+POWER_DOWN")
	require.Equal(t, slurm.JobConfiguring, w.JobState(id), "until slurmctld's next period")
	w.pass(30 * time.Second)
	require.Equal(t, slurm.JobRunning, w.JobState(id))
	require.True(t, w.queued(id).Start.After(allocated), "its time starts over")

	w.pass(10 * time.Minute)
	require.Equal(t, slurm.JobCompleted, w.JobState(id))
	require.Equal(t, []string{"suspend a[0-1]"}, w.programs(), "PowerDownOnIdle")
	w.pass(10 * time.Second)
	w.shows("a0", "IDLE+CLOUD+POWERED_DOWN")
	require.Zero(t, w.node("a0").LastBusyTime)
}

func TestIdleNodePowersDownAfterSuspendTimeUnlessExempt(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		w.powered("b0,s0")
		w.pass(90 * time.Second)
		w.shows("b0", "IDLE+CLOUD")
		w.pass(15 * time.Second)
		w.shows("b0", "IDLE+CLOUD+POWERING_DOWN")
		w.shows("s0", "IDLE+CLOUD")
		require.Equal(t, []string{"suspend b0"}, w.programs())
	})
}

func TestSuspendTimeCountsFromTheEndOfTheJob(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b0")
	w.submit(open("b0"))
	w.pass(10*time.Minute + 50*time.Second)
	w.shows("b0", "IDLE+CLOUD")
	require.WithinDuration(t, w.now.Add(-50*time.Second), w.node("b0").LastBusyTime, 2*time.Second)
	w.pass(60 * time.Second)
	w.shows("b0", "IDLE+CLOUD+POWERING_DOWN")
}

func TestPartitionSuspendTimeAppliesToItsNodes(t *testing.T) {
	for _, version := range []string{"22.05", "24.11", "26.05"} {
		w := newWorld(t, version, func(o *Options) {
			o.SuspendTime = 0
			o.Partitions[0].PowerDownOnIdle = false
			o.Partitions[0].SuspendTime = slurm.Limit{Kind: slurm.LimitSet, Duration: 200 * time.Second}
		})
		w.update("a0", "power_up")
		w.pass(2 * time.Second)
		w.Register("a0", w.now)
		w.pass(190 * time.Second)
		w.shows("a0", "IDLE+CLOUD")
		w.pass(20 * time.Second)
		w.shows("a0", "IDLE+CLOUD+POWERING_DOWN")
	}
}

func TestResumeTimeoutSetsTheNodeDownAndRequeuesItsJob(t *testing.T) {
	for version, state := range map[string]string{
		"22.05": "DOWN+CLOUD+POWERED_DOWN+NOT_RESPONDING", "24.11": "DOWN+CLOUD+POWERED_DOWN",
	} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, version)
			id := w.submit(train("a0"))
			lost := train("a1")
			lost.NoRequeue = true
			failed := w.submit(lost)
			w.pass(2 * time.Second)
			w.programs()
			w.pass(62 * time.Second)
			w.shows("a0", state)
			require.Equal(t, "ResumeTimeout reached", w.node("a0").Reason)
			require.Equal(t, []string{"resume-fail a[0-1]"}, w.programs(), "and not SuspendProgram")
			require.Equal(t, slurm.JobPending, w.JobState(id))
			require.Equal(t, slurm.JobNodeFail, w.JobState(failed))
			w.pass(time.Hour)
			w.shows("a0", state) // until an admin acts
			w.update("a0", "resume")
			require.True(t, w.node("a0").State.Has(slurm.PoweredDown))
			w.pass(3 * time.Second)
			require.Equal(t, slurm.JobConfiguring, w.JobState(id))
		})
	}
}

func TestPartitionResumeTimeoutAppliesToItsNodes(t *testing.T) {
	w := newWorld(t, "24.11", func(o *Options) {
		o.Partitions[0].ResumeTimeout = slurm.Limit{Kind: slurm.LimitSet, Duration: 5 * time.Minute}
	})
	w.update("a0,b0", "power_up")
	w.pass(70 * time.Second)
	w.shows("a0", "IDLE+CLOUD+POWERING_UP+NOT_RESPONDING")
	w.shows("b0", "DOWN+CLOUD+POWERED_DOWN")
}

func TestPowerUpOfANodePoweringUpRestartsResumeTimeout(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		id := w.submit(train("a0"))
		w.pass(2 * time.Second)
		w.programs()
		for range 5 {
			w.pass(50 * time.Second)
			w.update("a0", "power_up")
			require.True(t, w.node("a0").State.Has(slurm.PoweredDown|slurm.PowerUp|slurm.PoweringUp))
			w.pass(time.Second)
			require.Equal(t, []string{"resume a0"}, w.programs(), "and no job is named")
		}
		require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	})
}

func TestLostNodeOfAJobRecovers(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b0")
	id := w.submit(open("b0"))
	w.pass(time.Second)
	w.Silence("b0")
	w.pass(40 * time.Second)
	require.Equal(t, slurm.JobRunning, w.JobState(id), "a job stays visible meanwhile")
	w.pass(20 * time.Second)
	require.Equal(t, slurm.JobPending, w.JobState(id))
	w.shows("b0", "DOWN+CLOUD+NOT_RESPONDING")
	w.pass(100 * time.Second)
	require.Equal(t, []string{"suspend b0"}, w.programs())
}

func TestRebootedMachineLosesItsJob(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b0")
	id := w.submit(open("b0"))
	w.pass(5 * time.Second)
	w.boot("b0")
	require.Equal(t, slurm.JobPending, w.JobState(id))
	w.shows("b0", "IDLE+CLOUD")
}

func TestRestartRunsNoProgramAgainAndResetsIdleTimeOn2205(t *testing.T) {
	for version, busy := range map[string]bool{"22.05": true, "24.11": false} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, version)
			w.powered("b0")
			registered := w.node("b0").LastBusyTime
			w.update("a0", "power_up")
			w.pass(20 * time.Second)
			w.programs()
			w.Down(nil)
			w.pass(10 * time.Second)
			w.Restart()
			w.pass(3 * time.Second)
			require.Empty(t, w.programs())
			w.shows("a0", "IDLE+CLOUD+POWERING_UP+NOT_RESPONDING")
			require.Equal(t, busy, w.node("b0").LastBusyTime.After(registered))
			w.pass(30 * time.Second)
			require.True(t, w.node("a0").State.Has(slurm.PoweredDown), "ResumeTimeout continued")
		})
	}
}

func TestSlurmctldWithoutStateConsidersAllNodesPoweredDown(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		w.powered("a0")
		first := w.submit(JobSpec{Partition: "train", Nodes: 1, Limit: time.Hour, Run: time.Hour})
		w.pass(time.Minute)
		w.LoseState()
		w.pass(time.Minute)
		w.shows("a0", "IDLE+CLOUD+POWERED_DOWN")
		jobs := listed(w, w.Jobs)
		require.Empty(t, jobs)
		require.Empty(t, w.calls, "no program is called for forgotten nodes")
		require.Equal(t, first, w.submit(JobSpec{Partition: "train", Nodes: 1, Limit: time.Hour}), "IDs start again")
	})
}
