package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

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
		for _, a := range planOf(alphaConfig, s).Actions {
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
