//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestPendingJobsStartWhenTheirMachinesAreUp(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	batch := submitScript(t, l, "sleep 1000", "-p", "train", "-N2", "--time=15")
	array := submit(t, l, "-p", "train", "-N1", "--array=0-2%2", "--time=15", "--no-requeue")
	waits := l.Client(t.Context(), "srun", "-J", "one", "-p", "train", "-N1", "--time=15", "sleep", "1")
	require.NoError(t, waits.Start())
	await(t, time.Minute, "their requests", func() bool { return len(state(t, l).Groups) == 3 })
	for _, id := range []string{batch, array + "_0", strings.TrimSpace(ask(t, l, "squeue", "-h", "-n", "one", "-o", "%A"))} {
		assertPending(t, l, id)
	}
	awaitWhy(t, l, batch, "QUEUED at Google")
	capacity(t, l, "", 8)
	awaitRunning(t, l, batch)
	assertNotRequeued(t, l, batch)
	assert.NoError(t, waits.Wait())
	for _, task := range []string{"_0", "_1", "_2"} {
		awaitCompleted(t, l, array+task)
	}
	cancelForGood(t, l, batch)
	assert.NotContains(t, readFile(l.Log("daemon.log")), `"verb": "resume"`, "Slurm powers nothing up")
}

// squeue shows a held task in one row with the array's other tasks.
func TestTasksWaitEachForItself(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	array := submit(t, l, "-p", "train", "-N1", "--array=0-3%1", "--time=15")
	await(t, time.Minute, "a request", func() bool { return len(state(t, l).Groups) == 1 })
	run(t, l, "scontrol", "hold", array+"_0")
	held := submit(t, l, "-p", "train", "-N1", "--array=0-2", "--time=15", "--hold")
	run(t, l, "scontrol", "release", held+"_1")
	capacity(t, l, "", 8)
	for _, task := range []string{array + "_1", array + "_2", array + "_3", held + "_1"} {
		awaitCompleted(t, l, task)
	}
	for _, task := range []string{array + "_0", held + "_0", held + "_2"} {
		assertPending(t, l, task)
	}
	cancelForGood(t, l, array, held)
}

// The last task has its array's number, and squeue shows waiting tasks in one row.
func TestOwnerOfEachWaitingTaskIsNotified(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	array := submit(t, l, "-p", "train", "-N1", "--array=0-3", "--time=15")
	for _, task := range []string{"_0", "_1", "_2", "_3"} {
		awaitTold(t, l, time.Minute, array+task, "waiting since .* for 1 × a3-megagpu-8g")
	}
	cancelForGood(t, l, array)
}

// Slurm plans the tasks one behind the other, and 22.05 shows the start of the last.
func TestArrayOnASwitchStartsBehindAnotherJob(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	first := submitScript(t, l, "sleep 1000", "-p", "train", "-N8", "--time=15")
	array := submit(t, l, "-p", "train", "-N8", "--switches=1", "--array=0-1", "--time=30")
	await(t, time.Minute, "the array's plan", func() bool {
		return strings.TrimSpace(run(t, l, "squeue", "-h", "-j", array, "-O", "SchedNodes")) == "alpha-a3-[0-7]"
	})
	run(t, l, "scancel", first)
	capacity(t, l, "", 8)
	for _, task := range []string{"_0", "_1"} {
		awaitCompleted(t, l, array+task)
	}
}

// A job may need a static node too, or a node that another's reservation covers a month later.
func TestJobThatAlsoNeedsStaticOrReservedNodesStarts(t *testing.T) {
	l := withDaemon(t, lab.NodeSet{
		Name: "mixed", Machine: "g2-standard-4", Size: 3, Static: 1, FlexKeys: "max_run_duration: 3600",
	})
	run(t, l, "scontrol", "create", "reservation", "reservationname=later", "nodes=alpha-a3-0", "starttime=now+30days", "duration=60", "users=root", "flags=maint")
	awaitUp(t, l, "alpha-mixed-0")
	awaitShown(t, time.Minute, "the cover", func() (string, bool) {
		shown := run(t, l, "scontrol", "-o", "show", "reservation")
		return shown, strings.Contains(shown, ".cover-") && strings.Contains(shown, "alpha-mixed-")
	})
	whole := submit(t, l, "-p", "mixed", "-N3", "--time=10")
	named := submit(t, l, "-p", "train", "-N2", "-w", "alpha-a3-0", "--time=10")
	awaitCompleted(t, l, whole)
	awaitCompleted(t, l, named)
	assertNotRequeued(t, l, whole)
	parts := submit(t, l, "-p", "train", "-N2", "-w", "alpha-a3-0", "--time=10", ":", "-p", "train", "-N1", "--time=10")
	awaitCompleted(t, l, parts)
}

// Its door opens when the machines of the other component are up.
func TestComponentOnAStaticNodeWaitsForTheOthers(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, SuspendTime: 90, NodeSets: []lab.NodeSet{{
		Name: "mixed", Machine: "g2-standard-4", Size: 2, Static: 1, FlexKeys: "max_run_duration: 3600",
	}}})
	awaitUp(t, l, "alpha-mixed-0")
	shut(t, l)
	job := submit(t, l, "-p", "mixed", "-N1", "-w", "alpha-mixed-0", "--time=10", ":", "-p", "train", "-N1", "--time=10")
	awaitWhy(t, l, job+"+1", "QUEUED at Google")
	time.Sleep(time.Minute) // longer than a job with all its machines may take to start
	capacity(t, l, "", 8)
	awaitCompleted(t, l, job)
	assert.NotContains(t, readFile(l.Log("daemon.log")), "has not started for")
}

// Two jobs need the only license. Slurm does not show this while both wait.
func TestOnlyOneOfTwoJobsForALicenseGetsMachines(t *testing.T) {
	l := withDaemon(t)
	first := submitScript(t, l, "sleep 30", "-p", "train", "-N1", "--time=15", "-L", "lic:1")
	second := submitScript(t, l, "sleep 1", "-p", "train", "-N2", "--time=15", "-L", "lic:1")
	awaitWhy(t, l, second, `1 of 1 licenses of lic are in use or requested, and the job needs 1 `)
	awaitRunning(t, l, first)
	assert.Len(t, state(t, l).Groups, 1, "nothing was requested for the second job")
	awaitDone(t, l, second)
}

// An account may use two nodes at once.
func TestAccountLimitDelaysMachines(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Accounting: true, Limits: true})
	run(t, l, "sacctmgr", "--immediate", "add", "account", "ml", "grptres=node=2")
	run(t, l, "sacctmgr", "--immediate", "add", "account", "chem")
	run(t, l, "sacctmgr", "--immediate", "add", "user", "root", "account=ml,chem")
	shut(t, l)
	var jobs []string
	for range 3 {
		jobs = append(jobs, submitScript(t, l, "sleep 1000", "-p", "train", "-N1", "--time=15", "-A", "ml"))
	}
	other := submitScript(t, l, "sleep 1000", "-p", "train", "-N1", "--time=15", "-A", "chem")
	held := `cause account ml may use 2 nodes at once .GrpTRES.: 2 are in use or requested, and the job needs 1 `
	awaitWhy(t, l, jobs[2], held)
	awaitWhy(t, l, other, "QUEUED at Google")
	assert.Len(t, state(t, l).Groups, 3)
	assert.Contains(t, slurmflex(t, l, "status"), "account ml may use 2 nodes at once (GrpTRES)")
	capacity(t, l, "", 8)
	for _, id := range []string{jobs[0], jobs[1], other} {
		awaitRunning(t, l, id)
	}
	time.Sleep(15 * time.Second) // three passes
	awaitWhy(t, l, jobs[2], held)
	assert.Len(t, state(t, l).Instances, 3)
	run(t, l, "scancel", jobs[0])
	awaitRunning(t, l, jobs[2])
	assert.NotContains(t, readFile(l.Log("daemon.log")), "its job has not started", "no job was late")
	cancelForGood(t, l, jobs[1], jobs[2], other)
}

// Account ml may use 20 node minutes in total, and jobs of chem may still use 20 at once. Each job needs 15.
func TestAccountLimitOfMinutesDelaysMachines(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Accounting: true, Limits: true})
	run(t, l, "sacctmgr", "--immediate", "add", "account", "ml", "grptresmins=node=20")
	run(t, l, "sacctmgr", "--immediate", "add", "account", "chem", "grptresrunmins=node=20")
	run(t, l, "sacctmgr", "--immediate", "add", "user", "root", "account=ml,chem")
	held := map[string]string{}
	for account, text := range map[string]string{
		"ml":   `cause account ml may use 20 node minutes in total .GrpTRESMins.: 15 are used or requested, and the job needs 15 `,
		"chem": `cause account chem may use 20 node minutes at once .GrpTRESRunMins.: 15 are in use or requested, and the job needs 15 `,
	} {
		first := submitScript(t, l, "sleep 30", "-p", "train", "-N1", "--time=15", "-A", account)
		second := submit(t, l, "-p", "train", "-N1", "--time=15", "-A", account)
		awaitRunning(t, l, first)
		awaitWhy(t, l, second, text)
		held[second] = text
	}
	for id := range held {
		awaitCompleted(t, l, id)
	}
	assert.NotContains(t, readFile(l.Log("daemon.log")), "its job has not started", "no job was late")
}

// Another job takes the only license while the request waits at Google.
func TestLicenseTakenDuringAJobsWaitIsShown(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	update(t, l, "nodename=alpha-cpu-0", "state=power_up")
	time.Sleep(2 * time.Second) // Slurm ignores a boot in the same second as the power-up
	run(t, l, "slurmd", "-N", "alpha-cpu-0", "-b")
	id := submit(t, l, "-p", "train", "-N1", "--time=15", "-L", "lic:1")
	awaitWhy(t, l, id, "QUEUED at Google")
	other := submitScript(t, l, "sleep 1000", "-p", "cpu", "-w", "alpha-cpu-0", "--time=15", "-L", "lic:1")
	awaitWhy(t, l, id, `QUEUED .* cause 1 of 1 licenses of lic are in use or requested, and the job needs 1: until this changes, granted machines are released`)
	run(t, l, "scancel", other)
	awaitWhy(t, l, id, "cause no capacity")
	capacity(t, l, "", 8)
	awaitCompleted(t, l, id)
}

// created returns the creation time of each machine.
func created(t *testing.T, l *lab.Lab) map[string]time.Time {
	t.Helper()
	at := map[string]time.Time{}
	for _, in := range state(t, l).Instances {
		at[in.Name] = in.Created
	}
	return at
}

func TestJobThatLosesAMachineIsRerunOnTheSurvivors(t *testing.T) {
	l := withDaemon(t, lab.NodeSet{
		Name: "gang", Machine: "a3-highgpu-8g", Size: 5, FlexKeys: "max_run_duration: 7200, salvage: true, salvage_timeout: 600",
	})
	id := submitScript(t, l, "sleep 1000", "-p", "gang", "-N3", "--time=15")
	awaitRunning(t, l, id)
	awaitPasses(t, l, 2) // its door is deleted
	machines := created(t, l)
	require.Len(t, machines, 3)
	delete(machines, "alpha-gang-1")
	tell(t, l, "vms/alpha-gang-1/delete", nil)
	awaitJob(t, l, 2*time.Minute, id, "Restarts", "1")
	assert.Contains(t, readFile(l.Log("slurmctld.log")), "machine lost: ", "slurmflex was faster than SlurmdTimeout")
	awaitJob(t, l, 4*time.Minute, id, "JobState", "RUNNING")
	again := created(t, l)
	require.Len(t, again, 3)
	asked := 0
	for name, at := range again {
		if old, kept := machines[name]; kept {
			assert.Equal(t, old, at, name)
		} else {
			asked++
		}
	}
	assert.Equal(t, 1, asked)
	assert.NotContains(t, readFile(l.Log("daemon.log")), `"verb": "resume"`, "Slurm powers nothing up")
	cancelForGood(t, l, id)
}

// The component in partition cpu has no reservation and starts together with the other component.
func TestHeterogeneousJobWithAForeignComponentStarts(t *testing.T) {
	l := withDaemon(t)
	update(t, l, "nodename=alpha-cpu-0", "state=power_up")
	time.Sleep(2 * time.Second) // Slurm ignores a boot in the same second as the power-up
	run(t, l, "slurmd", "-N", "alpha-cpu-0", "-b")
	await(t, time.Minute, "the other node to be up", func() bool {
		return strings.Contains(run(t, l, "scontrol", "-o", "show", "node", "alpha-cpu-0"), "State=IDLE+CLOUD ")
	})
	id := submit(t, l, "-p", "cpu", "-N1", "--time=15", ":", "-p", "train", "-N2", "--time=15")
	awaitDone(t, l, id)
}

// The clock that lets a cover expire without a daemon restarts with slurmctld.
func TestCoverIsReplacedWhenSlurmctldRestarts(t *testing.T) {
	l := withDaemon(t)
	cover := func() string {
		_, name, _ := strings.Cut(ask(t, l, "scontrol", "-o", "show", "reservation"), "ReservationName=")
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	first := cover()
	require.NoError(t, l.Restart(t.Context()))
	await(t, time.Minute, "another cover", func() bool {
		return cover() != first && !strings.Contains(ask(t, l, "scontrol", "show", "reservation"), first+" ")
	})
}

func TestPendingJobStartsInItsFirstCompletePartition(t *testing.T) {
	l := withDaemon(t, lab.NodeSet{
		Name: "eu", Machine: "a3-ultragpu-8g", Size: 2, FlexKeys: "use_job_duration: true",
	})
	shut(t, l)
	id := submit(t, l, "-p", "train,eu", "-N2", "--time=15")
	await(t, time.Minute, "a request in each place", func() bool { return len(state(t, l).Groups) == 2 })
	assertPending(t, l, id)
	awaitWhy(t, l, id, "next starts in the first of its 2 places with all machines registered")
	capacity(t, l, "a3-ultragpu-8g", 4)
	awaitCompleted(t, l, id)
	assert.Equal(t, "eu", jobField(t, l, id, "Partition"))
	assertNotRequeued(t, l, id)
	awaitNothingLeft(t, l)
}

// The nodes of open are shared, so that slurmflex does not cover them. Their job may run beyond what backfill
// plans: otherwise Slurm plans the other one behind it.
func TestPendingJobStartsOnAnotherPartitionsNodeThatBecomesIdle(t *testing.T) {
	l := withDaemon(t)
	update(t, l, "partitionname=open", "maxtime=UNLIMITED")
	runs := submitScript(t, l, "sleep 1000", "-p", "open", "-N4", "--exclusive", "--time=3-0")
	awaitRunning(t, l, runs)
	shut(t, l)
	id := submit(t, l, "-p", "open,train", "-N1", "--exclusive", "--time=15")
	awaitRequestState(t, l, "alpha-a3-job-"+id, "a1", "ACCEPTED")
	assertPending(t, l, id)
	cancel(t, l, runs)
	awaitCompleted(t, l, id)
	assert.Equal(t, "open", jobField(t, l, id, "Partition"))
	assertNotRequeued(t, l, id)
	await(t, time.Minute, "its request to be withdrawn", func() bool { return len(liveRequests(state(t, l))) == 0 })
}

// TestJobLargerThanEachNodesetWaitsInSeveral has two nodesets of two nodes each in one partition.
func TestJobLargerThanEachNodesetWaitsInSeveral(t *testing.T) {
	l := cluster(t, lab.Options{
		Daemon: true, Partitions: []string{"xy: {partition_name: xy, enable_job_exclusive: true, partition_nodeset: [x, y]}"},
		NodeSets: []lab.NodeSet{
			{Name: "x", Machine: "a3-ultragpu-8g", Size: 2, FlexKeys: "use_job_duration: true"},
			{Name: "y", Machine: "a2-highgpu-8g", Size: 2, FlexKeys: "use_job_duration: true"},
		},
	})
	shut(t, l)
	id := submit(t, l, "-p", "xy", "-N3", "--time=15")
	await(t, time.Minute, "a request in each nodeset", func() bool { return len(liveRequests(state(t, l))) == 2 })
	assertPending(t, l, id)
	awaitWhy(t, l, id, "next starts once all machines have registered")
	capacity(t, l, "a3-ultragpu-8g", 4)
	await(t, time.Minute, "the machines of one nodeset", func() bool { return len(state(t, l).Instances) > 0 })
	awaitPasses(t, l, 3)
	assertPending(t, l, id)
	capacity(t, l, "a2-highgpu-8g", 4)
	awaitCompleted(t, l, id)
	assertNotRequeued(t, l, id)
	awaitNothingLeft(t, l)
}

// K14: one node of eu runs a job for another half hour. The second request of the first job in the queue
// is for the other node, which the next job needs too.
func TestSecondPlaceIsKeptUntilItsJobRuns(t *testing.T) {
	l := withDaemon(t, lab.NodeSet{
		Name: "eu", Machine: "a3-ultragpu-8g", Size: 2, FlexKeys: "use_job_duration: true",
	})
	runs := submitScript(t, l, "sleep 1000", "-p", "eu", "-N1", "--time=30")
	awaitRunning(t, l, runs)
	shut(t, l)
	first := submitScript(t, l, "sleep 1000", "-p", "train,eu", "-N1", "--time=15")
	awaitRequestState(t, l, "alpha-eu-job-"+first, "a1", "ACCEPTED")
	both := submitScript(t, l, "sleep 1000", "-p", "eu", "-N2", "--time=15")
	last := submitScript(t, l, "sleep 1000", "-p", "eu", "-N1", "--time=60")
	awaitWhy(t, l, last, "0 of nodeset eu are free")
	awaitPasses(t, l, 4)
	assert.ElementsMatch(t, []string{"alpha-a3-job-" + first + "/a1", "alpha-eu-job-" + first + "/a1"}, liveRequests(state(t, l)))
	assert.NotContains(t, readFile(l.Log("daemon.log")), "request cancelled")

	cancel(t, l, runs)
	awaitWhy(t, l, both, "needs 2 nodes; 1 of nodeset eu is free")
	capacity(t, l, "a3-megagpu-8g", 1)
	awaitRunning(t, l, first)
	awaitRequestState(t, l, "alpha-eu-job-"+both, "a1", "ACCEPTED")
	cancelForGood(t, l, first, both, last)
}

func TestPendingJobUsesAMachineThatBecomesIdle(t *testing.T) {
	l := withDaemon(t, lab.NodeSet{
		Name: "kept", Machine: "a3-highgpu-8g", Size: 2, FlexKeys: "max_run_duration: 3600, keep_idle: 1200",
	})
	first := submitScript(t, l, "sleep 600", "-p", "kept", "-N1", "--time=20")
	awaitRunning(t, l, first)
	kept := state(t, l).Instances[0]
	shut(t, l)
	waits := submitScript(t, l, "hostname", "-p", "kept", "-N1", "--time=10", "--no-requeue")
	awaitRequestState(t, l, "alpha-kept-job-"+waits, "a1", "ACCEPTED")

	cancel(t, l, first)
	awaitCompleted(t, l, waits)
	assert.Equal(t, kept.Name, jobField(t, l, waits, "BatchHost"))
	assertNotRequeued(t, l, waits)
	await(t, time.Minute, "its request to be withdrawn", func() bool { return len(liveRequests(state(t, l))) == 0 })
	assert.Len(t, state(t, l).Instances, 1)

	// Slurm plans no job on its node and the other one together.
	both := submit(t, l, "-p", "kept", "-N2", "--time=10")
	capacity(t, l, "", 8)
	awaitCompleted(t, l, both)
}

// The cover remains, because the daemon would create it again.
func TestDownDeletesTheDoorsOfPendingJobs(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submitScript(t, l, "sleep 1000", "-p", "train", "-N1", "--time=15")
	await(t, time.Minute, "its request", func() bool { return len(state(t, l).Groups) == 1 })
	assert.Contains(t, slurmflex(t, l, "down", "--yes"), nothingLeft)
	awaitNothingLeft(t, l)
	assertPending(t, l, id)
}
