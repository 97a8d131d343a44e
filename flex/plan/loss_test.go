package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// C5: a machine that is gone under a job is a problem, a loss with its cause, and
// what its job is told.
func TestAMachineThatIsGoneUnderAJobIsNamed(t *testing.T) {
	given := func(more ...func(*setting)) Plan {
		return Compute(alphaConfig(t), seen(append([]func(*setting){
			nodes("alpha-a3-0", running+"+NOT_RESPONDING"), nodes("alpha-a3-1", running), job(7, "train", "1:00:00", slurm.JobRunning, "alpha-a3-[0-1]"),
			group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Succeeded, "alpha-a3-[0-1]", time.Hour)), asked(time.Hour),
			ending("alpha-a3-1", "alpha-a3-job-7", time.Hour, time.Hour),
			reserved("slurmflex-alpha-1795266000", "alpha-a3-[0-1]", noon.Add(time.Hour)),
		}, more...)...))
	}
	for name, c := range map[string]struct {
		plan  Plan
		cause LossCause
		says  string
	}{
		"deleted by hand, or lost": {given(), Gone, "the machine of alpha-a3-0 is gone: deleted by somebody, or lost by Google"},
		"the lease has ended": {
			given(reserved("slurmflex-alpha-1795262100", "alpha-a3-0", noon.Add(-5*time.Minute))), LeaseEnded,
			"the machine of alpha-a3-0 is gone: the lease ended at 2026-11-21T11:55:00Z",
		},
		"stopped": {
			given(vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED")), Stopped,
			"the machine of alpha-a3-0 is stopped, and cannot be started again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, c.plan.Losses, 1)
			assert.Equal(t, []string{"alpha-a3-0"}, c.plan.Losses[0].Nodes)
			assert.Equal(t, []uint32{7}, c.plan.Losses[0].Jobs)
			assert.Equal(t, c.cause, c.plan.Losses[0].Cause)
			assert.Contains(t, c.plan.Problems.Texts(), c.says+"; it was in use by job 7")
			assert.Equal(t, "flex-start: "+c.says, tells(c.plan)[7])
		})
	}
	answers := given(func(s *setting) { s.Nodes[0].State = slurm.ParseState(running) })
	assert.Len(t, answers.Losses, 1)
	assert.Empty(t, tells(answers), "its owner is told when Slurm gets no answer either")
	for name, p := range map[string]Plan{
		"one that is there":              given(vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING")),
		"one that is not ours":           given(vms("alpha-a3-0", "", "RUNNING")),
		"one of a region that is unread": given(unseen("us-central1"), func(s *setting) { s.Instances, s.Groups = nil, nil }),
		"one that no job has":            given(func(s *setting) { s.Jobs[0].State = slurm.JobCompleting }),
	} {
		t.Run("not "+name, func(t *testing.T) { assert.Empty(t, p.Losses) })
	}
}
