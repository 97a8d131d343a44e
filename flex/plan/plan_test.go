package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestPassReconcilesJobsAndMachines(t *testing.T) {
	in := situations(t, alphaConfig)
	in("requests all nodes of a job before all resume calls have arrived", seen(nodes("alpha-a3-0", poweringUp),
		nodes("alpha-a3-1", aboutToRise), job(7, "train", "15:00", configured, "alpha-a3-[0-1]")),
		"create group alpha-a3-job-7 in us-central1",
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-7/a1 for 00:15:00")
	in("never ties unrelated jobs of a shared node together",
		seen(nodes("alpha-a3-[0-2]", risingMixed),
			job(7, "shared", "15:00", configured, "alpha-a3-[0-1]"),
			job(8, "shared", "20:00", configured, "alpha-a3-[1-2]")), "create group alpha-a3-job-7 in us-central1",
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-7/a1 for 00:20:00",
		"create group alpha-a3-job-8 in us-central1", "request 1 node (alpha-a3-2) in alpha-a3-job-8/a1 for 00:20:00")
	in("asks node by node if the nodeset is configured so", seen(awaits(7, "alpha-one-[2-3]")),
		"create group alpha-one-node-2 in europe-west4",
		"request 1 node (alpha-one-2) in alpha-one-node-2/a1 for 02:00:00",
		"create group alpha-one-node-3 in europe-west4",
		"request 1 node (alpha-one-3) in alpha-one-node-3/a1 for 02:00:00")
	in("asks for a node that an admin powered up", seen(nodes("alpha-a3-5", risingIdle)),
		"create group alpha-a3-node-5 in us-central1",
		"request 1 node (alpha-a3-5) in alpha-a3-node-5/a1 for 7-00:00:00")
	in("gives such a node a group beside the old one of a job that has ended", seen(nodes("alpha-one-2", risingIdle),
		group("alpha-one-node-2", mig.Stamp{NodeSet: "one", Job: 9, Node: "alpha-one-2"})),
		"create group alpha-one-node-2-r1 in europe-west4",
		"request 1 node (alpha-one-2) in alpha-one-node-2-r1/a1 for 02:00:00", "delete group alpha-one-node-2")
	in("keeps what it asked for such a node, though Slurm forgets that no job had it",
		seen(freed("alpha-a3-5", risingIdle), group("alpha-a3-node-5", forNode("a3", "alpha-a3-5"), request("a1",
			mig.Accepted, "alpha-a3-5", time.Hour))))
	in("adopts a live request for another job's nodes if its lease is long enough",
		seen(awaits(8, "alpha-a3-[0-1]"), timeLimit("10:00"),
			groupOf(7, accepted("alpha-a3-[0-1]"))))
	in("replaces a live request with a lease too short for the job", seen(awaits(8, "alpha-a3-[0-1]"), timeLimit("30:00"), groupOf(7, accepted("alpha-a3-[0-1]"))),
		"cancel request alpha-a3-job-7/a1")
	in("replaces a live request that brings only a part of the job", seen(awaits(8, "alpha-a3-[0-2]"), timeLimit("10:00"), groupOf(7, accepted("alpha-a3-[0-1]"))),
		"cancel request alpha-a3-job-7/a1")
	in("cancels the request of a job that was cancelled, and hands the nodes back",
		seen(freed("alpha-a3-[0-1]", risingIdle), groupOf(7, accepted("alpha-a3-[0-1]"))),
		"cancel request alpha-a3-job-7/a1", "set nodes alpha-a3-[0-1] power_down_force")
	in("cancels the second of two requests for the same nodes", seen(awaits(7, "alpha-a3-0"),
		groupOf(7, accepted("alpha-a3-0"), request("a2", mig.Accepted, "alpha-a3-0", 15*time.Minute))),
		"cancel request alpha-a3-job-7/a2")
	in("waits for the end of a node's old instance before it requests a new one",
		seen(awaits(8, "alpha-a3-[0-1]"), groupOf(7), vms("alpha-a3-1", "alpha-a3-job-7", "STOPPING")))
	in("deletes a job's old group when its nodes have found their machines elsewhere", seen(runsOn(9, "alpha-a3-0"),
		groupOf(7, succeeded("alpha-a3-0")), groupOf(9, succeeded("alpha-a3-0")), machinesOf(9, "alpha-a3-0")),
		"delete group alpha-a3-job-7")
	in("does not mark the nodes of a shared partition, nor static ones", seen(nodes("alpha-a3-0", "ALLOCATED+CLOUD"),
		job(7, "shared", "15:00", slurm.JobRunning, "alpha-a3-0"), nodes("alpha-one-0", "ALLOCATED+CLOUD"),
		job(8, "train", "15:00", slurm.JobRunning, "alpha-one-0")))
	in("waits a minute after the first failure", seen(awaits(7, "alpha-a3-0"),
		groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, 59*time.Second))),
		`set AdminComment of job 7: "flex-start: attempt 1 failed: no capacity; retrying at 2026-11-21T12:00:01Z"`)
	in("then tries again under the next attempt's name", seen(awaits(7, "alpha-a3-0"),
		groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, 60*time.Second))),
		"request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 00:15:00")
	in("counts a refusal once that is on record too", seen(awaits(7, "alpha-a3-0"),
		groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, 61*time.Second)),
		refused("alpha-a3-job-7", mig.CauseCapacity, 60*time.Second, 1)),
		"request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 00:15:00")
	in("returns all unbooted nodes of a job when its request can never succeed", seen(awaits(7, "alpha-a3-[0-1]"),
		groupOf(7, failed("a1", "alpha-a3-[0-1]", mig.CauseConfig, time.Second))),
		"return alpha-a3-[0-1] to Slurm and hold job 7: STOCKOUT: none")
	in("returns the nodes after max_attempts", seen(awaits(7, "alpha-a3-0"), refused("alpha-a3-job-7", mig.CauseQuota, time.Second, 5)),
		"return alpha-a3-0 to Slurm and requeue job 7: 5 attempts failed, the last: a quota of the project is used up")
	in("returns the nodes once per failed attempt, also after the job has got nodes again",
		seen(awaits(7, "alpha-a3-0"), refused("alpha-a3-job-7", mig.CauseQuota, 2*time.Minute, 5), started(7, time.Second)),
		`set AdminComment of job 7: "flex-start: attempt 5 failed: a quota of the project is used up; retrying at 2026-11-21T12:14:00Z"`)
	in("waits, and names the fix, if a foreign group has its name", seen(awaits(7, "alpha-a3-0"),
		refused("alpha-a3-job-7", mig.CauseExists, time.Second, 9)),
		`set AdminComment of job 7: "flex-start: alpha-a3-job-7 already exists in us-central1 without this cluster's stamp; `+`delete it if nothing needs it, or rename nodeset a3"`)
	in("continues at once if that group turns out to be its own", seen(awaits(7, "alpha-a3-0"),
		refused("alpha-a3-job-7", mig.CauseExists, time.Second, 1), groupOf(7)),
		"request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00")
	in("waits for a request of its own that the lists do not show yet", seen(awaits(7, "alpha-a3-[0-1]"), groupOf(7),
		counting(2), creating(2)))
	in("lets such a group be, and the nodes that it may serve, when the job has gone",
		seen(nodes("alpha-a3-0", poweringDown), groupOf(7), counting(1), creating(1)))
	in("keeps a group that counts the attempts of a job in the queue", seen(nodes("alpha-a3-0", poweredDown),
		job(7, "train", "15:00", slurm.JobPending, ""),
		groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, time.Second))))
	in("and deletes it when the job has left the queue", seen(nodes("alpha-a3-0", poweredDown),
		groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, time.Second))), "delete group alpha-a3-job-7")
}

func TestJobOfMoreThanAThousandNodesIsSplitIntoParts(t *testing.T) {
	whole := seen(awaits(7, "alpha-a3-[0-2499]"))
	want := []string{
		"create group alpha-a3-job-7 in us-central1",
		"request 1000 nodes (alpha-a3-[0-999]) in alpha-a3-job-7/a1 for 00:15:00",
		"create group alpha-a3-job-7-p1 in us-central1",
		"request 1000 nodes (alpha-a3-[1000-1999]) in alpha-a3-job-7-p1/a1 for 00:15:00",
		"create group alpha-a3-job-7-p2 in us-central1",
		"request 500 nodes (alpha-a3-[2000-2499]) in alpha-a3-job-7-p2/a1 for 00:15:00",
	}
	assert.Equal(t, want, planned(whole))

	// A complete part does not change the names of the other parts.
	rest := seen(nodes("alpha-a3-[0-999]", running), nodes("alpha-a3-[1000-2499]", poweringUp), job(7, "train",
		"15:00", configured, "alpha-a3-[0-2499]"), groupOf(7, succeeded("alpha-a3-[0-999]")), machinesOf(7,
		"alpha-a3-[0-999]"))
	assert.Equal(t, want[2:], planned(rest))
}

func TestLeaseFollowsTheTimeLimit(t *testing.T) {
	flex := func(s string) *config.Flex {
		return parsed(strings.Replace(alpha, "{use_job_duration: true, job_duration_margin: 0}", s, 1)).NodeSets[0].Flex
	}
	for _, c := range []struct {
		flex   string
		limits []string
		want   time.Duration
	}{
		{"{use_job_duration: true}", []string{"15:00"}, 25 * time.Minute},
		{"{use_job_duration: true}", []string{"15:00", "1:00:00"}, 70 * time.Minute},
		{"{use_job_duration: true, job_duration_margin: 0}", []string{"15:00"}, 15 * time.Minute},
		{"{use_job_duration: true, job_duration_margin: 60}", []string{"5:00"}, 10 * time.Minute},
		{"{use_job_duration: true}", []string{"UNLIMITED"}, 7 * 24 * time.Hour},
		{"{use_job_duration: true}", []string{"365-00:00:00"}, 7 * 24 * time.Hour},
		{"{use_job_duration: true}", []string{"15:00", "INVALID"}, 7 * 24 * time.Hour},
		{"{use_job_duration: true, max_run_duration: 3600}", []string{"2:00:00"}, time.Hour},
		{"{max_run_duration: 3600}", []string{"15:00"}, time.Hour},
	} {
		t.Run(fmt.Sprint(c.flex, c.limits), func(t *testing.T) {
			var jobs []*slurm.Job
			for _, l := range c.limits {
				jobs = append(jobs, &slurm.Job{Limit: slurm.ParseLimit(l)})
			}
			assert.Equal(t, c.want, scene.Lease(flex(c.flex), jobs))
		})
	}
}
