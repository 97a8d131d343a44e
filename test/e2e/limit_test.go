//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

// A machine of nodeset a3 has 8 GPUs, so a job of 15 minutes may take 2 GPU hours of each. The third job
// needs all nodes that the first two leave, and another account's job gets one of them meanwhile.
func TestLimitOfGPUHoursHoldsRequestsBack(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Keys: "limits: {bio: {account: bio, gpu_hours: 4}}"})
	shut(t, l)
	of := func(account string) string { return submit(t, l, "-p", "train", "-N1", "--time=15", "-A", account) }
	first := of("bio")
	awaitRequest(t, l, "alpha-a3-job-"+first)
	second := of("bio")
	awaitRequest(t, l, "alpha-a3-job-"+second)
	third := submit(t, l, "-p", "train", "-N6", "--time=15", "-A", "bio")
	awaitTold(t, l, 2*time.Minute, third, `waiting for the limit of account bio: 4 of 4 GPU hours of \w+ are used or reserved; this job would take up to 12`)
	assertPending(t, l, third)
	other := of("chem")
	awaitRequest(t, l, "alpha-a3-job-"+other)
	assert.Regexp(t, `limit bio: account bio has used 0 of 4 GPU hours of \w+; its machines and requests may take 4 more`, slurmflex(t, l, "status"))

	cancelForGood(t, l, first, second, third, other)
}

// The array's owner lets four tasks run at once. Slurm plans four further ones on the free nodes, and no other
// job before the end of its window.
func TestTasksBeyondTheirArraysLimitHoldNobodyBack(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	array := submit(t, l, "-p", "train", "-N1", "--time=240", "--array=0-19%4")
	awaitRequest(t, l, "alpha-a3-arr-"+array)
	other := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitShown(t, 4*time.Minute, "the request of the other job", func() (string, bool) {
		g, _ := state(t, l).Group("alpha-a3-job-" + other)
		return slurmflex(t, l, "why", other), len(g.Requests) > 0
	})
	cancelForGood(t, l, array, other)
}
