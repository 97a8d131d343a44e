package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhyWorksWithoutADaemonToo(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting(t)
	w.flex(t, "sync").exits(t, exitDone)
	for subject, says := range map[string]string{
		"812":                 "Queued at Google for ",
		"alpha-a3-0":          "It is allocated to job 812 (ada).",
		"alpha-a3-7":          "no job is using it.",
		"alpha-a3-job-812":    "Managed instance group in us-central1",
		"alpha-a3-job-812/a1": "Managed instance group in us-central1",
		"811":                 "There is no such job in Slurm's queue",
	} {
		r := w.flex(t, "why", subject).exits(t, exitDone)
		assert.Contains(t, r.stdout.String(), says, subject)
		assert.Empty(t, r.stderr.String())
	}
}

func TestWhyOfSomethingUnknownIsAFailureThatNamesIt(t *testing.T) {
	w := newWorld(t)
	r := w.flex(t, "why", "alpha-a3-8").exits(t, exitFailed)
	r.complains(t, `no job, node or group named "alpha-a3-8"`)
	assert.Empty(t, r.stdout.String())
}

func TestWhyShowsWhatFewPeopleNeedOnlyIfItIsVerbose(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting(t)
	w.flex(t, "sync").exits(t, exitDone)
	const whole = "Google's last error message: ZONE_RESOURCE_POOL_EXHAUSTED"
	brief := w.flex(t, "why", "812").exits(t, exitDone).stdout.String()
	assert.NotContains(t, brief, whole)
	assert.Contains(t, brief, "\nFor more: slurmflex why --verbose 812\n")
	verbose := w.flex(t, "why", "-v", "812").exits(t, exitDone).stdout.String()
	assert.Contains(t, verbose, whole)
	assert.NotContains(t, verbose, "For more:")
}
