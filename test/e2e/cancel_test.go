//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestAJobCancelledWhileItsRequestWaitsCostsNothing(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	cancelForGood(t, l, id)
	assert.Empty(t, booted(t, l), "no VM was ever made")
}

func TestAJobCancelledAtTheWorstMomentLeavesNothing(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, OperationTime: 3 * time.Second})
	for name, moment := range map[string]func(fakegce.Group, fakegce.State) bool{
		"while its request is CREATING": func(g fakegce.Group, _ fakegce.State) bool {
			return g.Requests[0].State == "CREATING"
		},
		"while its machines are being made": func(g fakegce.Group, s fakegce.State) bool {
			return g.Requests[0].State == "ACCEPTED" && len(s.Instances) > 0
		},
		"when its request has just succeeded": func(g fakegce.Group, _ fakegce.State) bool {
			return g.Requests[0].State == "SUCCEEDED"
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := submit(t, l, "-p", "train", "-N2", "--time=15")
			await(t, 40*time.Second, "the moment", func() bool {
				s := state(t, l)
				g, ok := s.Group("alpha-a3-job-" + id)
				return ok && len(g.Requests) > 0 && moment(g, s)
			})
			withdraw(t, l, id)
		})
	}
	awaitNothingLeft(t, l)
}

func TestARequestThatItsJobDoesNotWantAnyMoreIsWithdrawn(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	for name, change := range map[string]func(*testing.T, *lab.Lab, string){
		"when it is requeued": func(t *testing.T, l *lab.Lab, id string) {
			run(t, l, "scontrol", "requeue", id)
			awaitJob(t, l, 20*time.Second, id, "Restarts", "1")
			awaitOnlyWanted(t, l, id) // before 24.11 Slurm allocates the same nodes again at once
		},
		"when it is requeued and held": func(t *testing.T, l *lab.Lab, id string) {
			run(t, l, "scontrol", "requeuehold", id)
			awaitNoCost(t, l)
			assert.Equal(t, "PENDING", jobField(t, l, id, "JobState"))
		},
		"when it has shrunk": func(t *testing.T, l *lab.Lab, id string) {
			update(t, l, "jobid="+id, "numnodes=1")
			awaitJob(t, l, 20*time.Second, id, "NumNodes", "1")
			awaitOnlyWanted(t, l, id)
			await(t, 30*time.Second, "the other nodes to be powered down", func() bool {
				down := 0
				for _, n := range flexNodes(t, l) {
					if n.State.Has(slurm.PoweredDown) {
						down++
					}
				}
				return down == 11
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := submit(t, l, "-p", "train", "-N3", "--time=15")
			awaitRequestState(t, l, "alpha-a3-job-"+id, "a1", "ACCEPTED")
			change(t, l, id)
			withdraw(t, l, id)
		})
	}
	awaitNothingLeft(t, l)
	assert.Empty(t, booted(t, l), "no VM was ever made")
}

// awaitOnlyWanted waits until what is asked for is what the job has been
// allocated: nothing while it is pending.
func awaitOnlyWanted(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	awaitShown(t, 30*time.Second, "requests for the nodes of job "+id+" alone", func() (string, bool) {
		var wanted, asked []string
		if jobField(t, l, id, "JobState") == "CONFIGURING" {
			names, err := slurm.Expand(jobField(t, l, id, "NodeList"))
			require.NoError(t, err)
			wanted = names
		}
		for _, g := range state(t, l).Groups {
			for _, r := range g.Requests {
				if r.State == "CREATING" || r.State == "ACCEPTED" {
					asked = append(asked, r.Instances...)
				}
			}
		}
		slices.Sort(asked)
		return fmt.Sprintf("wanted %v, asked for %v", wanted, asked), slices.Equal(wanted, asked)
	})
}

func TestTheRequestOfACancelledJobServesTheNextOneOnItsNodesIfItsLeaseIsLongEnough(t *testing.T) {
	l := cluster(t, lab.Options{NoHooks: true}) // each pass is made here, so that none comes in between
	shut(t, l)
	long, next := jobAfterJob(t, l, "--time=20", "--time=15")
	adopted := "alpha-a3-job-" + long + "/a1"
	onePass(t, l)
	assert.Equal(t, []string{adopted}, liveRequests(state(t, l)), "it serves the shorter job as it is")
	capacity(t, l, "", 2)
	await(t, 2*time.Minute, "job "+next+" to complete", func() bool {
		onePass(t, l)
		return jobField(t, l, next, "JobState") == "COMPLETED"
	})
	assert.Len(t, calls(t, l, "regionInstanceGroupManagerResizeRequests.insert"), 1)
	await(t, time.Minute, "nothing to be left", func() bool { onePass(t, l); return len(state(t, l).Groups) == 0 })

	shut(t, l)
	short, next := jobAfterJob(t, l, "--time=15", "--time=20")
	await(t, time.Minute, "the request to be replaced by a longer one", func() bool {
		onePass(t, l)
		return slices.Equal(liveRequests(state(t, l)), []string{"alpha-a3-job-" + next + "/a1"})
	})
	assert.Equal(t, 20*time.Minute, awaitRequest(t, l, "alpha-a3-job-"+next).Duration)
	cancel(t, l, next)
	await(t, time.Minute, "nothing to be left of job "+short, func() bool { onePass(t, l); return len(state(t, l).Groups) == 0 })
}

// jobAfterJob has a job wait for machines, another one for the same nodes, and
// cancels the first, so that Slurm gives its nodes to the second without a call.
func jobAfterJob(t *testing.T, l *lab.Lab, limit, nextLimit string) (first, next string) {
	t.Helper()
	first = submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", limit)
	awaitJob(t, l, 20*time.Second, first, "JobState", "CONFIGURING")
	await(t, 30*time.Second, "the request of job "+first, func() bool {
		onePass(t, l)
		g, ok := state(t, l).Group("alpha-a3-job-" + first)
		return ok && len(g.Requests) == 1 && g.Requests[0].State == "ACCEPTED"
	})
	next = submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", nextLimit)
	cancel(t, l, first)
	awaitJob(t, l, 30*time.Second, next, "JobState", "CONFIGURING")
	return first, next
}

// oneRound makes one.
func onePass(t *testing.T, l *lab.Lab) {
	t.Helper()
	_, err := l.Flex(context.Background(), "sync")
	require.NoError(t, err)
}
