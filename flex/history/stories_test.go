package history

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/leader"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// eventsOf returns the events of a story, with the minutes since noon.
func eventsOf(story *view.Past) (events []string) {
	if story == nil {
		return nil
	}
	for _, e := range story.Events {
		events = append(events, fmt.Sprintf("%.0f %s", e.At.Sub(noon).Minutes(), e.Kind))
	}
	return events
}

// U10: only the daemon's memory had the story, and a restart cleared it.
func TestStorySurvivesARestart(t *testing.T) {
	w := newWorld(t)
	later := func(restart bool) {
		if restart {
			w.restart()
		}
		w.later(1)
	}
	of := func() *view.Past {
		return w.story("812")
	}
	w.pending(812)
	later(false)
	w.asked(mig.Accepted, w.Snap.Now, node)
	w.Nodes(node, rising)
	w.job(812, slurm.JobConfiguring, w.Snap.Now, node)
	later(true)
	w.Machine(node, group).Created = w.Snap.Now
	later(true)
	w.Nodes(node, busy)
	w.running(812, w.Snap.Now)
	w.Snap.Told = map[uint32]string{812: "flex-start: its nodes end at 2026-11-21T16:00:00Z"}
	later(true)
	later(true)
	events := []string{"1 " + view.EventSubmitted, "1 " + view.EventAllocated, "1 " + view.EventRequested, "2 " + view.EventGranted, "3 " + view.EventRunning}
	assert.Equal(t, events, eventsOf(of()))

	w.Snap.Jobs = nil
	later(true)
	events = append(events, "6 "+view.EventEnded)
	assert.Equal(t, events, eventsOf(of()))
	assert.Equal(t, w.Snap.Now, of().EndedAt)
	assert.Equal(t, slurm.JobRunning, of().Job.State)
	assert.Equal(t, w.Snap.Told[812], of().Job.Told)

	w.restart()
	w.recorder.Remembers = true
	w.later(1)
	require.Len(t, w.recorder.Ended(), 1)
	assert.Equal(t, events, eventsOf(w.recorder.Story("812")))
	w.look(Length)
	assert.Empty(t, w.recorder.Ended(), "a day later")
	assert.Nil(t, w.recorder.Story("812"))
	assert.Equal(t, events, eventsOf(of()), "the history keeps it")
	w.pending(812)
	w.later(1)
	assert.Len(t, eventsOf(of()), 1, "a later job has the number")
}

func TestTasksStoryIsFoundByNameAndRawID(t *testing.T) {
	w := newWorld(t)
	w.pending(812)
	w.Snap.Jobs[0].ArrayID, w.Snap.Jobs[0].ArrayTask = 811, "3"
	w.later(1)
	for range 2 { // in the queue, and ended
		for name, found := range map[string]bool{"811_3": true, "812": true, "811": false, "81": false, "": false} {
			assert.Equal(t, found, w.story(name) != nil, name)
		}
		w.Snap.Jobs = nil
		w.later(1)
	}
}

func TestAnotherHostWritesTheStoriesThatEndDuringItsPasses(t *testing.T) {
	w := newWorld(t)
	w.pending(812)
	w.later(1)
	w.recorder.stood(leader.ErrStandby)
	w.Snap.Jobs = nil
	w.later(60)
	w.later(1)
	assert.Nil(t, w.story("812"))
}
