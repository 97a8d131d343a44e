package recorded

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ada  = history.Who{Job: 812, User: "ada", Account: "ml", Partition: "train"}
)

func at(minutes int) history.Time { return history.At(noon) + history.Time(60*minutes) }

// wait returns a wait for two machines, given its first and last minute.
func wait(who history.Who, from, to int, end history.End) history.Entry {
	return history.Entry{
		Version: history.Version, Kind: history.Wait, ID: fmt.Sprintf("wait %v %d", who, from), NodeSet: "a3", Region: "us-central1",
		Count: 2, Seconds: 3600, From: at(from), To: at(to), Who: who, End: end, Attempts: 1,
	}
}

// lease returns a lease of a machine that was created for job 812, with the minutes of the job on
// it.
func lease(node string, who history.Who, from, to int, uses ...history.Use) history.Entry {
	e := history.Entry{
		Version: history.Version, Kind: history.Lease, ID: fmt.Sprintf("%s@%d", node, from), NodeSet: "a3", Region: "us-central1", Zone: "us-central1-a",
		Node: node, Count: 1, From: at(from), To: at(to), Who: who, Uses: uses,
	}
	if e.Booting = e.Took(); len(uses) > 0 {
		e.Booting = int64(uses[0].From - e.From)
	}
	return e
}

func on(who history.Who, from, to int, told string) history.Use {
	return history.Use{Who: who, From: at(from), To: at(to), Told: told}
}

// read returns the history's story of a job after these entries.
func read(t *testing.T, name string, entries ...history.Entry) *view.Past {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, history.Append(dir, "alpha", false, entries))
	past, err := fromHistory(dir, "alpha", name)
	require.NoError(t, err)
	return past
}

func told(p *view.Past) (lines []string) {
	for _, e := range p.Events {
		line := e.At.Format("15:04") + " " + e.Kind
		if e.Text != "" {
			line += ": " + e.Text
		}
		lines = append(lines, line)
	}
	return lines
}

// U10: without a daemon, the history has the story of an ended job.
func TestHistoryShowsStoryOfEndedJob(t *testing.T) {
	const message = "flex-start: its nodes end at 2026-11-21T13:20:00Z"
	known := lease("n0", ada, 20, 50, on(ada, 24, 49, message))
	known.Machine = "a3-highgpu-8g"
	past := read(t, "812",
		wait(ada, 0, 20, history.Granted),
		known,
		lease("n1", ada, 20, 51, on(ada, 24, 50, "")),
		wait(history.Who{Job: 813, User: "bob"}, 2, 3, history.Withdrawn),
	)
	assert.Equal(t, []string{
		"12:00 machines requested: 2 nodes for 01:00:00 in us-central1", "12:20 machines created: n[0-1]", "12:24 nodes up: n[0-1]", "12:24 running: on n[0-1]",
	}, told(past))
	assert.Equal(t, view.Job{ID: 812, User: "ada", Partition: "train", Told: message}, past.Job)
	assert.Equal(t, at(50).Time(), past.EndedAt)
	assert.Equal(t, []view.Machines{{Count: 1}, {Type: "a3-highgpu-8g", Count: 1}}, past.Events[3].Machines)
}

func TestHistoryShowsRequeuesAndOtherJobsMachines(t *testing.T) {
	bob := history.Who{Job: 813, User: "bob", Partition: "train"}
	failed := wait(bob, 0, 10, history.Failed)
	failed.Cause, failed.Told = "config", "flex-start: held"
	past := read(t, "813", failed, wait(bob, 12, 14, history.Moved), wait(bob, 15, 16, history.Withdrawn),
		lease("n0", ada, 0, 90, on(bob, 20, 30, ""), on(bob, 40, 50, "")))
	assert.Equal(t, []string{
		"12:00 machines requested: 2 nodes for 01:00:00 in us-central1", "12:10 attempt failed: attempt 1: config",
		"12:12 machines requested: 2 nodes for 01:00:00 in us-central1", "12:14 request withdrawn: the job waits in another partition or nodeset",
		"12:15 machines requested: 2 nodes for 01:00:00 in us-central1", "12:16 request withdrawn",
		"12:20 running: on n0", "12:30 back in Slurm's queue", "12:40 running: on n0",
	}, told(past))
	assert.Equal(t, "flex-start: held", past.Job.Told)
}

// ran returns the lines of a job that waited for 20 minutes and ran for an hour.
func ran() []history.Entry {
	known := lease("n0", ada, 20, 90, on(ada, 30, 90, ""))
	known.Machine = "a3-highgpu-8g"
	return []history.Entry{wait(ada, 0, 20, history.Granted), known}
}

// useOf returns the sums of job 812 in the story that why shows at minute 1000. The job is in the
// queue in that state; empty: it is not.
func useOf(t *testing.T, state slurm.JobState, past *view.Past) string {
	t.Helper()
	require.NotNil(t, past)
	v := view.View{SeenAt: at(1000).Time()}
	if state != "" {
		v.Jobs = []view.Job{{ID: 812, ArrayID: 812, User: "ada", Partition: "train", State: string(state)}}
	}
	answer, err := v.Why("812", v.SeenAt, past)
	require.NoError(t, err)
	return answer.Past.Use.String()
}

// Without a daemon, or after its restart, only the history knows that the run is over.
func TestWaitAfterARequeueIsNoRun(t *testing.T) {
	const again, once = "waited 15h40m, ran 1h00m on 1 × a3-highgpu-8g, 8.0 GPU hours", "waited 30m, ran 1h00m on 1 × a3-highgpu-8g, 8.0 GPU hours"
	later := append(ran(), wait(ada, 95, 300, history.Withdrawn))
	assert.Equal(t, again, useOf(t, slurm.JobPending, read(t, "812", later...)))
	assert.Equal(t, "waited 4h00m, ran 1h00m on 1 × a3-highgpu-8g, 8.0 GPU hours", useOf(t, "", read(t, "812", later...)), "it ended while it waited")
	for _, state := range []slurm.JobState{slurm.JobPending, slurm.JobConfiguring} {
		assert.Equal(t, again, useOf(t, state, read(t, "812", ran()...)), "it has requested no machines since")
	}
	assert.Equal(t, once, useOf(t, "", read(t, "812", ran()...)), "it ended")

	daemon := &view.Past{Job: view.Job{ID: 812}, Since: at(600).Time(), Events: []view.Event{{At: at(600).Time(), Kind: view.EventSubmitted}}}
	assert.Equal(t, again, useOf(t, slurm.JobPending, daemon.Join(read(t, "812", ran()...))))
	assert.Equal(t, again, useOf(t, slurm.JobPending, daemon.Join(read(t, "812", later...))))
}

// A job that waits in several partitions withdraws its other requests only after it has started.
func TestWaitThatOutlastsTheStartIsNoRequeue(t *testing.T) {
	past := read(t, "812", append(ran(), wait(ada, 25, 95, history.Withdrawn))...)
	for _, e := range past.Events {
		assert.NotEqual(t, view.EventRequeued, e.Kind)
	}
}

func TestTaskHasStoryByNameAndRawID(t *testing.T) {
	task := history.Who{Job: 812, Name: "811_3", User: "ada"}
	last := history.Who{Job: 811, Name: "811_9", User: "ada"}
	lines := []history.Entry{wait(task, 0, 1, history.Withdrawn), wait(last, 2, 3, history.Withdrawn)}
	for name, want := range map[string]uint32{"811_3": 812, "812": 812, "811_9": 811, "811": 0, "81": 0, "": 0} {
		past := read(t, name, lines...)
		if want == 0 {
			assert.Nil(t, past, name)
			continue
		}
		require.NotNil(t, past, name)
		assert.Equal(t, want, past.Job.ID, name)
	}
}

// slurmctld counts from 1 again if it has lost its state.
func TestEarlierJobOfTheSameNumberIsLeftOut(t *testing.T) {
	const day = 24 * 60
	bob := history.Who{Job: 812, User: "bob"}
	assert.Len(t, read(t, "812", wait(bob, 0, 1, history.Withdrawn), wait(ada, 10, 11, history.Withdrawn)).Events, 2, "another user's")
	assert.Len(t, read(t, "812", wait(ada, 0, 1, history.Withdrawn), wait(ada, 31*day, 31*day+1, history.Withdrawn)).Events, 2, "a month ago")
	assert.Len(t, read(t, "812", wait(ada, 0, 1, history.Withdrawn), wait(ada, 29*day, 29*day+1, history.Withdrawn)).Events, 4)
}

func TestUnreadableHistoryIsAnError(t *testing.T) {
	past, err := fromHistory(t.TempDir(), "alpha", "812")
	require.NoError(t, err)
	assert.Nil(t, past, "no file")
	_, err = fromHistory("/dev/null", "alpha", "812")
	assert.Error(t, err)
}
