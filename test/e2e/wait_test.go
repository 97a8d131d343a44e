//go:build e2e

package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestWaitOutlastsResumeTimeoutAndNotifiesTheOwner(t *testing.T) {
	t.Parallel()
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
			assert.Regexp(t, `^flex-start: waiting since [0-9TZ:-]+ for 2 × a3-megagpu-8g for 00:15:00; last attempt: no capacity`,
				jobField(t, l, id, "AdminComment"))
			capacity(t, l, "", 8)
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

func TestLateNodesAreFreedAndTheirRequestIsCancelled(t *testing.T) {
	l := cluster(t, lab.Options{ResumeTimeout: 12})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	awaitJob(t, l, 2*time.Minute, id, "Restarts", "1")
	cancelForGood(t, l, id)
}

// Slurm itself ends a job at its deadline only while the job has no nodes.
func TestWaitingJobThatMissesItsDeadlineEnds(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=10", "--deadline=now+11minutes")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	awaitJob(t, l, 5*time.Minute, id, "JobState", "DEADLINE")
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "(--deadline ")
	awaitNothingLeft(t, l)
}

func TestJobCommentShortensItsWait(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "provision_timeout: 3600"})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15", "--comment=run 3, slurmflex:wait=10s")
	awaitJob(t, l, time.Minute, id, "Reason", "JobHeldAdmin")
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "(slurmflex:wait 00:00:10)")
	cancelForGood(t, l, id)

	ended := submit(t, l, "-p", "train", "-N2", "--time=15", "--comment=slurmflex:wait=10s,cancel")
	awaitJob(t, l, time.Minute, ended, "JobState", "CANCELLED")
	awaitNoCost(t, l)
}

func TestProvisionTimeoutActsAsConfigured(t *testing.T) {
	t.Parallel()
	for then, held := range map[string]string{"requeue": "BeginTime", "hold": "JobHeldAdmin", "cancel": ""} {
		t.Run(then, func(t *testing.T) {
			l := cluster(t, lab.Options{Daemon: true, Configuring: then == "requeue", FlexKeys: "provision_timeout: 10, on_provision_timeout: " + then})
			shut(t, l)
			id := submit(t, l, "-p", "train", "-N2", "--time=15")
			awaitRequest(t, l, "alpha-a3-job-"+id)
			if then == "cancel" {
				awaitJob(t, l, 2*time.Minute, id, "JobState", "CANCELLED")
			} else {
				awaitJob(t, l, 2*time.Minute, id, "Reason", held)
				cancel(t, l, id)
			}
			awaitNothingLeft(t, l)
		})
	}
}

func TestJobsQueueForRequestsByPriority(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Keys: "max_active_requests: 1"})
	shut(t, l)
	awaitOnly := func(id string) {
		t.Helper()
		await(t, time.Minute, "the request of job "+id, func() bool {
			live := liveRequests(state(t, l))
			require.LessOrEqual(t, len(live), 1, "max_active_requests")
			return slices.Equal(live, []string{"alpha-a3-job-" + id + "/a1"})
		})
	}
	first := submit(t, l, "-p", "train", "-N1", "--time=15", "--priority=10")
	awaitOnly(first)
	low := submit(t, l, "-p", "train", "-N1", "--time=15", "--priority=100")
	awaitTold(t, l, time.Minute, low, `place 1 `)
	high := submit(t, l, "-p", "train", "-N1", "--time=15", "--priority=1000")
	awaitTold(t, l, time.Minute, high, `place 1 `)
	awaitTold(t, l, time.Minute, low, `place 2 `)
	cancel(t, l, first)
	awaitOnly(high)
	awaitTold(t, l, time.Minute, low, `place 1 `)
	cancel(t, l, high)
	awaitOnly(low)
	cancelForGood(t, l, low)
}

const expedited = "--requeue=expedite"

// expedite returns the option of jobs that are to be requeued: expedited, if Slurm has it.
func expedite(t *testing.T, l *lab.Lab) string {
	t.Helper()
	if !l.Version.AtLeast(25, 11) {
		return "--requeue"
	}
	conf := readFile(l.Conf())
	require.Contains(t, conf, "=idle_on_node_suspend,")
	conf = strings.Replace(conf, "=idle_on_node_suspend,", "=enable_expedited_requeue,idle_on_node_suspend,", 1)
	require.NoError(t, os.WriteFile(l.Conf(), []byte(conf), 0o644))
	reconfigure(t, l)
	return expedited
}

// Slurm 25.11 and later restart a job with --requeue=expedite immediately.
func TestExpeditedJobWaitsForItsNextAttempt(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Configuring: true, FlexKeys: "max_attempts: 1"})
	shut(t, l)
	requeue, state := expedite(t, l), "PENDING"
	if requeue == expedited {
		state = "CONFIGURING"
	}
	id := submit(t, l, "-p", "train", "-N2", "--time=15", requeue)
	fail(t, l, "alpha-a3-job-"+id, "a1", "QUEUING_INFEASIBLE_NO_CAPACITY", "none")
	awaitJob(t, l, 2*time.Minute, id, "Restarts", "1")
	awaitJob(t, l, time.Minute, id, "JobState", state)
	awaitPasses(t, l, 3)
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"), "it is not returned again for the same failure")
	assert.Len(t, calls(t, l, "regionInstanceGroupManagerResizeRequests.insert"), 1, "nor asked for before its next attempt")

	capacity(t, l, "", 8)
	if state == "PENDING" {
		update(t, l, "jobid="+id, "starttime=now")
	}
	awaitCompleted(t, l, id)
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"))
	awaitNothingLeft(t, l)
}

func TestJobWithAPermanentErrorIsHeldAndShowsWhy(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	fail(t, l, "alpha-a3-job-"+id, "a1", "CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated.")
	awaitJob(t, l, 2*time.Minute, id, "Reason", "JobHeldAdmin")
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "vmExternalIpAccess")
	cancelForGood(t, l, id)
}

func TestJobOnNodesUnfitForFlexStartIsHeldWithTheFix(t *testing.T) {
	templates := map[string]func(*compute.InstanceProperties){
		"standard": func(p *compute.InstanceProperties) { p.Scheduling.ProvisioningModel = "STANDARD" },
		"spot":     func(p *compute.InstanceProperties) { p.Scheduling.ProvisioningModel = "SPOT" },
		"stop":     func(p *compute.InstanceProperties) { p.Scheduling.InstanceTerminationAction = "STOP" },
		"reserved": func(p *compute.InstanceProperties) {
			p.ReservationAffinity = &compute.ReservationAffinity{ConsumeReservationType: "ANY_RESERVATION"}
		},
	}
	fixes := map[string]string{
		"standard": `instanceTemplates/standard .*provisioningModel.* with FLEX_START`,
		"spot":     `instanceTemplates/spot .*provisioningModel.* with FLEX_START`,
		"stop":     `instanceTemplates/stop .*instanceTerminationAction.* with DELETE`,
		"reserved": `instanceTemplates/reserved .*consumeReservationType.* with NO_RESERVATION`,
		"apart":    `nodeset apart.*enable_placement.* g2-standard-4; set it to false`,
	}
	sets := []lab.NodeSet{{Name: "apart", Machine: "g2-standard-4", Size: 2, Keys: []string{"enable_placement: true"}, FlexKeys: "use_job_duration: true"}}
	for name := range templates {
		sets = append(sets, lab.NodeSet{Name: name, Size: 2, FlexKeys: "use_job_duration: true"})
	}
	l := cluster(t, lab.Options{NodeSets: sets})
	for name, spoil := range templates {
		template := fakegce.FlexTemplate(name, "g2-standard-4")
		spoil(template.Properties)
		create(t, l, "instanceTemplates", template)
	}
	require.NoError(t, l.StartDaemon(context.Background()))
	jobs := map[string]string{}
	for set := range fixes {
		jobs[set] = submit(t, l, "-p", set, "-N1", "--time=15")
	}
	for set, fix := range fixes {
		awaitJob(t, l, 2*time.Minute, jobs[set], "Reason", "JobHeldAdmin")
		assert.Regexp(t, fix, jobField(t, l, jobs[set], "AdminComment"))
		cancel(t, l, jobs[set])
	}
	awaitNothingLeft(t, l)
	assert.Empty(t, calls(t, l, "regionInstanceGroupManagers.insert", "resourcePolicies.insert", "regionInstances.bulkInsert"))
}

func TestBulkInsertCreatesInstancesWithoutAGroup(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "use_bulk_insert: true"})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	await(t, 2*time.Minute, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	assert.Empty(t, state(t, l).Groups)
	awaitDone(t, l, id)
}
