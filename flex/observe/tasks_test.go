package observe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// The reasons are those of squeue 22.05, 24.11 and 26.05 for an array's pending tasks.
func TestRowHidesTasksThatWaitForSomethingElse(t *testing.T) {
	const behindCover = "ReqNodeNotAvail, UnavailableNodes:alpha-a3-[0-3,5],alpha-st-0"
	for reason, hides := range map[string]bool{
		behindCover:                       false,
		behindCover + ",JobHeldAdmin":     true,
		behindCover + ",Reservation":      false,
		"Priority,Resources":              true,
		"Resources,None":                  false,
		"JobHeldUser,ReqNodeNotAvail":     true,
		"Dependency,Priority,Reservation": true,
		"JobHeldUser,Dependency":          false,
		"":                                false,
	} {
		row := slurm.Job{ArrayTask: "0-3", State: slurm.JobPending, Reason: reason}
		assert.Equal(t, hides, hidesTasks(row), reason)
		row.ArrayTask = "3"
		assert.False(t, hidesTasks(row), "one task: %s", reason)
	}
}

func TestRowWithoutSomeTasks(t *testing.T) {
	for row, want := range map[string]string{
		"0-9%2": "0-1,3-4,6-9%2", "[2,5]": "", "0-12:5": "0,10", "5-6,9,...": "6,9,...", "5%1": "", "7": "7",
	} {
		assert.Equal(t, want, tasksWithout(slurm.Job{ArrayTask: row}, []int{5, 2}), row)
	}
}

func TestTiersRankJobsBeforeTheirPriorities(t *testing.T) {
	jobs := []slurm.Job{{Priority: 4294967295, Partition: "low"}, {Priority: 1, Partition: "low,high"}, {Partition: "high"}}
	rankByTier(jobs, []slurm.Partition{{Name: "low", Tier: 1}, {Name: "high", Tier: 10}})
	require.Greater(t, jobs[1].Priority, jobs[0].Priority)
	require.Zero(t, jobs[2].Priority, "a held job")
}
