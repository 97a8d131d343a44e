//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// request is the call that requests machines.
const request = "regionInstanceGroupManagerResizeRequests.insert"

// Behind the cover, Slurm shows for up to three seconds that such a job lacks only nodes.
func TestJobsThatWaitForATimeOrAJobBuyNoMachines(t *testing.T) {
	l := withDaemon(t)
	held := submit(t, l, "-p", "train", "-N1", "--time=15", "--hold")
	jobs := []string{held}
	for range 8 {
		jobs = append(jobs,
			submit(t, l, "-p", "train", "-N2", "--time=15", "--begin=now+1hour"),
			submit(t, l, "-p", "train", "-N2", "--time=15", "--dependency=afterok:"+held))
		time.Sleep(300 * time.Millisecond) // so that passes see them at different moments
	}
	jobs = append(jobs, submit(t, l, "-p", "train", "-N1", "--time=15", "--array=0-5", "--dependency=afterok:"+held))
	await(t, time.Minute, "Slurm to know why they wait", func() bool {
		reasons := strings.Fields(ask(t, l, "squeue", "-h", "-o", "%r"))
		return !slices.ContainsFunc(reasons, func(reason string) bool {
			return !strings.HasPrefix(reason, "JobHeld") && reason != "BeginTime" && reason != "Dependency"
		})
	})
	awaitPasses(t, l, 4)
	assert.Empty(t, calls(t, l, request))
	cancelForGood(t, l, jobs...)
}

// 22.05 makes a reservation for a user whom the controller cannot look up, and lets no job of that
// user use it. 26.05 makes none.
func TestJobOfAnUnknownUserBuysNoMachines(t *testing.T) {
	l := withDaemon(t)
	cmd := l.Client(context.Background(), "sbatch", "--parsable", "-o", "/dev/null", "-p", "train", "-N8", "--time=15", "--wrap", "sleep 1")
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 61999, Gid: 61999}
	out, err := cmd.Output()
	require.NoError(t, err)
	unknown := strings.TrimSpace(string(out))
	awaitWhy(t, l, unknown, "submit the job as a user whom the controller knows")
	shown := slurmflex(t, l, "status")
	assert.Contains(t, shown, "as a user whom the controller knows")
	other := submit(t, l, "-p", "train", "-N8", "--time=15")
	awaitCompleted(t, l, other)
	assert.Len(t, calls(t, l, request), 1, "for the other job")
	assertPending(t, l, unknown)
	cancelForGood(t, l, unknown)
}
