//go:build e2e

package e2e

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// mixed is a cluster with job_submit.lua, whose partitions spot and demand have machines
// that come at once, and whose flex nodesets let a job go after a minute.
func mixed(t *testing.T) *lab.Lab {
	t.Helper()
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "fallback_after: 60", NodeSets: []lab.NodeSet{
		{Name: "spot", Machine: "a3-highgpu-8g", Size: 2, Capacity: "spot"},
		{Name: "demand", Machine: "a3-highgpu-8g", Size: 2, Capacity: "on_demand"},
	}})
	_, err := l.Flex(context.Background(), "config", "lua", "job_submit", "--output", luaFile(l))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(l.Conf(), []byte(readFile(l.Conf())+"\nJobSubmitPlugins=lua\n"), 0o644))
	reconfigure(t, l)
	return l
}

// modelCapacity gives each zone room for so many machines of a provisioning model.
func modelCapacity(t *testing.T, l *lab.Lab, model string, count int) {
	t.Helper()
	tell(t, l, "capacity", map[string]any{"zone": "", "machineType": "", "model": model, "count": count})
}

// Flex-start gives nothing, Spot has nothing, on-demand has machines.
func TestAJobGoesFromFlexStartBySpotToOnDemand(t *testing.T) {
	l := mixed(t)
	modelCapacity(t, l, "FLEX_START", 0)
	modelCapacity(t, l, "SPOT", 0)
	id := submit(t, l, "-p", "train,spot,demand", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	awaitJob(t, l, 3*time.Minute, id, "Partition", "demand")
	awaitCompleted(t, l, id)
	assert.Equal(t, "demand", jobField(t, l, id, "Partition"))
	assert.Regexp(t, `\[partitions train,spot,demand; moved to demand after .* in spot at `, jobField(t, l, id, "AdminComment"))
	awaitNothingLeft(t, l)
}

func TestAJobWhoseSpotMachinesArePreemptedRunsElsewhereByItsList(t *testing.T) {
	l := mixed(t)
	modelCapacity(t, l, "FLEX_START", 0)
	id := submitScript(t, l, "sleep 600", "-p", "spot,demand", "-N2", "--time=15")
	awaitJob(t, l, time.Minute, id, "JobState", "RUNNING")
	modelCapacity(t, l, "SPOT", 0)
	for _, node := range []string{"alpha-spot-0", "alpha-spot-1"} {
		tell(t, l, "vms/"+node+"/preempt", nil)
	}
	awaitJob(t, l, 4*time.Minute, id, "Partition", "demand") // Slurm begins a requeued job after two minutes
	awaitJob(t, l, time.Minute, id, "JobState", "RUNNING")
	// A pass may come between the two, and requeue the job. One that comes after the machines have stopped does not see why they are gone.
	assert.Regexp(t, `slurmflex_machines_lost_total{cause="(preempted|gone)",nodeset="spot"} [12]\n`, metrics(t, l))
	cancelForGood(t, l, id)
	awaitNothingLeft(t, l)
}

// Its flex-start requests can never succeed, and then its Spot machine is taken back.
func TestAJobThatIsTurnedAwayAnywhereGoesOnInItsList(t *testing.T) {
	l := mixed(t)
	modelCapacity(t, l, "FLEX_START", 0)
	id := submitScript(t, l, "sleep 600", "-p", "train,spot", "-N1", "--time=15")
	fail(t, l, "alpha-a3-job-"+id, "a1", "CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated.")
	awaitJob(t, l, time.Minute, id, "Partition", "spot")
	awaitJob(t, l, time.Minute, id, "JobState", "RUNNING")
	assert.Regexp(t, `\[partitions train,spot; moved to spot after \d+s in train at `, jobField(t, l, id, "AdminComment"))

	modelCapacity(t, l, "FLEX_START", 8)
	begun := time.Now()
	await(t, 2*time.Minute, "its move to be over for a while", func() bool { return time.Since(begun) > 70*time.Second })
	tell(t, l, "vms/alpha-spot-0/preempt", nil)
	awaitJob(t, l, 3*time.Minute, id, "Partition", "train") // the head of its list
	awaitJob(t, l, time.Minute, id, "JobState", "RUNNING")
	assert.Equal(t, "2", jobField(t, l, id, "Restarts"))
	cancelForGood(t, l, id)
	awaitNothingLeft(t, l)
}

func TestAStaticNodeGetsAnotherSpotMachineWhenItsOwnIsPreempted(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, NodeSets: []lab.NodeSet{
		{Name: "spot", Machine: "g2-standard-4", Size: 2, Capacity: "spot", Static: true, Shared: true},
	}})
	awaitUp(t, l, "alpha-spot-0")
	awaitUp(t, l, "alpha-spot-1")
	first, _ := state(t, l).Instance("alpha-spot-0")
	other, _ := state(t, l).Instance("alpha-spot-1")
	id := submitScript(t, l, "sleep 600", "-p", "spot", "-w", "alpha-spot-0", "--time=15")
	awaitJob(t, l, time.Minute, id, "JobState", "RUNNING")
	tell(t, l, "vms/alpha-spot-0/preempt", nil)
	awaitAnotherMachine(t, l, first)
	awaitJob(t, l, 4*time.Minute, id, "JobState", "RUNNING")
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"))
	left, _ := state(t, l).Instance("alpha-spot-1")
	assert.Equal(t, other.Created, left.Created, "the machine of the other node stays")
	assert.NotContains(t, ask(t, l, "scontrol", "-o", "show", "reservation"), "slurmflex-alpha", "there is no lease, and nothing rests")
	cancel(t, l, id)
}

func TestANodesetWithoutCapacityRestsSoThatJobsGoElsewhereAtOnce(t *testing.T) {
	const rest = "slurmflex-alpha.rest-spot"
	l := mixed(t)
	reservation := func() string { return ask(t, l, "scontrol", "-o", "show", "reservation") }
	modelCapacity(t, l, "SPOT", 0)
	first := submit(t, l, "-p", "spot,demand", "-N1", "--time=15")
	awaitJob(t, l, 3*time.Minute, first, "Partition", "demand")
	assert.Equal(t, "1", jobField(t, l, first, "Restarts"))
	await(t, time.Minute, "all its nodes to rest", func() bool {
		return strings.Contains(reservation(), rest) && strings.Contains(reservation(), "Nodes=alpha-spot-[0-1] ")
	})

	second := submit(t, l, "-p", "spot,demand", "-N1", "--time=15")
	awaitJob(t, l, time.Minute, second, "Partition", "demand")
	only := submit(t, l, "-p", "spot", "-N1", "--time=15")
	awaitWhy(t, l, only, `Nodeset spot is resting until .* because there was no capacity`)
	awaitCompleted(t, l, second)
	assert.Equal(t, "0", jobField(t, l, second, "Restarts"))

	modelCapacity(t, l, "SPOT", 2)
	awaitJob(t, l, 4*time.Minute, only, "JobState", "RUNNING") // it is let through in the middle of the rest
	await(t, time.Minute, "the rest to end", func() bool { return !strings.Contains(reservation(), rest) })
	awaitCompleted(t, l, only)
	awaitCompleted(t, l, first)
	awaitNothingLeft(t, l)
}
