package view

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requeued returns the record of a job that lost a machine and ran twice.
func requeued() *Past {
	at := func(minutes int) time.Time { return seenAt.Add(time.Duration(minutes-600) * time.Minute) }
	two := []Machines{{"a3-megagpu-8g", 2}}
	return &Past{
		Job: Job{ID: 812, User: "ada", Partition: "train", Limit: Seconds(4 * time.Hour)}, EndedAt: at(390),
		Events: []Event{
			{At: at(0), Kind: EventSubmitted},
			{At: at(1), Kind: EventRequested, Text: "2 nodes for 04:10:00 in us-central1 (alpha-a3-job-812/a1)"},
			{At: at(31), Kind: EventFailed, Text: "attempt 1: no capacity"},
			{At: at(35), Kind: EventRequested, Text: "2 nodes for 04:10:00 in us-central1 (alpha-a3-job-812/a2)"},
			{At: at(96), Kind: EventGranted, Text: "2 of 2 nodes"},
			{At: at(99), Kind: EventBooted, Text: "alpha-a3-[0-1]"},
			{At: at(100), Kind: EventRunning, Text: "on alpha-a3-[0-1]", Machines: two},
			{At: at(158), Kind: EventLost, Text: "the machine of alpha-a3-1 is gone"},
			{At: at(160), Kind: EventRequeued, Text: "BeginTime"},
			{At: at(190), Kind: EventGranted, Text: "2 of 2 nodes"},
			{At: at(192), Kind: EventBooted, Text: "alpha-a3-[2-3]"},
			{At: at(220), Kind: EventRunning, Text: "on alpha-a3-[2-3]", Machines: two},
			{At: at(390), Kind: EventEnded},
		},
	}
}

func TestStoryOfEndedJobHasEachStepAndItsSum(t *testing.T) {
	story, err := View{SeenAt: seenAt, Daemon: &Daemon{}}.Why("812", seenAt, requeued())
	require.NoError(t, err)
	golden(t, "story.golden", story.Text(false))
}

func TestUseSumsUpWaitsAndRuns(t *testing.T) {
	at := func(minutes int) time.Time { return seenAt.Add(time.Duration(minutes) * time.Minute) }
	submitted := Event{At: at(-60), Kind: EventSubmitted}
	run := func(minutes int, machines ...Machines) Event {
		return Event{At: at(minutes), Kind: EventRunning, Machines: machines}
	}
	for want, p := range map[string]*Past{
		"waited 1h00m, no run recorded": {Events: []Event{submitted}},
		"waited 10m, no run recorded":   {Events: []Event{submitted}, EndedAt: at(-50)},
		"waited 30m, ran 30m on 2 × g2-standard-48 + 1 × a3-highgpu-8g, 8.0 GPU hours": {Events: []Event{submitted, run(-30, Machines{"g2-standard-48", 2}, Machines{"a3-highgpu-8g", 1})}},
		"ran 30m on 1 × n2-standard-4, 0.5 machine hours":                              {Events: []Event{run(-30, Machines{"n2-standard-4", 1})}},
		"ran 30m on 1 node + 1 × a3-highgpu-8g, 1.0 machine hours":                     {Events: []Event{run(-30, Machines{"", 1}, Machines{"a3-highgpu-8g", 1})}},
		"ran 30m": {Events: []Event{run(-30)}},
		"ran 45m on 1 × a3-highgpu-8g, 6.0 GPU hours": {Events: []Event{run(-50, Machines{"a3-highgpu-8g", 1}), run(-45, Machines{"a3-highgpu-8g", 1}), {At: at(-5), Kind: EventEnded}}, EndedAt: at(-5)},
	} {
		assert.Equal(t, want, p.use(seenAt).String())
	}
}

func TestStoryTextIsBoundedAndPrintable(t *testing.T) {
	p := requeued()
	p.Events[1].Text = "\x1b[2J" + strings.Repeat("x", 1000)
	for range 300 {
		p.Events = append(p.Events[:len(p.Events)-1], Event{At: p.EndedAt, Kind: EventRequeued}, Event{At: p.EndedAt, Kind: EventEnded})
	}
	p.Events[250].Machines = []Machines{{"\x1b]0;", 1}}
	text := p.text(seenAt)
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "\n  … 213 more events\n")
	assert.LessOrEqual(t, strings.Count(text, "\n"), shownEvents+4)
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len([]rune(line)), eventWidth+30)
	}
}
