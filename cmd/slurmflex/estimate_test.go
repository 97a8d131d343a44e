package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// past writes a history of that many waits for two nodes. The waits last one minute, two minutes
// and so on, in a mixed order without a trend. Their number must not be a multiple of 17.
func (w *world) past(t *testing.T, waits int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(w.path("history"), 0o755))
	var entries []history.Entry
	for i := range waits {
		from := history.At(time.Now().Add(-time.Duration(i+48) * time.Hour))
		entries = append(entries, history.Entry{
			Version: history.Version, Kind: history.Wait, ID: fmt.Sprint(i), NodeSet: "a3", Machine: "a3-highgpu-8g", Region: "us-central1",
			Count: 2, GPUs: 16, Seconds: 7200, From: from, To: from + history.Time(60*(i*17%waits+1)), End: history.Granted, Attempts: 1,
		})
	}
	require.NoError(t, history.Append(w.path("history"), "alpha", false, entries))
}

func TestEstimateUsesTheHistory(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	text := w.flex(t, "estimate", "-p", "train", "-N", "2", "-t", "2:00:00").exits(t, exitDone).stdout.String()
	assert.Contains(t, text, "partition train, nodeset a3 (a3-highgpu-8g): 2 nodes, lease 2h00m\n"+
		"  median wait 20m, 90th percentile 36m\n  from 39 requests (39 got machines)")
	assert.Regexp(t, `(?m)^  --time  1 node +2 nodes +4 nodes$`, text)
	assert.Regexp(t, `(?m)^  1h00m   20m / 36m +20m / 36m +20m / 36m$`, text)

	var report estimate.Report
	out := w.flex(t, "estimate", "--partition=train", "--nodes=2", "--time=120", "--json").exits(t, exitDone).stdout
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	assert.Equal(t, view.EnvelopeOf("estimate"), report.Envelope)
	assert.EqualValues(t, 20*60, *report.Estimates[0].Half)
	assert.Len(t, report.Estimates[0].WhatIf, 12)
}

func TestShortEstimateIsOneLineOrEmpty(t *testing.T) {
	w := newWorld(t)
	assert.Empty(t, w.flex(t, "estimate", "-p", "train", "-N", "2", "--short").exits(t, exitDone).stdout.String())
	w.past(t, 39)
	text := w.flex(t, "estimate", "-p", "train", "-N", "2", "-t", "2:00:00", "--short").exits(t, exitDone).stdout.String()
	assert.Equal(t, "nodeset a3, 2 nodes: median wait 20m, 90th percentile 36m\n", text)
}

// U9: without any history, cost printed zeros and estimate printed "too few requests".
func TestMissingHistoryIsAnErrorThatNamesTheFolder(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"estimate -p train", "estimate -p train --json", "cost", "cost --by user --csv", "cost --json"} {
		r := w.flex(t, strings.Fields(command)...).exits(t, exitFailed)
		r.complains(t, "no history in "+w.path("history")+": ", "cluster alpha", "slurmflex.state_dir")
		assert.Empty(t, r.stdout.String(), command)
	}
	assert.Contains(t, w.flex(t, "why", "811").exits(t, exitDone).stdout.String(), "Its story is unknown: ")
}

func TestEmptyHistoryGivesNoEstimate(t *testing.T) {
	w := newWorld(t)
	w.past(t, 1)
	text := w.flex(t, "estimate", "-p", "train").exits(t, exitDone).stdout.String()
	assert.Equal(t, "partition train, nodeset a3 (a3-highgpu-8g): 1 node, lease 7d00h\n  no history: too few requests like this are known\n", text)
}

// sync records a waiting job, and the estimate is for its remaining wait.
func TestEstimateDependsOnTheJobsElapsedWait(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	w.waiting(t)
	w.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 0)
	w.cloud.SetCapacity("us-central1-b", "a3-highgpu-8g", 0)
	w.flex(t, "sync").exits(t, exitDone)
	text := w.flex(t, "estimate", "812").exits(t, exitDone).stdout.String()
	assert.Regexp(t, `^job 812, nodeset a3 \(a3-highgpu-8g\): 2 nodes, lease 2h00m, waiting for \d+[smhd]`, text)
}

func TestRunningJobHasNoEstimate(t *testing.T) {
	w := newWorld(t)
	w.left(t)
	w.jobs(t, "812 2:00:00 RUNNING alpha-a3-[0-1]", "813 2:00:00 PENDING (null)")
	w.nodes(t, "ALLOCATED+CLOUD", 0, 1)
	w.flex(t, "estimate", "812").exits(t, exitFailed).complains(t, "job 812 has its machines")
	w.flex(t, "estimate", "814").exits(t, exitFailed).complains(t, "job 814 is not in Slurm's queue")
}

func TestEstimateAsksComputeNothing(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	w.flex(t, "estimate", "-p", "train", "-N", "2").exits(t, exitDone)
	assert.Empty(t, w.cloud.Calls())
}

func TestBestRanksTheJobsAlternatives(t *testing.T) {
	w := newWorld(t)
	w.regions(t, map[string]int{"us": 200, "eu": 200, "asia": 9})
	text := w.flex(t, "estimate", "-p", "us,eu,asia", "-N", "2-4", "--best").exits(t, exitDone).stdout.String()
	assert.Regexp(t, `(?m)^  partition  nodeset  nodes  --time      wait +1h00m  4h00m  1d00h  4d00h$`, text)
	assert.Regexp(t, `(?m)^  (us|eu) +(us|eu) +4 +any +\dh\d\dm / \d+h\d\dm +\d\d % +\d\d % +\d\d % +\d\d %  as requested$`, text)
	assert.NotContains(t, text, "  2  ", "fewer nodes have no shorter wait in this history")
	assert.Contains(t, text, "nodeset asia: 2 of 2 left out: too few requests like them got machines\n")

	var report estimate.Report
	out := w.flex(t, "estimate", "-p", "us,eu,asia", "-N", "2-4", "--best", "--json").exits(t, exitDone).stdout
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Len(t, report.Best, 2)
	assert.LessOrEqual(t, *report.Best[0].Half, *report.Best[1].Half)
	assert.Len(t, report.Best[0].Chances, 4)
	for flags, says := range map[string]string{
		"-p us -N 2-4":                               "--nodes 2-4 needs --best",
		"-p us -N 0-4 --best":                        "--nodes 0-4: partition us has nodesets of up to",
		"-p us -N 4-2 --best":                        `invalid argument "4-2"`,
		"-p us --time-min 1:00:00":                   "--time-min needs --best",
		"-p us -t 1:00:00 --time-min 2:00:00 --best": "--time-min 2:00:00 must not be longer than --time 1:00:00",
		"-p us -t 1:00:00 --time-min soon --best":    "--time-min: ",
		"-p us --best --places":                      "--best and --places are mutually exclusive",
	} {
		w.flex(t, append([]string{"estimate"}, strings.Fields(flags)...)...).exits(t, exitUsage).complains(t, says)
	}
}

func TestBestDependsOnTheWaitingJob(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	w.waiting(t)
	w.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 0)
	w.cloud.SetCapacity("us-central1-b", "a3-highgpu-8g", 0)
	w.flex(t, "sync").exits(t, exitDone)
	text := w.flex(t, "estimate", "812", "--best").exits(t, exitDone).stdout.String()
	assert.Contains(t, text, "its request, from now (waiting for ", "since its first request")
	w.flex(t, "estimate", "814", "--best").exits(t, exitFailed).complains(t, "job 814 is not in Slurm's queue")
}
