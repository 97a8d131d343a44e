//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// onEach lists the scenarios that make test runs on the oldest and on the newest Slurm: those whose
// outcome depends on Slurm, one for each kind of job and each class of faults.
var onEach = strings.Fields(`
	TestAccountingKeepsAJobsWaitAndCost
	TestAnyUserCanReadWhyAtEachStageOfAJob
	TestConfigCheckFindsMistakesInARealSlurm
	TestCoverIsReplacedWhenSlurmctldRestarts
	TestDownDeletesTheDoorsOfPendingJobs
	TestExclusiveJobRunsWithoutADaemon
	TestHeterogeneousJobsFirstComponentStartsLast
	TestIdleStaticNodeIsRenewedEarly
	TestJobLongerThanTheLeaseIsNotStarted
	TestJobOfAnUnknownUserBuysNoMachines
	TestJobsThatWaitForATimeOrAJobBuyNoMachines
	TestJobThatAlsoNeedsStaticOrReservedNodesStarts
	TestLeaseFollowsTheTimeLimitOrIsTheMaximum
	TestMachinesThatFailTheirCheckAreReplacedBeforeTheJobStarts
	TestManualPowerUpAndPowerDownOfANode
	TestModelJobsGetColdNodes
	TestModelJobStartsInItsDoor
	TestNonWaitingCommandsFailBehindTheCover
	TestOnlyOneOfTwoJobsForALicenseGetsMachines
	TestPendingJobsStartWhenTheirMachinesAreUp
	TestPendingJobStartsInItsFirstCompletePartition
	TestPendingJobUsesAMachineThatBecomesIdle
	TestSlurmConfFromSlurmflexIsValidAndRunsAJob
	TestTasksWaitEachForItself
	TestUnhandledResumeKeepsTheNodesOfARunningJob
	TestUnneededRequestIsCancelled
	TestUserTextDecidesNothing
	TestWarmMachineServesNextJobAndIsDeletedAfterKeepIdle
`)

// onOldest lists the scenarios that make test runs on the oldest Slurm alone: those of slurmflex and
// Compute, in which Slurm behaves the same on all versions. make nightly runs all scenarios on all
// versions.
var onOldest = strings.Fields(`
	TestBulkInsertCreatesInstancesWithoutAGroup
	TestDiagDescribesARunningCluster
	TestDrainedNodesetDoesNotStopTheOthers
	TestFederatedCredentialsRunAJob
	TestForeignGroupsAreLeftAlone
	TestJobOnGKEOutlivesItsGateway
	TestJobCommentShortensItsWait
	TestJobOver1000NodesSplitsItsRequest
	TestJobSubmitLuaRejectsImpossibleJobsAndWarns
	TestJobWaitsOnGKEAndInComputeAtOnce
	TestJobUsesMoreExpensiveMachinesAfterDearerAfter
	TestJobThatLosesAMachineIsRerunOnTheSurvivors
	TestLimitOfGPUHoursHoldsRequestsBack
	TestNextJobOnGKERunsOnTheSamePod
	TestNodeByNodeRequestsEachNodeSeparately
	TestOtherNodesetsAreDelegated
	TestSecondPlaceIsKeptUntilItsJobRuns
	TestTrialWithARunningDaemonKeepsJobsAndCleansUp
`)

// choose skips a scenario that only make nightly runs on this Slurm. A scenario that is named on the
// command line of scripts/e2e runs always.
func choose(t *testing.T) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if os.Getenv("E2E_ALL") != "" || slices.Contains(onEach, name) {
		return
	}
	v, err := lab.SlurmVersion(t.Context())
	require.NoError(t, err)
	if !slices.Contains(onOldest, name) || v.AtLeast(23, 2) {
		skipped.Add(1)
		t.Skip("make nightly runs it on this Slurm; E2E_ALL=1 here, too")
	}
}

func TestChosenScenariosExist(t *testing.T) {
	files := must.Get(filepath.Glob("test/e2e/*_test.go"))
	if len(files) == 0 {
		t.Skip("scripts/e2e runs without the sources")
	}
	known := map[string]bool{}
	for _, file := range files {
		text := must.Text(file)
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(text, -1) {
			known[found[1]] = true
		}
	}
	for _, name := range slices.Concat(onEach, onOldest) {
		assert.True(t, known[name], name)
	}
}
