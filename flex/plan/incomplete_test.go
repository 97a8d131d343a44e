package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestRequeuedJobWithAnOldMachineHasTheFullGangTimeout(t *testing.T) {
	given := func(ago time.Duration) scene.Snapshot {
		return seen(nodes("alpha-a3-0", "MIXED+CLOUD"), nodes("alpha-a3-1", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"),
			job(7, "shared", "15:00", configured, "alpha-a3-[0-1]"), started(7, ago),
			groupOf(7, request("a2", mig.Accepted, "alpha-a3-1", 15*time.Minute)),
			leased("alpha-a3-0", "alpha-a3-job-7", 5*time.Hour, time.Hour))
	}
	assert.Empty(t, planned(t, given(9*time.Minute)))
	assert.Equal(t, []string{
		"return alpha-a3-1 to Slurm and requeue job 7: 1 node arrived at 11:50:00 but 1 other did not within gang_timeout 00:10:00",
	}, planned(t, given(10*time.Minute)))
}

// B13: each of two jobs holds machines that the other lacks.
func TestTwoIncompleteAllocationsAreReturnedOneAfterTheOther(t *testing.T) {
	half := func(id uint32, has, lacks string, came time.Duration) part {
		name := memo.JobGroup("alpha", "a3", id, 0)
		return and(nodes(has, running), nodes(lacks, poweringUp),
			job(id, "train", "15:00", configured, has+","+lacks), started(id, time.Hour),
			groupOf(id, accepted(lacks)), ending(has, name, came, time.Hour))
	}
	given := func(came time.Duration, more ...part) scene.Snapshot {
		return seen(half(7, "alpha-a3-0", "alpha-a3-1", came), half(8, "alpha-a3-2", "alpha-a3-3", came),
			reserved("slurmflex-alpha-1795266000", "alpha-a3-0,alpha-a3-2", noon.Add(time.Hour)), and(more...))
	}
	returned := func(s scene.Snapshot) (jobs []uint32) {
		for _, a := range Compute(scene.Of(alphaConfig(t), s)).Actions {
			if a, ok := a.(action.ReturnNodes); ok {
				jobs = append(jobs, a.Job)
			}
		}
		return jobs
	}
	assert.Equal(t, []uint32{8}, returned(given(10*time.Minute)), "the less important one")

	next := given(10 * time.Minute)
	next.Jobs[1].State, next.Jobs[1].Nodes = slurm.JobPending, nil
	assert.Empty(t, returned(next), "a machine is there that no job has any more")
	next.Instances[1].Status = "STOPPING"
	assert.Empty(t, returned(next), "it goes, and may make room")
	next.Instances = next.Instances[:1]
	assert.Equal(t, []uint32{7}, returned(next), "it has gone, and has not helped")
	assert.ElementsMatch(t, []uint32{8, 7}, returned(given(20*time.Minute)), "no longer than twice gang_timeout")
}

func TestUnreadRegionMakesNoAllocationIncomplete(t *testing.T) {
	const mixed = "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"
	booting := seen(nodes("alpha-a3-0", mixed), nodes("alpha-one-3", mixed), job(7, "shared", "15:00", configured,
		"alpha-a3-0,alpha-one-3"), started(7, 12*time.Minute), groupOf(7, succeeded("alpha-a3-0")),
		leased("alpha-a3-0", "alpha-a3-job-7", 11*time.Minute, time.Hour), unseen("europe-west4"))
	assert.Empty(t, planned(t, booting), "the machine of alpha-one-3 may be there")

	short := seen(nodes("alpha-a3-0", "MIXED+CLOUD"), nodes("alpha-one-3", mixed),
		job(7, "shared", "2:00:00", configured, "alpha-a3-0,alpha-one-3"), started(7, 12*time.Minute),
		groupOf(5, request("a1", mig.Succeeded, "alpha-a3-0", 2*time.Hour)),
		leased("alpha-a3-0", "alpha-a3-job-5", time.Hour, time.Hour))
	assert.Contains(t, planned(t, short), "return alpha-one-3 to Slurm and requeue job 7: "+
		"the lease of node alpha-a3-0, which is up, ends at 2026-11-21T13:00:00Z, before the job could finish")
	unseen("europe-west4")(&setting{Snapshot: &short})
	assert.NotContains(t, strings.Join(planned(t, short), "\n"), "return")
}

func TestGangTimeoutCountsBulkInsertedMachines(t *testing.T) {
	given := seen(nodes("alpha-fix-0", "ALLOCATED+CLOUD"), nodes("alpha-fix-1", poweringUp),
		job(7, "spot", "15:00", configured, "alpha-fix-[0-1]"), started(7, 5*time.Hour), spotMachines("alpha-fix-0", "RUNNING"), aged(4*time.Hour),
		refused("alpha-fix-job-7", mig.CauseRate, 10*time.Second, 1))
	for _, keep := range []time.Duration{10 * time.Minute, 0} {
		cfg := mixed(t)
		cfg.FlexSetOf("alpha-fix-0").Flex.KeepIdle = keep
		p := Compute(scene.Of(cfg, given))
		assert.Contains(t, strings.Join(actions(p), "\n"), "gang_timeout", "keep_idle %s: a machine has idled for 4h, and gang_timeout is 10 minutes", keep)
	}
}
