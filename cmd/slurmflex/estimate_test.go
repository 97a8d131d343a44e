package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
	"slurmflex/test/fakegce"
)

// past writes a history of that many waits of two nodes, of a minute, two minutes and so on in a
// mixed order, so that they show no trend. 17 must not divide their number.
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

func TestAnEstimateIsFromTheHistory(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	text := w.flex(t, "estimate", "-p", "train", "-N", "2", "-t", "2:00:00").exits(t, exitDone).stdout.String()
	assert.Contains(t, text, "partition train, nodeset a3 (a3-highgpu-8g): 2 nodes, lease 2h00m\n"+
		"  median wait 20m, 90th percentile 36m\n  from 39 requests (39 got machines)")
	assert.Regexp(t, `(?m)^  --time  1 node +2 nodes +4 nodes$`, text)
	assert.Regexp(t, `(?m)^  1h00m   20m / 36m +20m / 36m +20m / 36m$`, text)

	var report estimated
	out := w.flex(t, "estimate", "--partition=train", "--nodes=2", "--time=120", "--json").exits(t, exitDone).stdout
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	assert.Equal(t, view.EnvelopeOf("estimate"), report.Envelope)
	assert.EqualValues(t, 20*60, *report.Estimates[0].Half)
	assert.Len(t, report.Estimates[0].WhatIf, 12)
}

func TestEstimateReportsAChange(t *testing.T) {
	half, ninety := int64(1200), int64(2160)
	report := estimate.Report{Estimates: []estimate.Answer{{
		NodeSet: "a3", Nodes: 2, History: true, Half: &half, Ninety: &ninety, Change: &estimate.Change{Days: 7, Slower: 4},
	}}}
	assert.Equal(t, "nodeset a3, 2 nodes: median wait 20m, 90th percentile 36m; the last week was 4 times slower than before\n", shortly(report))
	assert.Equal(t, "The median wait of 39 requests like this one is another 20m, the 90th percentile 36m; the last week was 4 times slower than before",
		view.Estimate{Half: secondsOf(&half), Ninety: secondsOf(&ninety), Requests: 39, Change: (*view.Change)(report.Estimates[0].Change)}.String())
}

func TestAShortEstimateIsALineOrNothing(t *testing.T) {
	w := newWorld(t)
	assert.Empty(t, w.flex(t, "estimate", "-p", "train", "-N", "2", "--short").exits(t, exitDone).stdout.String())
	w.past(t, 39)
	text := w.flex(t, "estimate", "-p", "train", "-N", "2", "-t", "2:00:00", "--short").exits(t, exitDone).stdout.String()
	assert.Equal(t, "nodeset a3, 2 nodes: median wait 20m, 90th percentile 36m\n", text)
}

// U9: cost printed zeros, and estimate "too few requests", where nothing had been recorded at all.
func TestNoHistoryIsAnErrorThatNamesTheFolder(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"estimate -p train", "estimate -p train --json", "cost", "cost --by user --csv", "cost --json"} {
		r := w.flex(t, strings.Fields(command)...).exits(t, exitFailed)
		r.complains(t, "no history in "+w.path("history")+": ", "cluster alpha", "slurmflex.state_dir")
		assert.Empty(t, r.stdout.String(), command)
	}
	assert.Contains(t, w.flex(t, "why", "811").exits(t, exitDone).stdout.String(), "Its story is unknown: ")
}

func TestWithoutHistoryThereIsNoEstimate(t *testing.T) {
	w := newWorld(t)
	w.past(t, 1)
	text := w.flex(t, "estimate", "-p", "train").exits(t, exitDone).stdout.String()
	assert.Equal(t, "partition train, nodeset a3 (a3-highgpu-8g): 1 node, lease 7d00h\n  no history: too few requests like this are known\n", text)
}

// A job that waits is recorded by sync, and its estimate is for the rest.
func TestTheEstimateOfAJobRegardsHowLongItHasWaited(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	w.waiting(t)
	w.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 0)
	w.cloud.SetCapacity("us-central1-b", "a3-highgpu-8g", 0)
	w.flex(t, "sync").exits(t, exitDone)
	text := w.flex(t, "estimate", "812").exits(t, exitDone).stdout.String()
	assert.Regexp(t, `^job 812, nodeset a3 \(a3-highgpu-8g\): 2 nodes, lease 2h00m, waiting for \d+[smhd]`, text)
}

func TestAWaitThatIsShownHasItsEstimate(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	now := time.Now().UTC()
	queued := view.Row{NodeSet: "a3", Count: 2, State: view.Queued, Since: now.Add(-5 * time.Minute), Lease: view.Seconds(2 * time.Hour)}
	older, waiting := queued, queued
	older.Since, waiting.State = now.Add(-time.Hour), view.Waiting
	v := view.View{SeenAt: now, Rows: []view.Row{queued, older, waiting}}
	f := &forecaster{dir: w.path("history"), cluster: "alpha", asked: now}
	f.fill(&v)
	assert.Nil(t, v.Rows[0].Estimate, "the history has not been read yet")
	f.read(now, false)
	f.fill(&v)
	assert.Equal(t, "The median wait of 39 requests like this one is another 18m, the 90th percentile 32m", v.Rows[0].Estimate.String())
	assert.Nil(t, v.Rows[1].Estimate, "none has waited so long")
	assert.Nil(t, v.Rows[2].Estimate, "nothing is requested")
}

// U14: the page has an estimate a minute after the command has one.
func TestMissingEstimateReadsTheHistoryAgain(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC()
	f := &forecaster{dir: w.path("history"), cluster: "alpha", asked: now}
	f.read(now, false)
	estimated := func(after time.Duration) bool {
		v := view.View{SeenAt: now.Add(after), Rows: []view.Row{
			{NodeSet: "a3", Count: 2, State: view.Queued, Since: now, Lease: view.Seconds(2 * time.Hour)},
		}}
		f.fill(&v)
		return v.Rows[0].Estimate != nil
	}
	assert.False(t, estimated(0))
	w.past(t, 39)
	assert.False(t, estimated(30*time.Second))
	assert.Equal(t, now, f.asked, "a minute is not over")
	require.Eventually(t, func() bool { return estimated(61 * time.Second) }, time.Minute, time.Millisecond)
}

func TestHistoryIsReadAgainOnlyIfItHasGrown(t *testing.T) {
	w := newWorld(t)
	w.past(t, 1) // too few
	now := time.Now().UTC()
	f := &forecaster{dir: w.path("history"), cluster: "alpha"}
	f.read(now, false)
	first := f.book
	f.read(now.Add(time.Minute), true)
	assert.Same(t, first, f.book)
	assert.False(t, f.reads)
	f.read(now.Add(bookAge), false)
	assert.NotSame(t, first, f.book, "it is older")
	first = f.book
	w.past(t, 39)
	f.read(now.Add(bookAge), true)
	assert.NotSame(t, first, f.book)
}

func TestLongHistoryIsReadLessOften(t *testing.T) {
	now := time.Now().UTC()
	asks := func(took, after time.Duration) bool {
		f := &forecaster{dir: t.TempDir(), cluster: "alpha", asked: now, lacks: true, took: took}
		f.fill(&view.View{SeenAt: now.Add(after), Rows: []view.Row{
			{NodeSet: "a3", Count: 2, State: view.Queued, Since: now, Lease: view.Seconds(2 * time.Hour)},
		}})
		return f.asked.After(now)
	}
	assert.True(t, asks(0, fewAge+1))
	assert.False(t, asks(3*time.Second, 5*time.Minute))
	assert.True(t, asks(3*time.Second, 5*time.Minute+1))
	assert.True(t, asks(time.Hour, bookAge+1))
}

func TestAJobThatDoesNotWaitHasNoEstimate(t *testing.T) {
	w := newWorld(t)
	w.left(t)
	w.jobs(t, "812 2:00:00 RUNNING alpha-a3-[0-1]", "813 2:00:00 PENDING (null)")
	w.nodes(t, "ALLOCATED+CLOUD", 0, 1)
	w.flex(t, "estimate", "812").exits(t, exitFailed).complains(t, "job 812 has its machines")
	w.flex(t, "estimate", "814").exits(t, exitFailed).complains(t, "job 814 is not in Slurm's queue")
}

func TestWrongUsesOfEstimateNameTheFix(t *testing.T) {
	w := newWorld(t)
	for says, args := range map[string][]string{
		"usage: slurmflex estimate JOB, or":                    {},
		"usage: slurmflex estimate JOB, or slurmflex":          {"812", "-p", "train"},
		`partition "night" has no flex-start nodes; choose`:    {"-p", "night"},
		"--nodes 9: partition train has nodesets of up to 8":   {"-p", "train", "-N", "9"},
		"--nodes 0: partition train has nodesets of up to 8":   {"-p", "train", "-N", "0"},
		`--time: time "4h": give it as sbatch --time takes it`: {"-p", "train", "-t", "4h"},
	} {
		w.flex(t, append([]string{"estimate"}, args...)...).exits(t, exitUsage).complains(t, says)
	}
}

// advised is a world whose estimates have Compute's advice too.
func advised(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.configure(t, "slurmflex:", "slurmflex:\n  capacity_advice: true")
	return w
}

func TestComputesAdviceIsShownBesideTheEstimate(t *testing.T) {
	w := advised(t)
	w.past(t, 39)
	w.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 1)
	w.cloud.SetCapacity("us-central1-b", "a3-highgpu-8g", 3)
	text := w.flex(t, "estimate", "-p", "train", "-N", "4").exits(t, exitDone).stdout.String()
	assert.Contains(t, text, "median wait")
	assert.Contains(t, text, "\n  Compute's advice: obtainability 0.75 of 1, in us-central1-b\n")

	var report estimated
	out := w.flex(t, "estimate", "-p", "train", "-N", "4", "--json").exits(t, exitDone).stdout
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	assert.InDelta(t, .75, *report.Estimates[0].Advice.Obtainability, 0)
	assert.Equal(t, []string{"us-central1-b"}, report.Estimates[0].Advice.Zones)

	w.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 0)
	w.cloud.SetCapacity("us-central1-b", "a3-highgpu-8g", 0)
	text = w.flex(t, "estimate", "-p", "train", "-N", "4").exits(t, exitDone).stdout.String()
	assert.Contains(t, text, "\n  Compute's advice: obtainability 0 of 1\n")
}

func TestNodesOfTheirOwnMayComeFromSeveralZones(t *testing.T) {
	w := advised(t)
	w.configure(t, "use_job_duration: true", "use_job_duration: true, provisioning: node_by_node")
	w.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 1)
	w.cloud.SetCapacity("us-central1-b", "a3-highgpu-8g", 3)
	text := w.flex(t, "estimate", "-p", "train", "-N", "4").exits(t, exitDone).stdout.String()
	assert.Contains(t, text, "\n  Compute's advice: obtainability 1 of 1, in us-central1-a, us-central1-b\n")
}

func TestThatComputeGivesNoAdviceIsNoError(t *testing.T) {
	w := advised(t)
	w.past(t, 39)
	require.NoError(t, w.cloud.AddFault(fakegce.Fault{
		Method: "advice.capacity", Status: http.StatusBadRequest, Reason: "invalid",
		Message: "Invalid value for field 'resource.instanceProperties.scheduling.provisioningModel': 'FLEX_START'. " + strings.Repeat("Really. ", 40),
	}))
	r := w.flex(t, "estimate", "-p", "train", "-N", "2").exits(t, exitDone)
	assert.Empty(t, r.stderr.String())
	assert.Regexp(t, `(?m)^  Compute gave no advice: read capacity advice of us-central1: 400 invalid: .{0,160}…$`, r.stdout.String())
	assert.Contains(t, r.stdout.String(), "median wait 20m")

	var report estimated
	out := w.flex(t, "estimate", "-p", "train", "-N", "4", "--json").exits(t, exitDone).stdout
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	assert.Nil(t, report.Estimates[0].Advice.Obtainability)
	assert.Contains(t, report.Estimates[0].Advice.Error, "Really. Really.")
}

// Many users have no credentials, or wrong ones.
func TestWithoutCredentialsThereIsNoAdvice(t *testing.T) {
	w := advised(t)
	w.past(t, 39)
	w.write(t, "key.json", "{}") // which all may read
	r := w.flex(t, "estimate", "-p", "train", "-N", "2")
	r.Env = append(r.Env, "GOOGLE_APPLICATION_CREDENTIALS="+w.path("key.json"))
	assert.Contains(t, r.exits(t, exitDone).stdout.String(), "\n  Compute gave no advice: GOOGLE_APPLICATION_CREDENTIALS: ")
}

func TestComputeIsNotAskedForAdviceUnlessItIsWanted(t *testing.T) {
	w := newWorld(t)
	w.past(t, 39)
	assert.NotContains(t, w.flex(t, "estimate", "-p", "train", "-N", "2").exits(t, exitDone).stdout.String(), "advice")
	assert.Empty(t, w.cloud.Calls())
}
