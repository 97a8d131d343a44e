package view

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// past returns the history of job 812, which ran for eight minutes.
func past() *Past {
	return &Past{
		Job:     Job{ID: 812, User: "ada", Partition: "train", Limit: Seconds(time.Hour), Told: "flex-start: its nodes end at 2026-11-21T12:30:00Z"},
		EndedAt: at(-2),
		Events: []Event{
			{At: at(-20), Kind: EventSubmitted, Text: ""}, {At: at(-19), Kind: EventRequested, Text: "2 nodes for 01:00:00"}, {At: at(-10), Kind: EventRunning, Text: "on n[0-1]"}, {At: at(-2), Kind: EventEnded, Text: ""},
		},
	}
}

// U10: the page showed the story of an ended job, but why reported that the job did not exist.
func TestWhyShowsEndAndStoryOfEndedJob(t *testing.T) {
	v := View{SeenAt: noon, Daemon: &Daemon{}}
	story, err := v.Why("812", noon, past())
	require.NoError(t, err)
	assert.Equal(t, `job 812 (ada)   ENDED at 11:58:00, after running for 8m on n[0-1]
  machines  none left, and no requests
  you can   sacct -j 812, if accounting is enabled
Story:
  11:40:00          seen in Slurm's queue
  11:41:00  +1m     machines requested: 2 nodes for 01:00:00
  11:50:00  +9m     running: on n[0-1]
  11:58:00  +8m     ended
`, story.Text(false))

	cut := past()
	cut.EndedAt, cut.Events = time.Time{}, cut.Events[:2]
	story, err = v.Why("812", noon, cut)
	require.NoError(t, err)
	assert.Equal(t, "ENDED at 12:00:00, no run recorded", story.State)
	assert.Equal(t, EventEnded, story.Past.Events[2].Kind)
	assert.Len(t, cut.Events, 2, "the record is not changed")
}

// Job numbers start again from 1 after a lost StateSaveLocation, and the history stays.
func TestQueuedJobHasNoStoryOfAnEarlierJobWithItsNumber(t *testing.T) {
	story := func(user string, ended time.Time) *Past {
		return &Past{Job: Job{ID: 812, User: user}, EndedAt: ended, Events: []Event{
			{At: at(-60), Kind: EventRunning, Text: "on n0", Machines: []Machines{{"a3-highgpu-8g", 1}}},
		}}
	}
	single := []Job{{ID: 812, User: "ada", Partition: "train", State: "PENDING", Reason: "Priority"}}
	tasks := []Job{{ID: 812, ArrayID: 812, ArrayTask: "3-9", User: "ada", State: "PENDING"}, {ID: 813, ArrayID: 812, ArrayTask: "2", User: "ada", State: "RUNNING"}}
	for name, test := range map[string]struct {
		story   *Past
		jobs    []Job
		earlier bool
	}{
		"another user's":           {story("bob", time.Time{}), single, true},
		"another user's, an array": {story("bob", time.Time{}), tasks, true},
		"the user's, ended":        {story("ada", noon), single, true},
		"the job's":                {story("ada", time.Time{}), single, false},
		"of an unknown user":       {story("", time.Time{}), single, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := View{SeenAt: noon, Jobs: test.jobs}
			story, err := v.Why("812", noon, test.story)
			require.NoError(t, err)
			assert.Equal(t, test.earlier, story.Past == nil)
			assert.Equal(t, test.earlier, !strings.Contains(story.Text(false), "GPU hours"), story.Text(false))
		})
	}
}
