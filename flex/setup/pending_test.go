package setup

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/slurm"
)

func TestSettingsThatPreventPendingAreReported(t *testing.T) {
	const preempts, short = "PreemptType: advice: preempt/partition_prio: jobs wait CONFIGURING and not PENDING", "waiting is pending, and Slurm powers down"
	after := func(seconds int) slurm.Limit {
		return slurm.Limit{Kind: slurm.LimitSet, Duration: time.Duration(seconds) * time.Second}
	}
	for name, test := range map[string]struct {
		waiting         string
		preempt         string
		suspend         int
		preempts, short bool
	}{
		"good":                  {config.Pending, "preempt/none", 300, false, false},
		"preemption":            {config.Pending, "preempt/partition_prio", 300, true, false},
		"too early":             {config.Pending, "", 299, false, true},
		"jobs wait CONFIGURING": {config.Configuring, "preempt/partition_prio", 60, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := changed(t, "project", "project")
			cfg.Options.Waiting = test.waiting
			site := controller{config: slurm.Config{"PreemptType": test.preempt}, partitions: []slurm.Partition{{Name: "train", SuspendTime: after(test.suspend)}}}
			found := compare(cfg, observe(t.Context(), cfg, site, &cloud{}, nil))
			assert.Equal(t, test.preempts, says(found, preempts))
			assert.Equal(t, test.short, says(found, short))
		})
	}
}

// says reports whether any finding contains the text.
func says(found Findings, text string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return strings.Contains(f.problem().Error(), text) })
}
