//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

func TestAccountingKeepsAJobsWaitAndCost(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Accounting: true})
	ctx := context.Background()
	run(t, l, "sacctmgr", "--immediate", "add", "account", "ml")
	run(t, l, "sacctmgr", "--immediate", "add", "user", "root", "account=ml")
	shut(t, l)
	// slurmctld sends slurmdbd the job's final comment: the job must run longer than a slow pass.
	id := submitScript(t, l, "srun hostname; sleep 30", "-p", "train", "-N2", "--time=15", "-A", "ml")
	awaitTold(t, l, 4*time.Minute, id, `waiting since [0-9TZ:-]+ for 2 × a3-megagpu-8g`)
	capacity(t, l, "", 8)
	awaitTold(t, l, 2*time.Minute, id, `; waited (less than a minute|[1-3]m) for 2 × a3-megagpu-8g`)
	awaitCompleted(t, l, id)
	sacct := func() (string, bool) {
		text := strings.TrimSpace(run(t, l, "sacct", "-nPX", "-o", "admincomment", "-j", id))
		return text, strings.Contains(text, "; waited ")
	}
	awaitShown(t, 2*time.Minute, "sacct to have the last notice of job "+id+"", sacct)
	awaitNothingLeft(t, l)

	awaitShown(t, 2*time.Minute, "the machines' hours to be ml's", func() (string, bool) {
		out, err := l.Flex(ctx, "cost", "--by", "account", "--json")
		if err != nil {
			return err.Error(), false // the history does not exist yet
		}
		return out, strings.Contains(out, `"key": "ml"`)
	})
	assert.Contains(t, slurmflex(t, l, "cost", "--by", "job", "--json"), `"key": "`+id+`"`)
}
