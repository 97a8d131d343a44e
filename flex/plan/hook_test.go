package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
)

// A2: what a hook whose call is lost may return to Slurm.
func TestOnlyANodeThatPowersUpWithoutAJobAtWorkIsPoweringUpForNothing(t *testing.T) {
	for name, c := range map[string]struct {
		state string
		job   slurm.JobState // on the node; empty: none
		want  bool
	}{
		"a job waits for it":                 {"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", slurm.JobConfiguring, true},
		"no job waits for it":                {"IDLE+CLOUD+NOT_RESPONDING+POWERING_UP", "", true},
		"it is marked to power down":         {"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP+POWER_DOWN", slurm.JobConfiguring, true},
		"a job runs on it":                   {"ALLOCATED+CLOUD", slurm.JobRunning, false},
		"a job runs on part of it":           {"MIXED+CLOUD", slurm.JobRunning, false},
		"a job has just begun on it":         {"ALLOCATED+CLOUD+POWERING_UP", slurm.JobRunning, false},
		"a job is suspended on it":           {"ALLOCATED+CLOUD+POWERING_UP", slurm.JobSuspended, false},
		"a job is ending on it":              {"ALLOCATED+CLOUD+COMPLETING+POWERING_UP", slurm.JobCompleting, false},
		"a job of a state that is not known": {"ALLOCATED+CLOUD+POWERING_UP", "DREAMING", false},
		"it is up":                           {"IDLE+CLOUD", "", false},
		"it is powered down":                 {"IDLE+CLOUD+POWERED_DOWN", "", false},
		"it powers down":                     {"IDLE+CLOUD+POWERING_DOWN", "", false},
		"it powers down and up":              {"IDLE+CLOUD+POWERING_DOWN+POWERING_UP", "", false},
		"its state is not known":             {"IDLE+CLOUD+POWERING_UP+LEVITATING", "", false},
	} {
		nodes := []slurm.Node{
			{Name: "alpha-a3-0", State: slurm.ParseState(c.state)},
			{Name: "alpha-a3-1", State: slurm.ParseState("IDLE+CLOUD+POWERING_UP")},
		}
		var jobs []slurm.Job
		if c.job != "" {
			jobs = append(jobs, slurm.Job{ID: 812, State: c.job, Nodes: []string{"alpha-a3-0"}})
		}
		var want []string
		if c.want {
			want = []string{"alpha-a3-0"}
		}
		assert.Equal(t, want, PoweringUpForNothing([]string{"alpha-a3-0", "alpha-a3-7"}, nodes, jobs), name)
	}
}
