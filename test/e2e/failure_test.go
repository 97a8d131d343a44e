//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestAJobWhoseRequestCanNeverSucceedIsHeldAndToldWhy(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	fail(t, l, "alpha-a3-job-"+id, "a1", "CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated.")
	awaitJob(t, l, time.Minute, id, "Reason", "JobHeldAdmin")
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "vmExternalIpAccess")
	cancelForGood(t, l, id)
}

func TestAfterAFailureForCapacityTheNextAttemptComesAMinuteLater(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	group := "alpha-a3-job-" + id
	fail(t, l, group, "a1", "RESOURCE_POOL_EXHAUSTED", "The zone does not have enough resources available.")
	awaitTold(t, l, 30*time.Second, id, `attempt 1 failed .*enough resources`)
	assert.Equal(t, "CONFIGURING", jobField(t, l, id, "JobState"), "it keeps its nodes meanwhile")
	second := awaitRequestState(t, l, group, "a2", "ACCEPTED")
	first := awaitRequestState(t, l, group, "a1", "FAILED")
	assert.GreaterOrEqual(t, second.Created.Sub(first.Created), time.Minute)
	capacity(t, l, "", 2)
	awaitDoneAtOnce(t, l, id)
}

func TestAJobWhoseAttemptsAreUsedUpIsRequeuedAlsoWhenTheDaemonHasRestarted(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "max_attempts: 1"})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	group := "alpha-a3-job-" + id
	fail(t, l, group, "a1", "RESOURCE_POOL_EXHAUSTED", "The zone does not have enough resources available.")
	awaitJob(t, l, time.Minute, id, "Restarts", "1")
	require.NoError(t, l.StopDaemon())
	require.NoError(t, l.StartDaemon(context.Background()))
	awaitJob(t, l, time.Minute, id, "Reason", "BeginTime")
	update(t, l, "jobid="+id, "starttime=now")
	second := awaitRequestState(t, l, group, "a2", "ACCEPTED")
	first := awaitRequestState(t, l, group, "a1", "FAILED")
	assert.GreaterOrEqual(t, second.Created.Sub(first.Created), time.Minute, "the job's next attempt is not sooner for that")
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"))
	cancelForGood(t, l, id)
}

func TestAJobWhoseNodesCannotBeProvisionedByFlexStartIsHeldWithTheFixAndNothingIsMade(t *testing.T) {
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
		awaitJob(t, l, time.Minute, jobs[set], "Reason", "JobHeldAdmin")
		assert.Regexp(t, fix, jobField(t, l, jobs[set], "AdminComment"))
		cancel(t, l, jobs[set])
	}
	awaitNothingLeft(t, l)
	assert.Empty(t, calls(t, l, "regionInstanceGroupManagers.insert", "resourcePolicies.insert", "regionInstances.bulkInsert"))
}

func TestTheLegacyPathMakesInstancesWithoutAGroup(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "use_bulk_insert: true"})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	await(t, 60*time.Second, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	assert.Empty(t, state(t, l).Groups)
	awaitDone(t, l, id)
}

func TestTheLegacyPathShowsOfAStockoutAndTriesAgain(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "use_bulk_insert: true"})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitTold(t, l, time.Minute, id, `attempt 1 failed.*resources`)
	assert.Equal(t, "CONFIGURING", jobField(t, l, id, "JobState"))
	capacity(t, l, "", 2)
	await(t, 100*time.Second, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	awaitCompleted(t, l, id)
	assert.Equal(t, "0", jobField(t, l, id, "Restarts"))
	assert.Empty(t, state(t, l).Groups)
	awaitNothingLeft(t, l)
}
