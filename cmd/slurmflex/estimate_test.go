package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/estimate"
	"slurmflex/flex/view"
	"slurmflex/test/bench/site"
)

func TestEstimateUsesTheHistory(t *testing.T) {
	w := newWorld(t)
	assert.Empty(t, w.prints("estimate", "-p", "train", "-N", "2", "--short"))
	require.NoError(t, os.MkdirAll(w.path("history"), 0o755))
	require.NoError(t, site.Waited(w.path("history"), 39))
	text := w.prints("estimate", "-p", "train", "-N", "2")
	assert.Equal(t, text, w.prints("estimate", "-p", "train", "-N", "2", "--short"))
	assert.Regexp(t, `^partition train, nodeset a3, 2 nodes: wait: median 20m, 90th percentile 36m, from 39 requests like this one since \d{4}-\d\d-\d\d\n$`, text)

	var report estimate.Report
	w.runs("estimate", "--partition=train", "--nodes=1", "--json").decodes(&report)
	assert.Equal(t, view.EnvelopeOf("estimate"), report.Envelope)
	assert.Equal(t, view.Seconds(20*time.Minute), report.Estimates[0].Median)
	assert.Equal(t, view.Seconds(36*time.Minute), report.Estimates[0].P90)
	assert.True(t, report.Estimates[0].AnySize)
}

// U9: without any history, cost printed zeros and estimate printed "too few requests".
func TestMissingHistoryIsAnErrorThatNamesTheFolder(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"estimate -p train", "cost", "cost --json"} {
		r := w.fails(strings.Fields(command)...)
		r.complains("no history in "+w.path("history")+": ", "cluster alpha", "slurmflex.state_dir")
		assert.Empty(t, r.stdout.String(), command)
	}
	assert.Contains(t, w.prints("why", "811"), "its story is unknown: ")
}

func TestRunningJobHasNoEstimate(t *testing.T) {
	w := left(t)
	w.jobs("812 2:00:00 RUNNING alpha-a3-[0-1]", "813 2:00:00 PENDING (null)")
	w.nodes("ALLOCATED+CLOUD", 0, 1)
	w.fails("estimate", "812").complains("job 812 has its machines")
	w.fails("estimate", "814").complains("job 814 is not in Slurm's queue")
}
