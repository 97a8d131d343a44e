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

// calls are the calls that the cloud got of the methods, the oldest first.
func calls(t *testing.T, l *lab.Lab, methods ...string) []fakegce.Call {
	t.Helper()
	var all []fakegce.Call
	require.NoError(t, l.Ask(context.Background(), "calls", &all))
	return slices.DeleteFunc(all, func(c fakegce.Call) bool { return !slices.Contains(methods, c.Method) })
}

// look is the call by which a pass sees the machines that there are.
const look = "instances.aggregatedList"

// tell changes something in the cloud.
func tell(t *testing.T, l *lab.Lab, what string, order any) {
	t.Helper()
	require.NoError(t, l.Tell(context.Background(), what, order))
}

// shut leaves no capacity.
func shut(t *testing.T, l *lab.Lab) {
	t.Helper()
	capacity(t, l, "", 0)
}

// capacity gives each zone room for so many VMs of a machine type, or, if it is
// empty, of each one that has been given none of its own.
func capacity(t *testing.T, l *lab.Lab, machineType string, count int) {
	t.Helper()
	tell(t, l, "capacity", map[string]any{"zone": "", "machineType": machineType, "count": count})
}

// fail has a request that is accepted, or about to be, fail for good.
func fail(t *testing.T, l *lab.Lab, group, request, code, message string) {
	t.Helper()
	awaitRequestState(t, l, group, request, "ACCEPTED")
	tell(t, l, "fail", map[string]any{"group": group, "request": request, "code": code, "message": message})
}

// create makes a resource of the cloud by a call of its API, as somebody else
// would.
func create(t *testing.T, l *lab.Lab, collection string, resource any) {
	t.Helper()
	require.NoError(t, l.Create(context.Background(), collection, resource))
}

// createGroup makes an empty group of a template.
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

// awaitRequestState waits until a request of a group is in a state.
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

// awaitLease waits until a group waits for machines for that long, and returns
// its request.
func awaitLease(t *testing.T, l *lab.Lab, group string, lease time.Duration) (last fakegce.Request) {
	t.Helper()
	awaitShown(t, time.Minute, fmt.Sprintf("%s to ask for %s", group, lease), func() (string, bool) {
		g, ok := state(t, l).Group(group)
		if !ok || len(g.Requests) == 0 {
			return "no request", false
		}
		last = g.Requests[len(g.Requests)-1]
		return fmt.Sprintf("%+v", last), last.Duration == lease && last.State == "ACCEPTED"
	})
	return last
}

// liveRequests are the requests that may still bring machines, as group/request.
func liveRequests(s fakegce.State) (live []string) {
	for _, g := range s.Groups {
		for _, r := range g.Requests {
			if r.State == "CREATING" || r.State == "ACCEPTED" {
				live = append(live, g.Name+"/"+r.Name)
			}
		}
	}
	return live
}

// awaitRounds waits until so many passes that begin from now on have looked at
// the cloud, one of which may have begun before.
func awaitPasses(t *testing.T, l *lab.Lab, n int) {
	t.Helper()
	looks := func() int { return len(calls(t, l, look)) }
	before := looks()
	await(t, 2*time.Minute, fmt.Sprintf("%d passes", n), func() bool { return looks() > before+n })
}

// withdraw cancels jobs and waits until nothing costs money on their account, so
// that no later job gets what was meant for them.
func withdraw(t *testing.T, l *lab.Lab, ids ...string) {
	t.Helper()
	cancel(t, l, ids...)
	awaitNoCost(t, l)
}

// awaitNoCost waits until the cloud holds no machines and is not asked for any,
// and Slurm shows every flex node powered down. Empty groups may be left, which
// are not collected while they are young.
func awaitNoCost(t *testing.T, l *lab.Lab) {
	t.Helper()
	awaitShown(t, time.Minute, "nothing to cost money", func() (string, bool) {
		s, up := state(t, l), notDown(t, l)
		asked := liveRequests(s)
		return fmt.Sprintf("%d instances; asked for: %v; up: %v", len(s.Instances), asked, up), len(s.Instances)+len(asked)+len(up) == 0
	})
}

// notDown are the flex nodes that are not powered down, with their states.
func notDown(t *testing.T, l *lab.Lab) (nodes []string) {
	t.Helper()
	for _, n := range flexNodes(t, l) {
		if !n.State.Has(slurm.PoweredDown) || n.State.Base != slurm.Idle {
			nodes = append(nodes, n.Name+" "+n.State.String())
		}
	}
	return nodes
}

// awaitNothingLeft waits until the cloud holds nothing and Slurm shows every
// flex node powered down.
func awaitNothingLeft(t *testing.T, l *lab.Lab) {
	t.Helper()
	awaitShown(t, 90*time.Second, "nothing to be left behind", func() (string, bool) {
		s, up := state(t, l), notDown(t, l)
		left := fmt.Sprintf("%d instances, %d groups, %d policies; up: %v", len(s.Instances), len(s.Groups), len(s.Policies), up)
		return left, len(s.Instances)+len(s.Groups)+len(s.Policies)+len(up) == 0
	})
}

// booted returns the names of the instances that slurmds were started for.
func booted(t *testing.T, l *lab.Lab) (names []string) {
	t.Helper()
	for _, n := range flexNodes(t, l) {
		if strings.TrimSpace(readFile(l.Log("slurmd-"+n.Name+".log"))) != "" {
			names = append(names, n.Name)
		}
	}
	return names
}
