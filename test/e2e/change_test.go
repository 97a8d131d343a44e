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

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

// The rows of "Change a waiting job" in docs/user-guide.md: what an owner or admin changes of a job that
// waits at Google, and what becomes of its request.
func TestChangedJobKeepsOrLosesItsRequest(t *testing.T) {
	const (
		kept   = "the same request"
		leased = "another request for the same nodes"
		moved  = "a request for other nodes"
		none   = "no request"
	)
	l := withDaemon(t, lab.NodeSet{
		Name: "wide", Machine: "a3-ultragpu-8g", Size: 48, FlexKeys: "use_job_duration: true",
	})
	for nodes, features := range map[string]string{"alpha-wide-[0-35]": "old,any", "alpha-wide-[36-47]": "new,any"} {
		run(t, l, "scontrol", "update", "nodename="+nodes, "availablefeatures="+features, "activefeatures="+features)
	}
	shut(t, l)
	other := submitScript(t, l, "sleep 1000", "-p", "train", "-N1", "--time=15", "--hold")
	rows := []struct {
		change string // NODE stands for the node of the request
		want   string
		args   []string
		id     string
		first  fakegce.Request
	}{
		{change: "features=[old|new]", want: kept}, // Slurm plans it on the same node again
		{change: "features=old&new", want: none},   // no node has both
		{change: "features=any", want: kept},
		{change: "features=new", want: moved},
		{change: "excnodelist=NODE", want: moved},
		{change: "excnodelist=alpha-wide-47", want: kept},
		{change: "reqnodelist=alpha-wide-46", want: moved},
		{change: "numnodes=2-2", want: moved, args: []string{"-n2"}},
		{change: "numnodes=2", want: kept, args: []string{"-N3"}},
		{change: "numcpus=1", want: kept},
		{change: "minmemorynode=1", want: kept},
		{change: "switches=1", want: kept},
		{change: "partition=train", want: moved},
		{change: "partition=wide,train", want: kept},
		{change: "timelimit=10", want: kept},
		{change: "timelimit=60", want: leased},
		{change: "starttime=now+1hour", want: none},
		{change: "dependency=afterok:" + other, want: none},
		{change: "priority=0", want: none},
		{change: "nice=100", want: kept},
		{change: "jobname=renamed", want: kept},
		{change: "comment=text", want: kept},
		{change: "licenses=lic:1", want: kept},
		{change: "requeue=0", want: kept},
		{change: "gres=gpu:1", want: kept},
		{change: "account=other", want: kept},
		{change: "arraytaskthrottle=1", want: kept, args: []string{"--array=0"}},
		{change: "deadline=now+1day", want: kept},
	}
	live := func(id string) (live []fakegce.Request) {
		for _, g := range state(t, l).Groups {
			for _, r := range g.Requests {
				if (strings.HasSuffix(g.Name, "-job-"+id) || strings.HasSuffix(g.Name, "-arr-"+id)) && isLive(r) {
					live = append(live, r)
				}
			}
		}
		return live
	}
	for i := range rows {
		rows[i].id = submitScript(t, l, "sleep 1000", append([]string{"-p", "wide", "-N1", "--time=15"}, rows[i].args...)...)
		await(t, time.Minute, "the first requests", func() bool { return i > 0 || len(live(rows[0].id)) == 1 })
	}
	for i := range rows {
		group := "alpha-wide-job-" + rows[i].id
		if slices.Contains(rows[i].args, "--array=0") {
			group = "alpha-wide-arr-" + rows[i].id
		}
		rows[i].first = awaitRequestState(t, l, group, "a1", "ACCEPTED")
	}
	first := ask(t, l, "squeue", "-h", "-j", rows[0].id, "-o", "%v")
	for i, row := range rows {
		if i == 1 { // no other change has freed a node meanwhile
			awaitShown(t, 2*time.Minute, "the first job to be planned again", func() (string, bool) {
				uses := ask(t, l, "squeue", "-h", "-j", rows[0].id, "-o", "%v")
				return uses, uses != "" && !strings.Contains(uses, "null") && uses != first
			})
		}
		change := strings.ReplaceAll(row.change, "NODE", row.first.Instances[0])
		t.Logf("job %s on %s: %s", row.id, slurm.Fold(row.first.Instances), change)
		awaitShown(t, time.Minute, "the change", func() (string, bool) { // 26.05 may answer "Resource temporarily unavailable"
			_, err := l.Slurm(context.Background(), "scontrol", "update", "jobid="+row.id, change)
			return fmt.Sprint(err), err == nil
		})
	}
	awaitWhy(t, l, rows[1].id, `what it requests was changed, and Slurm has not planned it since: its request is kept until |\(BadConstraints\)`)
	became := func(i int) string {
		switch now := live(rows[i].id); {
		case len(now) == 0:
			return none
		case slices.ContainsFunc(now, func(r fakegce.Request) bool { return r.Created.Equal(rows[i].first.Created) }):
			return kept
		case slices.Equal(now[0].Instances, rows[i].first.Instances):
			return leased
		default:
			return moved
		}
	}
	for i, row := range rows {
		if row.want != kept {
			awaitShown(t, 4*time.Minute, fmt.Sprintf("%s: %s", row.change, row.want), func() (string, bool) { return became(i), became(i) == row.want })
		}
	}
	awaitPasses(t, l, 3)
	for i, row := range rows {
		assert.Equal(t, row.want, became(i), "job %s: %s", row.id, row.change)
		assertPending(t, l, row.id)
	}
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.id)
	}
	cancelForGood(t, l, append(ids, other)...)
}
