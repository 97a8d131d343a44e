package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
)

// U10: for an ended job, the terminal printed "no such job", while the page showed its story.
func TestWhyShowsStoryOfEndedJobWithoutADaemon(t *testing.T) {
	w := newWorld(t)
	w.leases()
	text := w.prints("why", "812")
	contains(t, text, "job 812 (ada)   ENDED at ", "after running for 1h48m on alpha-a3-0", "machines created: 1 of 1 node\n")
	assert.NotContains(t, text, "NOT IN SLURM")

	var story view.Answer
	w.runs("why", "--json", "812").decodes(&story)
	require.NotNil(t, story.Past)
	assert.Equal(t, view.EventEnded, story.Past.Events[len(story.Past.Events)-1].Kind)

	w.waiting()
	assert.NotContains(t, w.prints("why", "--story", "812"), "Story:", "it is of an earlier job")
	w.runs("sync")
	assert.NotContains(t, w.prints("why", "812"), "Story:")
	contains(t, w.prints("why", "--story", "812"), "\nStory:\n", "nodes allocated: alpha-a3-[0-1]\n")
}

func TestWhyShowsTheDaemonsStory(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	w.served()
	assert.Contains(t, w.prints("why", "--story", "812"), "nodes allocated: alpha-a3-[0-1]\n")
}

func TestSummaryIsOneLineForAJobsOutput(t *testing.T) {
	w := newWorld(t)
	w.leases()
	assert.Regexp(t, `^job 812: (waited \w+, )?ran 1h48m on 1 × a3-\w+-8g, 14\.4 GPU hours\n$`, w.prints("why", "--summary", "812"))
	var story view.Answer
	w.runs("why", "--summary", "--json", "812").decodes(&story)
	assert.InDelta(t, 1.8, story.Past.Use.MachineHours, 0.01)
	w.fails("why", "--summary", "alpha-a3-0").complains(`nothing is recorded of "alpha-a3-0"`)
}
