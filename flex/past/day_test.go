package past

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
	"slurmflex/slurm"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// seen returns the view of a pass some minutes after noon, with nodeset a3 and its partition train.
func seen(minutes int, rows []view.Row, jobs ...view.Job) view.View {
	return view.View{
		Cluster: "alpha", SeenAt: at(minutes), Rows: rows, Jobs: jobs,
		NodeSets: []view.NodeSet{{Name: "a3", Partitions: []string{"train"}, Machine: "a3-highgpu-8g"}},
		Groups: []view.Group{{Name: "g812", Region: "us-central1", Job: 812, Requests: []view.Request{
			{Name: "a2", Count: 2, Lease: view.Seconds(time.Hour), CreatedAt: at(4)},
		}}},
	}
}

func job(state slurm.JobState, nodes string, start time.Time) view.Job {
	return view.Job{ID: 812, Partition: "train", State: string(state), Nodes: nodes, StartAt: start}
}

// row returns the row of both nodes of job 812.
func row(state view.State, since time.Time) []view.Row {
	return []view.Row{{
		NodeSet: "a3", Jobs: []uint32{812}, ShownAs: []string{"812"}, Nodes: "n[0-1]", Count: 2, State: state, Since: since, Group: "g812",
	}}
}

func eventsOf(j Job) (told []string) {
	for _, e := range j.Events() {
		told = append(told, fmt.Sprintf("%s %s %s", e.At.Format("15:04"), e.Kind, e.Text))
	}
	return told
}

func TestJobStoryCoversQueueToEnd(t *testing.T) {
	var d Day
	failed := row(view.Waiting, at(1))
	failed[0].Failed, failed[0].Cause = 1, "capacity"
	asked := row(view.Queued, at(1))
	asked[0].Request = "a2"
	for _, v := range []view.View{
		seen(0, nil, job(slurm.JobPending, "", time.Time{})),
		seen(3, failed, job(slurm.JobConfiguring, "n[0-1]", at(1))),
		seen(5, asked, job(slurm.JobConfiguring, "n[0-1]", at(1))),
		seen(6, asked, job(slurm.JobConfiguring, "n[0-1]", at(1))),
		seen(9, row(view.Booting, at(8)), job(slurm.JobConfiguring, "n[0-1]", at(1))),
		seen(11, row(view.Running, at(8)), job(slurm.JobConfiguring, "n[0-1]", at(1))),
		seen(12, row(view.Running, at(8)), job(slurm.JobConfiguring, "n[0-1]", at(1))),
		seen(13, row(view.Running, at(8)), job(slurm.JobRunning, "n[0-1]", at(12))),
		seen(14, row(view.Running, at(8)), job(slurm.JobRunning, "n[0-1]", at(12))),
		seen(20, row(view.Leaving, at(8))),
		seen(21, nil),
	} {
		d.See(v)
	}
	story, ok := d.Job("812")
	require.True(t, ok)
	assert.Equal(t, []string{
		"12:00 seen in Slurm's queue ", "12:01 nodes allocated n[0-1]", "12:03 attempt failed attempt 1: capacity",
		"12:04 machines requested 2 nodes for 01:00:00 in us-central1 (g812/a2)", "12:08 machines created 2 of 2 nodes", "12:11 nodes up n[0-1]",
		"12:12 running on n[0-1]", "12:20 ended ",
	}, eventsOf(story))
	assert.Equal(t, at(20), story.EndedAt)
	require.Len(t, d.Ended(), 1)

	d.See(seen(20+24*60, nil))
	assert.Len(t, d.Ended(), 1)
	d.See(seen(21+24*60, nil))
	assert.Empty(t, d.Ended(), "a day later")
}

// A job that waits PENDING has no nodes in Slurm, but rows of its machines.
func TestPendingJobStoryHasItsRequests(t *testing.T) {
	var d Day
	waits := job(slurm.JobPending, "", time.Time{})
	waits.Awaits, waits.NodeCount, waits.Places = "n[0-3]", 2, 2
	failed := row(view.Waiting, at(1))
	failed[0].Failed, failed[0].Cause, failed[0].Brief = 1, "capacity", "no capacity"
	asked := row(view.Queued, at(4))
	asked[0].Request = "a2"
	for _, v := range []view.View{
		seen(0, nil, waits),
		seen(3, failed, waits),
		seen(5, asked, waits),
		seen(9, row(view.Booting, at(8)), waits),
		seen(11, row(view.Starting, at(8)), waits),
		seen(12, row(view.Running, at(8)), job(slurm.JobRunning, "n[0-1]", at(12))),
		seen(20, row(view.Running, at(8)), waits),
	} {
		d.See(v)
	}
	story, _ := d.Job("812")
	assert.Equal(t, []string{
		"12:00 seen in Slurm's queue ", "12:03 attempt failed attempt 1: no capacity", "12:04 machines requested 2 nodes for 01:00:00 in us-central1 (g812/a2)",
		"12:08 machines created 2 of 2 nodes", "12:11 nodes up n[0-1]", "12:12 running on n[0-1]", "12:20 back in Slurm's queue ",
	}, eventsOf(story))
	assert.Equal(t, []view.Machines{{Type: "a3-highgpu-8g", Count: 2}}, story.Events()[5].Machines)
}

func TestRequeuedJobThatLeavesItsNodesDoesNotRunAgain(t *testing.T) {
	var d Day
	d.See(seen(9, row(view.Running, at(4)), job(slurm.JobCompleting, "n[0-1]", at(5))))
	d.See(seen(10, row(view.Running, at(4)), job(slurm.JobCompleting, "n0", at(9))))
	d.See(seen(11, nil, job(slurm.JobPending, "", time.Time{})))
	d.See(seen(15, row(view.Running, at(12)), job(slurm.JobCompleting, "n[0-1]", at(13))))
	story, _ := d.Job("812")
	var runs []string
	for _, e := range eventsOf(story) {
		if strings.Contains(e, view.EventRunning) {
			runs = append(runs, e)
		}
	}
	assert.Equal(t, []string{"12:05 running on n[0-1]", "12:13 running on n[0-1]"}, runs)
}

func TestRunCountsMachinesOfUnknownType(t *testing.T) {
	var d Day
	d.See(seen(9, row(view.Running, at(4)), job(slurm.JobRunning, "n[0-2]", at(5))))
	story, _ := d.Job("812")
	last := story.Events()[len(story.Events())-1]
	assert.Equal(t, []view.Machines{{Count: 1}, {Type: "a3-highgpu-8g", Count: 2}}, last.Machines, "n2 is no flex node")
}

// U3: the story shows the signal that was sent.
func TestJobStoryHasItsSignal(t *testing.T) {
	var d Day
	running := job(slurm.JobRunning, "n[0-1]", at(5))
	d.See(seen(9, row(view.Running, at(4)), running))
	running.Told = "flex-start: its nodes end at 2026-11-21T12:30:00Z, before its time limit; warned at 2026-11-21T12:20:00Z with USR1"
	d.See(seen(21, row(view.Running, at(4)), running))
	d.See(seen(22, row(view.Running, at(4)), running))
	story, _ := d.Job("812")
	told := eventsOf(story)
	assert.Equal(t, "12:20 signalled USR1, because its nodes end before its time limit", told[len(told)-1])
}

func TestRequeuedJobStartsOver(t *testing.T) {
	var d Day
	lost := row(view.Lost, time.Time{})
	lost[0].Obstacle, lost[0].Group = "machines of n[0-1] are gone", ""
	held := job(slurm.JobPending, "", time.Time{})
	held.Reason = "BeginTime"
	d.See(seen(0, row(view.Running, at(-5)), job(slurm.JobRunning, "n[0-1]", at(-2))))
	d.See(seen(5, lost, job(slurm.JobRunning, "n[0-1]", at(-2))))
	d.See(seen(7, nil, held))
	d.See(seen(8, nil, held))
	d.See(seen(9, row(view.Running, at(8)), job(slurm.JobRunning, "n[0-1]", at(9))))
	story, _ := d.Job("812")
	assert.Equal(t, []string{
		"11:55 machines created 2 of 2 nodes", "11:58 running on n[0-1]",
		"12:04 machines requested 2 nodes for 01:00:00 in us-central1 (g812/a2)", "12:05 machines lost machines of n[0-1] are gone",
		"12:07 back in Slurm's queue BeginTime", "12:08 machines created 2 of 2 nodes", "12:09 running on n[0-1]",
	}, eventsOf(story))
}

func TestOnlyNewMachinesAreCreatedForAJob(t *testing.T) {
	var d Day
	machines := append(row(view.Running, at(-9)), row(view.Booting, at(2))...)
	machines[0].Nodes, machines[0].Count, machines[0].Group = "n0", 1, "g700"
	machines[1].Nodes, machines[1].Count, machines[1].Group = "n1", 1, "g701"
	d.See(seen(3, machines, job(slurm.JobConfiguring, "n[0-1]", at(1))))
	story, _ := d.Job("812")
	assert.Equal(t, []string{"12:01 nodes allocated n[0-1]", "12:02 machines created 1 of 2 nodes"}, eventsOf(story))
}

func TestArrayTaskHasStoryByNameAndRawID(t *testing.T) {
	var d Day
	task, last := job(slurm.JobPending, "", time.Time{}), job(slurm.JobPending, "", time.Time{})
	task.ArrayID, task.ArrayTask = 811, "3"
	last.ID, last.ArrayID, last.ArrayTask = 811, 811, "9"
	d.See(seen(0, nil, task, last))
	for name, want := range map[string]bool{"812": true, "811_3": true, "811_9": true, "811": false, "811_4": false} {
		_, ok := d.Job(name)
		assert.Equal(t, want, ok, name)
	}
}

func TestJobWithUnreadableRowHasNotEnded(t *testing.T) {
	var d Day
	d.See(seen(0, nil, job(slurm.JobPending, "", time.Time{})))
	for _, name := range []string{"812", ""} {
		unread := seen(1, nil)
		unread.Skipped = []view.Skipped{{Kind: slurm.JobRow, Name: name}}
		d.See(unread)
		assert.Empty(t, d.Ended())
	}
	d.See(seen(2, nil))
	assert.Len(t, d.Ended(), 1)
}

func TestDayHoldsOneSamplePerMinuteAndLimitedStories(t *testing.T) {
	var d Day
	for second := range 5 {
		v := seen(0, row(view.Queued, noon))
		v.SeenAt = v.SeenAt.Add(time.Duration(second) * 20 * time.Second)
		d.See(v)
	}
	require.Len(t, d.Samples, 2)
	assert.Equal(t, Sample{At: noon, Nodes: Counts{Waiting: 2}, GPUs: Counts{Waiting: 16}}, d.Samples[0])
	before := d.Clone()
	for minute := range 25 * 60 {
		d.See(seen(minute+2, row(view.Idle, noon)))
	}
	assert.Len(t, before.Samples, 2, "a clone does not change")
	assert.Len(t, d.Samples, 24*60+1)
	assert.Equal(t, 16, d.Samples[0].GPUs.Idle)

	partly := seen(26*60, nil)
	partly.Regions = []view.Region{{Name: "us", ReadFail: "503"}}
	d.See(partly)
	assert.True(t, d.Samples[len(d.Samples)-1].At.Before(partly.SeenAt), "unread nodes are not counted as zero")

	var many []view.Job
	for id := range mostJobs + 10 {
		j := job(slurm.JobPending, "", time.Time{})
		j.ID = uint32(id + 1)
		many = append(many, j)
	}
	d.See(seen(26*60+1, nil, many...))
	assert.Len(t, d.jobs, mostJobs)
	d.See(seen(26*60+2, nil, many[5:]...))
	assert.Len(t, d.jobs, mostJobs)
	_, ok := d.Job("1")
	assert.True(t, ok, "a job that ended in this pass has a story")
	d.See(seen(26*60+3, nil, many[5:]...))
	_, ok = d.Job("1")
	assert.False(t, ok, "the oldest story was dropped")
	_, ok = d.Job(fmt.Sprint(mostJobs + 5))
	assert.True(t, ok)

	long := job(slurm.JobPending, "", time.Time{})
	for minute := range 4 * mostEvents {
		state := []slurm.JobState{slurm.JobPending, slurm.JobConfiguring}[minute%2]
		long.State = string(state)
		d.See(seen(27*60+minute, nil, long))
	}
	story, _ := d.Job("812")
	assert.Len(t, story.Events(), mostEvents)
	assert.Equal(t, view.EventSubmitted, story.Events()[0].Kind)
}

func TestLeaseRemembersItsUses(t *testing.T) {
	var d Day
	uses := func(rows []view.Row) (told []string) {
		for _, u := range d.Uses(rows[0]) {
			told = append(told, fmt.Sprintf("%s %s %s", u.From.Format("15:04"), u.State, u.Jobs))
		}
		return told
	}
	d.See(seen(2, row(view.Booting, at(1))))
	running := row(view.Running, at(1))
	d.See(seen(4, running))
	d.See(seen(5, running))
	assert.Equal(t, []string{"12:01 booting 812", "12:04 running 812"}, uses(running))

	part := row(view.Idle, at(1))
	part[0].Nodes, part[0].ShownAs = "n1", nil
	d.See(seen(6, append(row(view.Running, at(1)), part...)))
	assert.Equal(t, []string{"12:01 booting 812", "12:04 running 812", "12:06 idle "}, uses(part), "a part of the lease")
	partly := seen(7, nil)
	partly.Regions = []view.Region{{Name: "us", ReadFail: "503"}}
	d.See(partly)
	assert.Len(t, uses(part), 3, "the lease may still exist")
	d.See(seen(8, nil))
	assert.Empty(t, uses(part))

	d = Day{}
	d.See(seen(9, row(view.Running, at(1)), job(slurm.JobRunning, "n[0-1]", at(3))))
	assert.Equal(t, []string{"12:03 running 812"}, uses(running), "its earlier uses are unknown")
	d = Day{}
	d.See(seen(9, running, job(slurm.JobRunning, "n[0-1]", time.Time{})))
	assert.Equal(t, []string{"12:09 running 812"}, uses(running), "the start of its run is unknown")
}
