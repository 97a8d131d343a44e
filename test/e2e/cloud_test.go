//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func state(t *testing.T, l *lab.Lab) fakegce.State {
	t.Helper()
	var s fakegce.State
	require.NoError(t, l.Ask(context.Background(), "state", &s))
	return s
}

// calls returns the cloud's calls of these methods, oldest first.
func calls(t *testing.T, l *lab.Lab, methods ...string) []fakegce.Call {
	t.Helper()
	var all []fakegce.Call
	require.NoError(t, l.Ask(context.Background(), "calls", &all))
	return slices.DeleteFunc(all, func(c fakegce.Call) bool { return !slices.Contains(methods, c.Method) })
}

// look is a call that each pass makes once, before it reads the existing machines.
const look = "regionInstanceGroupManagers.list"

// tell changes the cloud's state.
func tell(t *testing.T, l *lab.Lab, what string, order any) {
	t.Helper()
	require.NoError(t, l.Tell(context.Background(), what, order))
}

// shut removes all capacity.
func shut(t *testing.T, l *lab.Lab) {
	t.Helper()
	capacity(t, l, "", 0)
}

// capacity sets each zone's capacity for a machine type. With an empty machine type, it sets the
// capacity of all machine types without a value of their own.
func capacity(t *testing.T, l *lab.Lab, machineType string, count int) {
	t.Helper()
	tell(t, l, "capacity", map[string]any{"zone": "", "machineType": machineType, "count": count})
}

// create creates a cloud resource by an API call, as another client would.
func create(t *testing.T, l *lab.Lab, collection string, resource any) {
	t.Helper()
	require.NoError(t, l.Create(context.Background(), collection, resource))
}

// createGroup creates an empty group with a template.
func createGroup(t *testing.T, l *lab.Lab, name, description, template string) {
	t.Helper()
	require.NoError(t, l.CreateGroup(context.Background(), name, description, template))
}

// awaitRequest waits for the first request of a group.
func awaitRequest(t *testing.T, l *lab.Lab, group string) (found fakegce.Request) {
	t.Helper()
	await(t, time.Minute, "a resize request in "+group, func() bool {
		g, ok := state(t, l).Group(group)
		if !ok || len(g.Requests) == 0 {
			return false
		}
		found = g.Requests[0]
		return true
	})
	return found
}

// awaitRequestState waits until a request of a group has a state.
func awaitRequestState(t *testing.T, l *lab.Lab, group, request, want string) (found fakegce.Request) {
	t.Helper()
	awaitShown(t, 100*time.Second, fmt.Sprintf("request %s/%s to be %s", group, request, want), func() (string, bool) {
		g, _ := state(t, l).Group(group)
		i := slices.IndexFunc(g.Requests, func(r fakegce.Request) bool { return r.Name == request })
		if i >= 0 {
			found = g.Requests[i]
		}
		return fmt.Sprintf("%+v", g.Requests), found.State == want
	})
	return found
}

// isLive reports whether a request may still create machines.
func isLive(r fakegce.Request) bool { return r.State == "CREATING" || r.State == "ACCEPTED" }

// liveRequests returns the requests that may still create machines, as group/request.
func liveRequests(s fakegce.State) (live []string) {
	for _, g := range s.Groups {
		for _, r := range g.Requests {
			if isLive(r) {
				live = append(live, g.Name+"/"+r.Name)
			}
		}
	}
	return live
}

// awaitPasses waits until n passes that start after the call have read the cloud. A pass that is
// already running may add one more.
func awaitPasses(t *testing.T, l *lab.Lab, n int) {
	t.Helper()
	looks := func() int { return len(calls(t, l, look)) }
	before := looks()
	await(t, 2*time.Minute, fmt.Sprintf("%d passes", n), func() bool { return looks() > before+n })
}

// notDown returns the flex nodes that are not powered down, with their states.
func notDown(t *testing.T, l *lab.Lab) (nodes []string) {
	t.Helper()
	for _, n := range flexNodes(t, l) {
		if !n.State.Has(slurm.PoweredDown) || n.State.Base != slurm.Idle {
			nodes = append(nodes, n.Name+" "+n.State.String())
		}
	}
	return nodes
}

// awaitNothingLeft waits until the cloud is empty, no job has a door, and Slurm shows every flex node
// as powered down.
func awaitNothingLeft(t *testing.T, l *lab.Lab) {
	t.Helper()
	awaitShown(t, longSilence, "nothing to be left behind", func() (string, bool) {
		s, up := state(t, l), notDown(t, l)
		doors := strings.Count(ask(t, l, "scontrol", "show", "reservation"), ".door-")
		left := fmt.Sprintf("%d instances, %d groups, %d policies, %d doors; up: %v", len(s.Instances), len(s.Groups), len(s.Policies), doors, up)
		return left, len(s.Instances)+len(s.Groups)+len(s.Policies)+doors+len(up) == 0
	})
}
