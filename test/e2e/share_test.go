//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

// requestedNodes returns the number of nodes that requests have named.
func requestedNodes(s fakegce.State) int {
	nodes := map[string]bool{}
	for _, g := range s.Groups {
		for _, r := range g.Requests {
			for _, name := range r.Instances {
				nodes[name] = true
			}
		}
	}
	return len(nodes)
}

// One job of the first request is cancelled, and a job that has no request takes its machine.
func TestSingleJobsShareRequestsIfPlacesAreScarce(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "share_requests: 10", Keys: "max_active_requests: 2"})
	shut(t, l)
	var jobs []string
	for range 20 {
		jobs = append(jobs, submit(t, l, "-p", "train", "-N1", "--time=15", "--hold"))
	}
	run(t, l, "scontrol", "release", strings.Join(jobs, ","))
	await(t, time.Minute, "all nodes to be requested", func() bool {
		s := state(t, l)
		require.LessOrEqual(t, len(liveRequests(s)), 2, "max_active_requests")
		return requestedNodes(s) == 8
	})
	groups := state(t, l).Groups
	require.Len(t, groups, 1, "%v", groups)
	assert.Regexp(t, `^alpha-a3-usr-[0-9a-f]{10}$`, groups[0].Name)
	awaitWhy(t, l, jobs[1], `all \d machines of the request, which other jobs share, come together`)

	assert.NotContains(t, jobField(t, l, jobs[8], "Reservation"), ".door-", "there are 8 nodes")
	run(t, l, "scancel", jobs[1])
	await(t, time.Minute, "another job to take its machine", func() bool {
		return strings.Contains(jobField(t, l, jobs[8], "Reservation"), ".door-")
	})
	awaitWhy(t, l, jobs[8], `all \d machines of the request, which other jobs share, come together`)
	assert.Len(t, state(t, l).Groups[0].Requests, len(groups[0].Requests), "nothing more was requested")

	capacity(t, l, "", 20)
	await(t, 4*time.Minute, "all jobs to end", func() bool {
		return strings.TrimSpace(ask(t, l, "squeue", "-h", "-o", "%A")) == ""
	})
	for _, id := range jobs[2:] {
		assertNotRequeued(t, l, id)
	}
	awaitNothingLeft(t, l)
}
