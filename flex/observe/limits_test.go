package observe

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// limitless is a Slurm that counts the reads of its limits and fails each.
type limitless struct {
	Scheduler
	reads *[]bool
}

var errNoAnswer = errors.New("no answer")

func (l limitless) Allowances(_ context.Context, enforced []string) (slurm.Allowances, error) {
	*l.reads = append(*l.reads, slices.Contains(enforced, "limits"))
	return slurm.Allowances{}, errNoAnswer
}

func TestLimitsAreReadOnlyWhileJobsWaitPending(t *testing.T) {
	waits := slurm.Job{ID: 7, State: slurm.JobPending, Priority: 1, Reason: "Priority", User: "ann", NodeCount: 1}
	held, runs, limited, single := waits, waits, waits, waits
	held.Priority, runs.State, limited.Reason = 0, slurm.JobRunning, "AssocGrpNodeLimit"
	single.Reservation, single.Partition = "slurmflex-alpha.door-7-1", "us"
	for name, test := range map[string]struct {
		given func(o *Observer)
		jobs  []slurm.Job
		want  []bool
	}{
		"a job waits":                        {func(*Observer) {}, []slurm.Job{runs, waits}, []bool{false}},
		"Slurm enforces limits":              {func(o *Observer) { o.Memory.Settings.Enforced = []string{"limits"} }, []slurm.Job{limited}, []bool{true}},
		"no job waits for machines":          {func(*Observer) {}, []slurm.Job{runs, held}, nil},
		"a job waits for requested machines": {func(*Observer) {}, []slurm.Job{single}, []bool{false}},
		"a single pass":                      {func(o *Observer) { o.Promises = false }, []slurm.Job{waits}, nil},
		"jobs wait CONFIGURING":              {func(o *Observer) { o.Config.Options.Waiting = config.Configuring }, []slurm.Job{waits}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var reads []bool
			o := Observer{Config: &config.Config{}, Slurm: limitless{nil, &reads}, Memory: &memory.Memory{}, Promises: true}
			o.Config.Options.Waiting = config.Pending
			test.given(&o)
			snap := scene.Snapshot{Slurm: scene.Slurm{Jobs: test.jobs}}
			o.observeAllowances(t.Context(), &snap)
			assert.Equal(t, test.want, reads)
			assert.Equal(t, test.want != nil, errors.Is(snap.AllowancesErr, errNoAnswer))
		})
	}
}
