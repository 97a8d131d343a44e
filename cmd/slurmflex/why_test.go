package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhyTellsAStoryWithoutADaemonToo(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting(t)
	w.flex(t, "sync").exits(t, exitDone)
	for subject, says := range map[string]string{
		"812":                 "The request has been in Google's queue for ",
		"alpha-a3-0":          "It is allocated to job 812 of ada.",
		"alpha-a3-7":          "no job has been given it.",
		"alpha-a3-job-812":    "It is a managed instance group in us-central1",
		"alpha-a3-job-812/a1": "It is a managed instance group in us-central1",
		"811":                 "It is not in Slurm's queue",
	} {
		r := w.flex(t, "why", subject).exits(t, exitDone)
		assert.Contains(t, r.stdout.String(), says, subject)
		assert.Empty(t, r.stderr.String())
	}
}

func TestWhyOfSomethingUnknownIsAFailureThatSaysWhatToAsk(t *testing.T) {
	w := newWorld(t)
	r := w.flex(t, "why", "alpha-a3-8").exits(t, exitFailed)
	r.complains(t, `nothing is known of it: "alpha-a3-8"; give the number of a job, the name of a node, or of a group`)
	assert.Empty(t, r.stdout.String())
}
