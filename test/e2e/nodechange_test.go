//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

// The table of docs/operate.md: what becomes of the place in Google's queue of a PENDING job, if an admin
// changes the node, or the door, for which it waits.
func TestChangedNodeKeepsItsRequest(t *testing.T) {
	l := withDaemon(t, lab.NodeSet{
		Name: "wide", Machine: "a3-ultragpu-8g", Size: 16, FlexKeys: "use_job_duration: true",
	})
	shut(t, l)
	rows := []struct {
		changes string // of scontrol, separated by semicolons; NODE, JOB and DOOR stand for those of the row
		lost    bool
		id      string
		first   fakegce.Request
	}{
		{changes: "update nodename=NODE state=drain reason=test"},
		{changes: "update nodename=NODE state=drain reason=test;update nodename=NODE state=resume"},
		{changes: "update nodename=NODE state=down reason=test"},
		{changes: "create reservationname=theirs-JOB nodes=NODE starttime=now duration=30 users=root flags=ignore_jobs,overlap"},
		{changes: "update jobid=JOB reservationname="},
		{changes: "update jobid=JOB reservationname=;delete reservationname=DOOR"},
		{changes: "update partitionname=wide state=drain"},
		{changes: "update nodename=NODE state=power_down", lost: true},
		{changes: "update nodename=NODE state=power_down_force", lost: true},
		{changes: "update partitionname=wide state=down", lost: true},
	}
	for i := range rows {
		rows[i].id = submitScript(t, l, "sleep 1000", "-p", "wide", "-N1", "--time=15")
	}
	for i := range rows {
		rows[i].first = awaitRequestState(t, l, "alpha-wide-job-"+rows[i].id, "a1", "ACCEPTED")
	}
	kept := func(i int) bool {
		return slices.Contains(liveRequests(state(t, l)), "alpha-wide-job-"+rows[i].id+"/a1")
	}
	for i, row := range rows {
		if i == len(rows)-1 { // this row takes the places of all jobs
			awaitPasses(t, l, 12)
			for k, r := range rows[:i] {
				assert.Equal(t, !r.lost, kept(k), "job %s: %s", r.id, r.changes)
			}
		}
		door := ask(t, l, "squeue", "-h", "-j", row.id, "-o", "%v")
		for change := range strings.SplitSeq(row.changes, ";") {
			change = strings.NewReplacer("NODE", row.first.Instances[0], "JOB", row.id, "DOOR", strings.TrimSpace(door)).Replace(change)
			t.Logf("job %s: scontrol %s", row.id, change)
			awaitShown(t, time.Minute, change, func() (string, bool) {
				_, err := l.Slurm(context.Background(), "scontrol", strings.Fields(change)...)
				return fmt.Sprint(err), err == nil
			})
		}
	}
	await(t, time.Minute, "every request to be lost", func() bool { return len(liveRequests(state(t, l))) == 0 })
}
