package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// keeping returns alpha's configuration with keep_idle: 1800 for nodeset fix, which has leases of
// an hour.
func keeping() *config.Config {
	cfg := alphaCopy()
	cfg.FlexSetOf("alpha-fix-0").Flex.KeepIdle = 30 * time.Minute
	return cfg
}

// idleFor adds nodes that a job left that long ago, with machines of the job's group and with the
// given rest of their leases.
func idleFor(list, state string, idle, left time.Duration) part {
	return and(nodes(list, state), onNodes(list, func(n *slurm.Node) { n.LastBusyTime = noon.Add(-idle) }),
		group("alpha-fix-job-7", forJob("fix", 7), request("a1", mig.Succeeded, list, time.Hour)), leased(list, "alpha-fix-job-7", idle+time.Minute, left))
}

const idleUp = "IDLE+CLOUD"

func TestIdleMachineIsKeptForKeepIdle(t *testing.T) {
	in := situations(t, keeping())
	in("it is kept with its group after its job has left the queue", seen(idleFor("alpha-fix-[0-1]", idleUp, 29*time.Minute, time.Hour)))
	in("it is powered down after keep_idle", seen(idleFor("alpha-fix-[0-1]", idleUp, 30*time.Minute, time.Hour)), "set nodes alpha-fix-[0-1] power_down")
	in("it is powered down when its lease is too short for another job", seen(idleFor("alpha-fix-0", idleUp, time.Minute, 10*time.Minute)),
		"set nodes alpha-fix-0 power_down")
	in("it is kept until then", seen(idleFor("alpha-fix-0", idleUp, time.Minute, 11*time.Minute)))
	in("a marked node is not marked again", seen(idleFor("alpha-fix-0", "IDLE+CLOUD+POWER_DOWN", time.Hour, time.Hour)))
	in("a node that an admin has drained is left alone", seen(idleFor("alpha-fix-0", "IDLE+CLOUD+DRAIN", time.Hour, time.Hour)))
	in("a node without a LastBusyTime is left to Slurm", seen(idleFor("alpha-fix-0", idleUp, time.Hour, time.Hour),
		onNodes("alpha-fix-0", func(n *slurm.Node) { n.LastBusyTime = time.Time{} })))
	in("a node in an unread region is left to Slurm", seen(idleFor("alpha-fix-0", idleUp, time.Hour, time.Hour), unseen("us-central1")))
}

func TestJobReleasesAWarmMachineAfterGangTimeout(t *testing.T) {
	given := func(ago time.Duration) scene.Snapshot {
		return seen(idleFor("alpha-fix-0", "ALLOCATED+CLOUD", 20*time.Minute, 40*time.Minute), nodes("alpha-fix-1", "ALLOCATED+CLOUD+POWERING_UP"),
			job(8, "train", "30:00", configured, "alpha-fix-[0-1]"), started(8, ago),
			group("alpha-fix-job-8", forJob("fix", 8), request("a1", mig.Accepted, "alpha-fix-1", time.Hour)))
	}
	assert.Empty(t, actions(planOf(keeping(), given(9*time.Minute))))
	assert.Subset(t, actions(planOf(keeping(), given(15*time.Minute))), []string{
		"return alpha-fix-1 to Slurm and requeue job 8: 1 node arrived at 11:45:00 but 1 other did not within gang_timeout 00:10:00",
		"set nodes alpha-fix-0 power_down",
	})
}
