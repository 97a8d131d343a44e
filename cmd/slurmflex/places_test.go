package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
)

// regions adds the partitions us, eu and asia with one nodeset each, and a history with the given
// number of granted waits for each: exponential, with a mean of four hours.
func (w *world) regions(t *testing.T, waits map[string]int) {
	t.Helper()
	w.configure(t, "partitions:\n", "partitions:\n  us: {partition_name: us, enable_job_exclusive: true, partition_nodeset: [us]}\n"+
		"  eu: {partition_name: eu, enable_job_exclusive: true, partition_nodeset: [eu]}\n"+
		"  asia: {partition_name: asia, enable_job_exclusive: true, partition_nodeset: [asia]}\n")
	for _, set := range []string{"us", "eu", "asia"} {
		w.configure(t, "nodeset:\n", "nodeset:\n  "+set+": {nodeset_name: "+set+", node_count_dynamic_max: 8, region: us-central1, "+
			"zone_policy_allow: [us-central1-a], instance_template: projects/demo/regions/us-central1/instanceTemplates/a3, "+
			"subnetwork: projects/demo/regions/us-central1/subnetworks/default, dws_flex: {enabled: true}}\n")
	}
	require.NoError(t, os.MkdirAll(w.path("history"), 0o755))
	random := rand.New(rand.NewPCG(29, 10))
	var entries []history.Entry
	for set, n := range waits {
		for i := range n {
			from := history.At(time.Now().Add(-time.Duration(24+random.IntN(24*25)) * time.Hour))
			e := history.Entry{
				Version: history.Version, Kind: history.Wait, ID: fmt.Sprint(set, i), NodeSet: set, Machine: set + "-machine", Region: "us-central1",
				Count: 2, Seconds: 7 * 24 * 3600, From: from, To: from + history.Time(4*3600*random.ExpFloat64()), End: history.Granted,
			}
			lease := e
			lease.Kind, lease.ID, lease.Count, lease.Node, lease.End = history.Lease, "lease"+e.ID, 1, "alpha-"+set+"-0", ""
			lease.To, lease.Booting, lease.Used = from+1000, 200+int64(i%41), 800-int64(i%41)
			entries = append(entries, e, lease)
		}
	}
	require.NoError(t, history.Append(w.path("history"), "alpha", false, entries))
}

func TestSecondPartitionHalvesExponentialWaits(t *testing.T) {
	w := newWorld(t)
	w.regions(t, map[string]int{"us": 2000, "eu": 2000, "asia": 9})
	var report estimate.Report
	out := w.flex(t, "estimate", "-p", "us,eu,asia", "-N", "2", "--places", "--json").exits(t, exitDone).stdout
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	p := report.Places
	assert.Equal(t, []string{"us", "eu"}, p.Simulated)
	assert.Equal(t, "asia", p.Missing[0].NodeSet)
	assert.Equal(t, 9, p.Missing[0].Granted)
	assert.EqualValues(t, 220, p.Boot)
	require.Len(t, p.Outcomes, 3)
	assert.InEpsilon(t, 4*3600*math.Ln2, *p.Outcomes[0].Half, .08)
	assert.InEpsilon(t, *report.Estimates[0].Half, *p.Outcomes[0].Half, .02, "one place is the estimate itself")
	assert.InEpsilon(t, 2*3600*math.Ln2, *p.Outcomes[1].Half, .08)
	assert.Less(t, *p.Outcomes[1].Half, *p.Outcomes[2].Half, "dependent waits gain less")

	text := w.flex(t, "estimate", "-p", "us,eu,asia", "-N", "2", "--places", "--correlation", "0").exits(t, exitDone).stdout.String()
	assert.Contains(t, text, "nodeset asia: no history: 9 of 10 requests like this got machines; left out\n")
	assert.Contains(t, text, "places, in this order: us, eu\n")
	assert.Regexp(t, `(?m)^  1 +- +2h\d\dm / \d+h\d\dm +1.0 +\d.\d +0 s per node$`, text)
	assert.Regexp(t, `(?m)^  2 +0 +1h\d\dm / \dh\d\dm +2.0 +\d.\d +\d+ s per node$`, text)
	assert.Contains(t, text, "Machines boot in 220 s (the median of 4009 leases)")
	assert.Contains(t, text, "are independent (correlation 0)")
}

func TestPartitionsAreQueriedAsConfigured(t *testing.T) {
	w := newWorld(t)
	w.regions(t, map[string]int{"us": 30, "eu": 30, "asia": 30})
	// This is asia's dws_flex block.
	w.configure(t, "dws_flex: {enabled: true}", "dws_flex: {enabled: true, ask_elsewhere_after: 3600}")
	for _, c := range []struct {
		places string
		flags  []string
		after  []int64
		says   string
	}{
		{"asia,us,eu", nil, []int64{0, 3600, 3600}, "\nThe job asks in us after 1h00m, in eu after 1h00m.\n"},
		{"us,asia,eu", nil, []int64{0, 0, 3600}, "\nThe job asks in eu after 1h00m.\n"},
		{"us,eu,asia", []string{"--after", "2h"}, []int64{0, 7200, 14400}, "\nThe job asks in eu after 2h00m, in asia after 4h00m.\n"},
		{"asia,us,eu", []string{"--after", "0"}, nil, ""},
	} {
		args := append([]string{"estimate", "-p", c.places, "-N", "2", "--places"}, c.flags...)
		text := w.flex(t, args...).exits(t, exitDone).stdout.String()
		assert.Contains(t, text, c.says)
		var report estimate.Report
		require.NoError(t, json.Unmarshal(w.flex(t, append(args, "--json")...).exits(t, exitDone).stdout.Bytes(), &report))
		assert.Equal(t, c.after, report.Places.After, args)
	}
}

func TestPartitionsWithoutHistoryAreNamed(t *testing.T) {
	w := newWorld(t)
	w.regions(t, map[string]int{"us": 30, "eu": 3})
	text := w.flex(t, "estimate", "-p", "us,eu", "-N", "2", "--places").exits(t, exitDone).stdout.String()
	assert.Regexp(t, `^nodeset us, 2 nodes: median wait .*\n`+
		`nodeset eu: no history: 3 of 10 requests like this got machines; left out\nfewer than two places have enough history to simulate\n$`, text)
}
