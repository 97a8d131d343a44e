package chaos

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
)

// planted is a world in which a test itself breaks the invariants.
type planted struct {
	*world
	t *testing.T
	p *process
}

func plant(t *testing.T, run func(*planted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w, err := newWorld(ctx, 1)
		require.NoError(t, err)
		run(&planted{w, t, w.newProcess("daemon", primary)})
		cancel()
		w.processes.Wait()
		for _, dir := range w.lockDirs {
			require.NoError(t, os.RemoveAll(dir))
		}
	})
}

// group creates a group of slurmflex for a job, and requests machines.
func (p *planted) group(job uint32, machines ...string) {
	p.t.Helper()
	stamp := mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: "gang", Job: job}
	name := groupOf(job)
	require.NoError(p.t, found(p.cloud, name, stamp.String()))
	time.Sleep(time.Minute)
	if len(machines) > 0 {
		require.NoError(p.t, populate(p.cloud, name, "a1", machines))
		time.Sleep(10 * time.Minute)
	}
}

const spotNode = "alpha-spot-0"

// losesSpot starts job 7 on a Spot machine whose preemption a pass then sees, and checks for several minutes.
func (p *planted) losesSpot() {
	p.watch.look([]slurm.Node{{Name: spotNode, State: slurm.ParseState("ALLOCATED+CLOUD")}},
		[]slurm.Job{{ID: 7, ArrayID: 7, State: slurm.JobRunning, Nodes: []string{spotNode}}})
	p.machines.change(spotNode, func(one *machine) { one.left = time.Now() })
	time.Sleep(10 * time.Second)
	p.main.process = p.p
	p.check.sights(p.p, scene.Snapshot{Compute: scene.Compute{Instances: []mig.Instance{{Name: spotNode, Model: mig.Spot, Status: "STOPPING"}}}})
	p.faults.sick = map[goal]time.Time{}
	p.downedLater()
}

// downedLater checks for several minutes whether lost nodes are set DOWN.
func (p *planted) downedLater() {
	for range 8 {
		p.check.downed()
		time.Sleep(time.Minute)
	}
}

func groupOf(job uint32) string { return fmt.Sprintf("%s-gang-job-%d", cluster, job) }

// runs starts a job on nodes.
func (p *planted) runs(job uint32, nodes ...string) {
	j := slurm.Job{ID: job, ArrayID: job, State: slurm.JobRunning, Nodes: nodes}
	p.watch.look(nil, []slurm.Job{j})
	time.Sleep(10 * time.Second)
}

// waits makes a job wait for nodes.
func (p *planted) waits(job uint32, nodes ...string) {
	j := slurm.Job{ID: job, ArrayID: job, State: slurm.JobConfiguring, Nodes: nodes, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour}}
	p.watch.look(nil, []slurm.Job{j})
}

// is sets a node's state.
func (p *planted) is(node, state string) {
	p.watch.look([]slurm.Node{{Name: node, State: slurm.ParseState(state)}}, nil)
}

// deletes returns a call that deletes machines of a group.
func deletes(group string, machines ...string) apiCall {
	body := fmt.Sprintf(`{"instances":["zones/us-central1-a/instances/%s"]}`, strings.Join(machines, `","zones/us-central1-a/instances/`))
	return apiCall{kind: "delete instances", object: "regions/" + us + "/instanceGroupManagers/" + group + "/deleteInstances", body: []byte(body)}
}

func deletesGroup(group string) apiCall {
	return apiCall{kind: "delete group", object: "regions/" + us + "/instanceGroupManagers/" + group}
}

const node = "alpha-gang-0"

// rests brings every node to its state at rest, with machines for the static ones.
func (p *planted) rests() {
	p.t.Helper()
	var nodes []slurm.Node
	for _, name := range p.setup.slurm.Nodes {
		state := "IDLE+CLOUD+POWERED_DOWN"
		if p.static(name) {
			state = "IDLE+CLOUD"
		}
		nodes = append(nodes, slurm.Node{Name: name, State: slurm.ParseState(state)})
	}
	p.watch.look(nodes, nil)
	p.group(1, p.setup.slurm.SuspendExc...)
}

// step is one action in a planted world.
type step func(*planted)

// The steps below affect job 7 and the node.
func (p *planted) hasMachine() { p.group(7, node) }
func (p *planted) runsThere()  { p.runs(7, node) }
func (p *planted) waitsThere() { p.waits(7, node) }
func (p *planted) looks()      { p.check.pass(p.p) }
func (p *planted) outlives()   { p.check.resumeFailed([]string{node}) }

// outwaits makes the node wait for longer than its nodeset allows.
func (p *planted) outwaits() {
	for _, set := range p.config().FlexSets() {
		set.Flex.ProvisionTimeout = time.Hour
	}
	time.Sleep(time.Hour + 11*time.Minute)
	p.check.patient()
}

// isFull removes all capacity.
func (p *planted) isFull() { p.cloud.SetCapacity("", "", 0) }

// keptThere makes a job that has lost other machines keep the node's machine.
func (p *planted) keptThere() {
	p.t.Helper()
	p.setup.saves = true
	id, err := p.slurm.Submit(fakeslurm.JobSpec{Partition: "gang", Nodes: 2, Limit: time.Hour, Run: time.Minute, User: "user"})
	require.NoError(p.t, err)
	door := slurm.ReservationSpec{
		Name: memo.DoorReservation(cluster, fmt.Sprint(id), time.Now()), User: "user", Nodes: []string{node},
		Start: time.Now().Add(time.Hour), Purge: 5 * time.Minute,
	}
	require.NoError(p.t, p.slurm.CreateReservation(p.ctx, door))
	require.NoError(p.t, p.slurm.SetReservationOf(p.ctx, fmt.Sprint(id), door.Name))
	limit := slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour}
	p.watch.look(nil, []slurm.Job{{ID: id, ArrayID: id, State: slurm.JobPending, Priority: 1, Limit: limit}})
}

// idlesOn makes the node idle for so long that no job may keep it.
func (p *planted) idlesOn() {
	p.setup.saves, p.setup.keep = true, 0
	jobs, err := p.slurm.Jobs(p.ctx)
	require.NoError(p.t, err)
	p.watch.look([]slurm.Node{{Name: node, State: slurm.ParseState("IDLE+CLOUD"), LastBusyTime: time.Now()}}, jobs)
	time.Sleep(19 * time.Minute)
	p.check.idles()
}

// forces powers the node down.
func (p *planted) forces() {
	p.check.update(p.p, []string{node}, slurm.NodeChange{State: "power_down_force"})
}

// losesIt deletes the node's machine and then checks for several minutes.
func (p *planted) losesIt() {
	require.NoError(p.t, p.cloud.DeleteVM(node))
	p.downedLater()
}

// looksOften makes several passes, a minute apart.
func (p *planted) looksOften() {
	for range 5 {
		p.looks()
		time.Sleep(time.Minute)
	}
}

func calling(c apiCall) step { return func(p *planted) { p.check.before(p.p, c) } }

func lasting(d time.Duration) step { return func(*planted) { time.Sleep(d) } }

func shown(state string) step { return func(p *planted) { p.is(node, state) } }

func TestEachInvariantDetectsItsViolation(t *testing.T) {
	breaks := func(name string, want kind, says string, does ...step) {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				_, broken := p.check.first()
				require.False(t, broken)
				for _, do := range does {
					do(p)
				}
				p.check.after()
				v, broken := p.check.first()
				require.True(t, broken)
				assert.Equal(t, want, v.kind)
				assert.Contains(t, v.text, says)
			})
		})
	}
	machine, run, wait := (*planted).hasMachine, (*planted).runsThere, (*planted).waitsThere
	full, look, looks, forced := (*planted).isFull, (*planted).looks, (*planted).looksOften, (*planted).forces
	groups := "regions/" + us + "/instanceGroupManagers/"
	breaks("the machine of a running job is deleted", wrongKill, "daemon deletes machine alpha-gang-0 under running job 7",
		machine, run, shown("ALLOCATED+CLOUD+POWERING_DOWN"), // Slurm has requested it: the brake is another invariant
		run, calling(deletes(groupOf(7), node)))
	breaks("a node with a lost machine stays up", stall, "the machine of alpha-gang-0 is lost, and the node has not been set down for 4m0s",
		machine, run, shown("ALLOCATED+CLOUD"), run, (*planted).losesIt)
	breaks("the group of a running job is deleted", wrongKill, "daemon deletes machine alpha-gang-0 under running job 7",
		machine, run, calling(deletesGroup(groupOf(7))))
	breaks("the node of a running job is powered down", wrongKill, "sets alpha-gang-0 power_down_force under running job 7",
		machine, run, forced)
	breaks("a running job is cancelled", wrongKill, "job 7 is cancelled while it runs",
		run, func(p *planted) { p.check.cancel(7) })
	breaks("a job starts that cannot finish before a lease ends", lostJob, "job 7 starts with a time limit until",
		machine, look, func(p *planted) {
			job := slurm.Job{ID: 7, Nodes: []string{node}, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: 7 * 24 * time.Hour}}
			p.check.start(life{Job: job, given: p.begun})
		})
	breaks("more machines are deleted than the brake allows", wrongKill, "machines in one pass that Slurm did not ask to delete",
		func(p *planted) {
			var names []string
			for i := range p.p.reconciler.Config.Options.MaxDeletions + 1 {
				names = append(names, fmt.Sprintf("alpha-x-%d", i))
			}
			p.group(7, names...)
			p.check.before(p.p, deletes(groupOf(7), names...))
		})
	breaks("a group of a cluster with a similar name is deleted", foreignChange,
		"daemon: delete group "+groups+"alpha-b-gang-job-1, which is a neighbour's", calling(deletesGroup("alpha-b-gang-job-1")))
	breaks("another cluster's reservation is changed", foreignChange,
		"reservation slurmflex-alpha2-972691200, which is not ours, is changed",
		func(p *planted) { p.check.reservation(foreignReservation) })
	breaks("two requests ask for one node", overScale,
		"requests alpha-gang-job-7/a1 and alpha-gang-job-8/a1 both ask for alpha-gang-0",
		full, machine, func(p *planted) { p.group(8, node) })
	breaks("a node has two machines", overScale, "node alpha-gang-0 has two machines, in us-central1-a and us-central1-b",
		func(p *planted) {
			p.cloud.SetCapacity("us-central1-b", "", 0)
			p.group(7, node)
			p.cloud.SetCapacity("us-central1-b", "", -1)
			p.cloud.SetCapacity("us-central1-a", "", 0)
			p.group(8, node)
		})
	breaks("more requests live than may", overScale, "requests live in us-central1, and", full, func(p *planted) {
		for i := range p.mostActive() + 1 {
			p.group(uint32(i+7), fmt.Sprintf("alpha-gang-%d", i))
		}
	})
	breaks("a cancelled job's request waits on", orphan,
		"request alpha-gang-job-7/a1 waits still, 3 passes after its job has gone", full, machine, looks)
	breaks("a cancelled job's node keeps powering up", orphan,
		"node alpha-gang-0 waits still, 3 passes after its job has gone", shown("IDLE+CLOUD+POWERING_UP+NOT_RESPONDING"), looks)
	breaks("a node that waits for capacity meets ResumeTimeout", lostJob,
		"node alpha-gang-0 has met ResumeTimeout while it waited for its machine", lasting(24*time.Hour), (*planted).outlives)
	breaks("a stranger's machine is deleted", foreignChange,
		"daemon: delete instance zones/us-central1-a/instances/alpha-gang-0, which is a stranger's",
		func(p *planted) { squat(node, byHand, time.Hour).strike(p.world, 1) }, lasting(time.Minute),
		calling(apiCall{kind: "delete instance", object: "zones/us-central1-a/instances/" + node}))
	breaks("the request of a waiting job is cancelled", lostJob,
		"daemon cancels request alpha-gang-job-7/a1, while job 7 waits for its nodes", wait, full, machine,
		calling(apiCall{kind: "cancel request", object: groups + groupOf(7) + "/resizeRequests/a1/cancel"}))
	breaks("a job loses its nodes while its request may wait", lostJob,
		"job 7 loses its nodes 11m0s after it was given them, while its request waits and may wait for 0s",
		wait, full, machine, forced)
	breaks("a request waits for longer than provision_timeout", lostJob, "job 7 waits for machines for", full, machine, wait,
		(*planted).outwaits)
	breaks("a machine that boots is taken for one that does not come up", lostJob,
		"alpha-gang-0 is taken for one that does not come up", machine, func(p *planted) {
			record := "slurmflex: 1 boot"
			st, _ := p.state().Instance(node)
			p.check.bootGivenUp(st, slurm.NodeChange{State: "power_down_force", Extra: &record}, 10*time.Hour)
		})
	breaks("no pass is made", stall, "no pass has been made for", func(p *planted) {
		p.main.start()
		p.check.passed()
		p.rows.set("squeue", &spoil{"squeue", rubbish, 0, time.Hour})
		time.Sleep(longest + time.Minute)
		p.check.saw = p.begun
		p.faults.sick[program] = p.begun
		p.check.stalled()
	})
	kept := (*planted).keptThere
	breaks("a machine is deleted that a gang keeps", wrongKill, "daemon deletes machine alpha-gang-0, which job 1 keeps after a loss",
		machine, kept, calling(deletes(groupOf(7), node)))
	breaks("a node is powered down that a gang keeps", wrongKill, "daemon powers down alpha-gang-0, which job 1 keeps after a loss",
		machine, kept, forced)
	breaks("a machine idles that no gang keeps", orphan, "alpha-gang-0 has been idle for more than 18m0s, and no job keeps it",
		machine, (*planted).idlesOn)
	breaks("a Spot machine is gone that was seen to be preempted, and its node stays up", stall,
		"the machine of alpha-spot-0 is lost, and the node has not been set down for 4m0s", (*planted).losesSpot)
	breaks("a job runs in a partition that it was not submitted to", lostJob, "job 1 starts on alpha-gang-0, but was submitted to spot,mine",
		func(p *planted) {
			submit{partition: "spot", also: []string{"mine"}, nodes: 1, limit: time.Hour, run: time.Minute}.strike(p.world, 1)
			p.check.elsewhere(life{Job: slurm.Job{ID: 1, Nodes: []string{node}}})
		})
	breaks("a job waits without a stated reason", lostJob, "job 7 waits for alpha-gang-0 for no stated reason",
		func(p *planted) {
			waiting := scene.Slurm{
				Nodes: []slurm.Node{{Name: node, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")}},
				Jobs:  []slurm.Job{{ID: 7, State: slurm.JobConfiguring, Nodes: []string{node}}},
			}
			p.check.named(p.config(), scene.Of(p.config(), scene.Snapshot{Slurm: waiting}), plan.Plan{})
		})
	breaks("a job ends without having run", lostJob, "job 1 of gang ended as CANCELLED and should have run", func(p *planted) {
		submit{job: 1, partition: "gang", nodes: 1, limit: time.Hour, run: time.Minute}.strike(p.world, 1)
		require.True(p.t, p.step())
		require.NoError(p.t, p.slurm.Cancel(p.jobs[1]))
		require.True(p.t, p.step())
		p.judge(toll{}, 0)
	})
	breaks("a neighbour's group has changed", foreignChange, "group alpha2-gang-job-1 has size 3, not 2", func(p *planted) {
		require.NoError(p.t, populate(p.cloud, "alpha2-gang-job-1", "a2", []string{"alpha2-gang-2"}))
		time.Sleep(10 * time.Minute)
		p.judge(toll{}, 0)
	})
	const static = "alpha-base-0"
	leaves := func(name string, want kind, says string, does step) {
		breaks(name+" is left", want, says, (*planted).rests, does, func(p *planted) {
			left, _ := p.left()
			p.check.fail(left.kind, "%s", left.text)
		})
	}
	leaves("a job that waits", lostJob, `job 7 of gang is PENDING (Resources) still, on ""`, func(p *planted) {
		p.watch.look(nil, []slurm.Job{{ID: 7, Partition: "gang", State: slurm.JobPending, Reason: "Resources"}})
	})
	leaves("a dynamic node that is up", lostJob, "node alpha-gang-0 is IDLE+CLOUD (), not IDLE+CLOUD+POWERED_DOWN", shown("IDLE+CLOUD"))
	leaves("a node's extra", lostJob, `node alpha-base-0 has the extra "slurmflex: 1 boots failed"`, func(p *planted) {
		p.watch.look([]slurm.Node{{Name: static, State: slurm.ParseState("IDLE+CLOUD"), Extra: "slurmflex: 1 boots failed"}}, nil)
	})
	leaves("a machine", orphan, "machine alpha-gang-0 (RUNNING) is left", machine)
	leaves("a group", orphan, "group alpha-gang-job-7 is left, and empty", func(p *planted) { p.group(7) })
	leaves("a request", orphan, "request alpha-gang-job-1/a2 is ACCEPTED still", func(p *planted) {
		p.isFull()
		require.NoError(p.t, populate(p.cloud, groupOf(1), "a2", []string{node}))
		time.Sleep(time.Minute)
	})
	leaves("a policy", orphan, "policy alpha-close-job-7 is left", func(p *planted) {
		require.NoError(p.t, post(p.cloud, "/regions/"+us+"/resourcePolicies", map[string]any{
			"name": "alpha-close-job-7", "workloadPolicy": map[string]any{"type": "HIGH_THROUGHPUT"},
		}))
	})
	leaves("a reservation", orphan, "reservation slurmflex-alpha-946684800 covers alpha-base-0 from", func(p *planted) {
		spec := slurm.ReservationSpec{Name: "slurmflex-alpha-946684800", Nodes: []string{static}, Start: time.Now().Add(time.Hour), Lasts: time.Hour, Maint: true}
		require.NoError(p.t, p.slurm.CreateReservation(p.ctx, spec))
	})
	leaves("nothing of another cluster's reservation", foreignChange, "reservation slurmflex-alpha2-972691200, which is not ours, is gone",
		func(p *planted) { require.NoError(p.t, p.slurm.DeleteReservation(p.ctx, foreignReservation)) })
}
