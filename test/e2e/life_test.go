//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestAStaticNodeIsPoweredUpAndGetsANewLeaseWhenItsOldOneEnds(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Static: 1})
	up := func() bool { return nodeState(t, l, "alpha-st-0") == "IDLE+CLOUD" }
	await(t, 60*time.Second, "the static node to be powered up by nobody", up)
	first, _ := state(t, l).Instance("alpha-st-0")
	require.NoError(t, l.Tell(context.Background(), "advance", map[string]string{"duration": "61m"}))
	await(t, 150*time.Second, "the static node to be back on another machine", func() bool {
		now, ok := state(t, l).Instance("alpha-st-0")
		return ok && now.Created.After(first.Created) && up()
	})
}

func TestAJobThatWouldOutliveTheLeaseIsNotStartedOnTheNode(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	ctx := context.Background()
	_, err := l.Slurm(ctx, "scontrol", "update", "nodename=alpha-g2-0", "state=power_up")
	require.NoError(t, err)
	await(t, 60*time.Second, "the node to be up", func() bool { return nodeState(t, l, "alpha-g2-0") == "IDLE+CLOUD" })
	vm, _ := state(t, l).Instance("alpha-g2-0")
	await(t, 30*time.Second, "a reservation from the end of its lease", func() bool {
		all, err := l.Slurm(ctx, "scontrol", "show", "reservation", "-o")
		return err == nil && strings.Contains(all, "ReservationName=slurmflex-alpha-") && strings.Contains(all, "Nodes=alpha-g2-0 ") &&
			strings.Contains(all, "StartTime="+vm.Terminates.Truncate(time.Minute).Local().Format("2006-01-02T15:04:05"))
	})
	long := submit(t, l, "-p", "open", "-w", "alpha-g2-0", "--time=61")
	short := submit(t, l, "-p", "open", "-w", "alpha-g2-0", "--time=10")
	awaitCompleted(t, l, short)
	assert.Equal(t, "PENDING", jobField(t, l, long, "JobState"))
	_, err = l.Slurm(ctx, "scancel", long)
	require.NoError(t, err)
	_, err = l.Slurm(ctx, "scontrol", "update", "nodename=alpha-g2-0", "state=power_down_force")
	require.NoError(t, err)
	awaitNothingLeft(t, l)
	await(t, 20*time.Second, "the reservation to go", func() bool {
		all, err := l.Slurm(ctx, "scontrol", "show", "reservation", "-o")
		return err == nil && !strings.Contains(all, "slurmflex-alpha-")
	})
}

func TestAWaitOutlastsResumeTimeoutAndItsOwnerIsTold(t *testing.T) {
	for name, daemon := range map[string]bool{"with a daemon": true, "with cron's sync alone": false} {
		t.Run(name, func(t *testing.T) {
			l := cluster(t, lab.Options{Daemon: daemon, ResumeTimeout: 45})
			ctx := context.Background()
			shut(t, l)
			id := submit(t, l, "-p", "train", "-N2", "--time=15")
			for begun := time.Now(); time.Since(begun) < 80*time.Second; time.Sleep(5 * time.Second) {
				if !daemon {
					_, err := l.Flex(ctx, "sync")
					require.NoError(t, err)
				}
			}
			assert.Regexp(t, `^flex-start: waiting 1m for 2 × a3-megagpu-8g for 00:15:00; last attempt: ZONE_RESOURCE_POOL_EXHAUSTED`,
				jobField(t, l, id, "AdminComment"))
			require.NoError(t, l.Tell(ctx, "capacity", map[string]any{"zone": "", "machineType": "", "count": 8}))
			awaitCompleted(t, l, id)
			assert.Equal(t, "0", jobField(t, l, id, "Restarts"))
			if !daemon {
				_, err := l.Flex(ctx, "sync")
				require.NoError(t, err)
			}
			awaitNothingLeft(t, l)
		})
	}
}

func TestNodesThatDidNotComeInTimeAreFreeAgainAndTheirRequestIsWithdrawn(t *testing.T) {
	l := cluster(t, lab.Options{ResumeTimeout: 12})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	await(t, 60*time.Second, "the job to be requeued", func() bool { return jobField(t, l, id, "Restarts") == "1" })
	_, err := l.Slurm(context.Background(), "scancel", id)
	require.NoError(t, err)
	awaitNothingLeft(t, l)
}

func TestAJobWhoseRequestCanNeverSucceedIsHeldAndToldWhy(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	await(t, 30*time.Second, "the request to be accepted", func() bool {
		return awaitRequest(t, l, "alpha-a3-job-"+id).State == "ACCEPTED"
	})
	require.NoError(t, l.Tell(context.Background(), "fail", map[string]any{
		"group": "alpha-a3-job-" + id, "request": "a1", "code": "CONDITION_NOT_MET", "message": "Constraint constraints/compute.vmExternalIpAccess violated.",
	}))
	await(t, 60*time.Second, "the job to be held", func() bool { return jobField(t, l, id, "Reason") == "JobHeldAdmin" })
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "vmExternalIpAccess")
	_, err := l.Slurm(context.Background(), "scancel", id)
	require.NoError(t, err)
	awaitNothingLeft(t, l)
}

func TestAJobThatWaitsTooLongIsDealtWithAsConfigured(t *testing.T) {
	for then, held := range map[string]string{"requeue": "BeginTime", "hold": "JobHeldAdmin", "cancel": ""} {
		t.Run(then, func(t *testing.T) {
			l := cluster(t, lab.Options{Daemon: true, FlexKeys: "provision_timeout: 10, on_provision_timeout: " + then})
			shut(t, l)
			id := submit(t, l, "-p", "train", "-N2", "--time=15")
			awaitRequest(t, l, "alpha-a3-job-"+id)
			if then == "cancel" {
				await(t, 60*time.Second, "the job to be cancelled", func() bool { return jobField(t, l, id, "JobState") == "CANCELLED" })
			} else {
				await(t, 60*time.Second, "the job to be back in the queue", func() bool { return jobField(t, l, id, "Reason") == held })
				_, err := l.Slurm(context.Background(), "scancel", id)
				require.NoError(t, err)
			}
			awaitNothingLeft(t, l)
		})
	}
}

func TestTheLegacyPathMakesInstancesWithoutAGroup(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "use_bulk_insert: true"})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	await(t, 60*time.Second, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	assert.Empty(t, state(t, l).Groups)
	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)
}

func TestNodeByNodeEachNodeIsAskedForByItself(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "provisioning: node_by_node"})
	id := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	for _, group := range []string{"alpha-a3-node-0", "alpha-a3-node-1"} {
		assert.Len(t, awaitRequest(t, l, group).Instances, 1)
	}
	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)
}

func TestNodesThatNeverRegisterAreGivenBackAndTheirNodesetIsBlocked(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "boot_timeout: 5, boot_failures: 1"})
	require.NoError(t, os.WriteFile(filepath.Join(l.Dir, "bin/boot"), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	id := submit(t, l, "-p", "train", "-N1", "--time=15")
	await(t, 60*time.Second, "the job to be requeued", func() bool { return jobField(t, l, id, "Restarts") == "1" })
	await(t, 60*time.Second, "the machine to be gone", func() bool { return len(state(t, l).Instances) == 0 })
	next := submit(t, l, "-p", "train", "-N1", "--time=15")
	await(t, 60*time.Second, "the next job to be told", func() bool {
		return strings.Contains(jobField(t, l, next, "AdminComment"), "slurmflex unblock a3")
	})
	_, err := l.Flex(context.Background(), "unblock", "a3")
	require.NoError(t, err)
	awaitRequest(t, l, "alpha-a3-job-"+next)
	_, err = l.Slurm(context.Background(), "scancel", id, next)
	require.NoError(t, err)
	awaitNothingLeft(t, l)
}

func TestGCCollectsWhatACancelledJobHasLeft(t *testing.T) {
	l := cluster(t, lab.Options{NoHooks: true})
	ctx := context.Background()
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	await(t, 30*time.Second, "the nodes to power up", func() bool { return jobField(t, l, id, "JobState") == "CONFIGURING" })
	await(t, 30*time.Second, "sync to ask for them", func() bool {
		_, err := l.Flex(ctx, "sync")
		return err == nil && len(state(t, l).Groups) == 1
	})
	_, err := l.Slurm(ctx, "scancel", id)
	require.NoError(t, err)
	out, err := l.Flex(ctx, "gc", "--dry-run")
	require.NoError(t, err)
	assert.Contains(t, out, "cancel request alpha-a3-job-"+id+"/a1\n    because no job wants node")
	assert.Len(t, state(t, l).Groups, 1, "a dry run changes nothing")
	await(t, 30*time.Second, "nothing to be left in the cloud", func() bool {
		_, err := l.Flex(ctx, "gc")
		return err == nil && len(state(t, l).Groups) == 0
	})
}

func TestOnAMachineThatIsGoneTheJobIsRequeuedAndNothingIsLeft(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	id := submit(t, l, "-p", "train", "-N2", "--time=15", "--begin=now")
	await(t, 60*time.Second, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	await(t, 60*time.Second, "the nodes to be up", func() bool {
		return !strings.Contains(nodeState(t, l, state(t, l).Instances[0].Name), "POWERING_UP")
	})
	require.NoError(t, l.Tell(context.Background(), "vms/"+state(t, l).Instances[0].Name+"/delete", nil))
	_, err := l.Slurm(context.Background(), "scancel", id)
	require.NoError(t, err)
	awaitNothingLeft(t, l)
}

// shut leaves no capacity.
func shut(t *testing.T, l *lab.Lab) {
	t.Helper()
	require.NoError(t, l.Tell(context.Background(), "capacity", map[string]any{"zone": "", "machineType": "", "count": 0}))
}

// jobField is what scontrol show job prints for a key: to the next key.
func jobField(t *testing.T, l *lab.Lab, id, key string) string {
	t.Helper()
	out, err := l.Slurm(context.Background(), "scontrol", "show", "job", id, "-o")
	require.NoError(t, err)
	found := regexp.MustCompile(` ` + key + `=(.*?)(?: [A-Z][A-Za-z_/:]*=|\s*$)`).FindStringSubmatch(out)
	if found == nil {
		return ""
	}
	return found[1]
}
