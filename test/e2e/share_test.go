//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestArrayTasksShareRequestsButNotMachines(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "share_requests: 10"})
	shut(t, l)
	array := submit(t, l, "-p", "train", "-N1", "--time=15", "--array=0-19")
	group := "alpha-a3-arr-" + array
	var asked []fakegce.Request
	awaitShown(t, time.Minute, "all nodes to be requested together", func() (string, bool) {
		g, _ := state(t, l).Group(group)
		nodes := map[string]bool{}
		asked = asked[:0]
		for _, r := range g.Requests {
			if r.State == "ACCEPTED" {
				asked = append(asked, r)
			}
			for _, name := range r.Instances {
				nodes[name] = true
			}
		}
		return strings.Join(liveRequests(state(t, l)), " "), len(nodes) == 8 && len(asked) == len(g.Requests)
	})
	assert.Less(t, len(asked), 4, "%v", asked)
	assert.Len(t, state(t, l).Groups, 1)
	waits := regexp.MustCompile(`(\d+) Reservation`).FindStringSubmatch(ask(t, l, "squeue", "-h", "-r", "-o", "%A %r"))
	require.NotNil(t, waits)
	run(t, l, "scancel", waits[1])
	capacity(t, l, "", 20)
	await(t, 4*time.Minute, "all tasks to end", func() bool {
		return strings.TrimSpace(ask(t, l, "squeue", "-h", "-o", "%A")) == ""
	})
	_, err := l.Flex(context.Background(), "sync")
	assert.NoError(t, err)
	awaitNothingLeft(t, l)
}
