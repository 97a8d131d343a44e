package chaos

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// planted is a world in which a test does by hand what the product must not.
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

// group makes a group of ours for a job, and asks for machines in it.
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

func groupOf(job uint32) string { return fmt.Sprintf("%s-gang-job-%d", cluster, job) }

// runs has a job run on nodes.
func (p *planted) runs(job uint32, nodes ...string) {
	j := slurm.Job{ID: job, ArrayID: job, State: slurm.JobRunning, Nodes: nodes}
	p.watch.look(nil, []slurm.Job{j})
	time.Sleep(10 * time.Second)
}

// waits has a job wait for nodes.
func (p *planted) waits(job uint32, nodes ...string) {
	j := slurm.Job{ID: job, ArrayID: job, State: slurm.JobConfiguring, Nodes: nodes, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour}}
	p.watch.look(nil, []slurm.Job{j})
}

// is has a node in a state.
func (p *planted) is(node, state string) {
	p.watch.look([]slurm.Node{{Name: node, State: slurm.ParseState(state)}}, nil)
}

// deletes is a call that deletes machines of a group.
func deletes(group string, machines ...string) apiCall {
	body := `{"instances":[`
	for i, m := range machines {
		if i > 0 {
			body += ","
		}
		body += fmt.Sprintf("%q", "projects/"+project+"/zones/us-central1-a/instances/"+m)
	}
	return apiCall{kind: "delete instances", object: "regions/" + us + "/instanceGroupManagers/" + group + "/deleteInstances", body: []byte(body + "]}")}
}

func deletesGroup(group string) apiCall {
	return apiCall{kind: "delete group", object: "regions/" + us + "/instanceGroupManagers/" + group}
}

func TestEachInvariantIsSeenToBreak(t *testing.T) {
	const node = "alpha-gang-0"
	tests := map[string]struct {
		does func(*planted)
		want kind
		says string
	}{
		"the machine of a running job is deleted": {func(p *planted) {
			p.group(7, node)
			p.runs(7, node)
			p.is(node, "ALLOCATED+CLOUD+POWERING_DOWN") // Slurm has asked for it: the brake is another invariant
			p.runs(7, node)
			p.check.before(p.p, deletes(groupOf(7), node))
		}, wrongKill, "daemon deletes machine alpha-gang-0, on which job 7 runs"},
		"the group of a running job is deleted": {func(p *planted) {
			p.group(7, node)
			p.runs(7, node)
			p.check.before(p.p, deletesGroup(groupOf(7)))
		}, wrongKill, "daemon deletes machine alpha-gang-0, on which job 7 runs"},
		"the node of a running job is powered down": {func(p *planted) {
			p.group(7, node)
			p.runs(7, node)
			p.check.update(p.p, []string{node}, slurm.NodeChange{State: "power_down_force"})
		}, wrongKill, "alpha-gang-0 sets power_down_force, on which job 7 runs"},
		"a running job is cancelled": {func(p *planted) {
			p.runs(7, node)
			p.check.cancel(7)
		}, wrongKill, "job 7 is cancelled while it runs"},
		"a job is started that cannot be done before a lease ends": {func(p *planted) {
			p.group(7, node) // for seven days
			j := slurm.Job{ID: 7, Nodes: []string{node}, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: 7 * 24 * time.Hour}}
			p.check.pass(p.p)
			p.check.start(life{Job: j, given: p.begun})
		}, lostJob, "job 7 begins to run and has until"},
		"more machines are deleted than the brake allows": {func(p *planted) {
			most := p.p.reconciler.Config.Options.MaxDeletions
			var names []string
			for i := range most + 1 {
				names = append(names, fmt.Sprintf("alpha-x-%d", i))
			}
			p.group(7, names...)
			p.check.before(p.p, deletes(groupOf(7), names...))
		}, wrongKill, "machines in one pass that Slurm did not ask to delete"},
		"a group of a cluster whose name begins alike is deleted": {func(p *planted) {
			p.check.before(p.p, deletesGroup("alpha-b-gang-job-1"))
		}, foreignChange, "daemon: delete group regions/us-central1/instanceGroupManagers/alpha-b-gang-job-1, which is a neighbour's"},
		"another cluster's reservation is changed": {func(p *planted) {
			p.check.reservation(foreignReservation)
		}, foreignChange, "reservation slurmflex-alpha2-972691200, which is not ours, is changed"},
		"two requests ask for one node": {func(p *planted) {
			p.cloud.SetCapacity("", "", 0)
			p.group(7, node)
			p.group(8, node)
			p.check.after()
		}, overScale, "requests alpha-gang-job-7/a1 and alpha-gang-job-8/a1 both ask for alpha-gang-0"},
		"a node has two machines": {func(p *planted) {
			p.cloud.SetCapacity("us-central1-b", "", 0)
			p.group(7, node)
			p.cloud.SetCapacity("us-central1-b", "", -1)
			p.cloud.SetCapacity("us-central1-a", "", 0)
			p.group(8, node)
			p.check.after()
		}, overScale, "node alpha-gang-0 has two machines, in us-central1-a and us-central1-b"},
		"more requests live than may": {func(p *planted) {
			p.cloud.SetCapacity("", "", 0)
			for i := range p.mostActive() + 1 {
				p.group(uint32(i+7), fmt.Sprintf("alpha-gang-%d", i))
			}
			p.check.after()
		}, overScale, "requests live in us-central1, and"},
		"a cancelled job's request waits on": {func(p *planted) {
			p.cloud.SetCapacity("", "", 0)
			p.group(7, node)
			for range 5 {
				p.check.pass(p.p)
				time.Sleep(time.Minute)
			}
		}, orphan, "request alpha-gang-job-7/a1 waits still, 3 passes after its job has gone"},
		"a cancelled job's node powers up for nobody": {func(p *planted) {
			p.is(node, "IDLE+CLOUD+POWERING_UP+NOT_RESPONDING")
			for range 5 {
				p.check.pass(p.p)
				time.Sleep(time.Minute)
			}
		}, orphan, "node alpha-gang-0 waits still, 3 passes after its job has gone"},
		"a node that waits for capacity meets ResumeTimeout": {func(p *planted) {
			time.Sleep(24 * time.Hour)
			p.check.resumeFailed([]string{node})
		}, lostJob, "node alpha-gang-0 has met ResumeTimeout while it waited for its machine"},
		"a stranger's machine is deleted": {func(p *planted) {
			squat(node, byHand, time.Hour).strike(p.world, 1)
			time.Sleep(time.Minute)
			p.check.before(p.p, apiCall{kind: "delete instance", object: "zones/us-central1-a/instances/" + node})
		}, foreignChange, "daemon: delete instance zones/us-central1-a/instances/alpha-gang-0, which is a stranger's"},
		"a request is cancelled whose job waits": {func(p *planted) {
			p.waits(7, node)
			p.cloud.SetCapacity("", "", 0)
			p.group(7, node)
			p.check.before(p.p, apiCall{kind: "cancel request", object: "regions/" + us + "/instanceGroupManagers/" + groupOf(7) + "/resizeRequests/a1/cancel"})
		}, lostJob, "daemon cancels request alpha-gang-job-7/a1, while job 7 waits for its nodes"},
		"a job loses its nodes while its request may wait": {func(p *planted) {
			p.waits(7, node)
			p.cloud.SetCapacity("", "", 0)
			p.group(7, node)
			p.check.update(p.p, []string{node}, slurm.NodeChange{State: "power_down_force"})
		}, lostJob, "job 7 loses its nodes 11m0s after it was given them, while its request waits and may wait for 0s"},
		"a job waits for longer than provision_timeout": {func(p *planted) {
			cfg := p.config()
			set, _, _ := cfg.Find("alpha-bulk-0")
			require.NotZero(p.t, set.Flex.ProvisionTimeout)
			p.waits(7, "alpha-bulk-0")
			time.Sleep(set.Flex.ProvisionTimeout + 11*time.Minute)
			p.check.patient()
		}, lostJob, "job 7 waits for machines for"},
		"a machine that boots is taken for one that does not come up": {func(p *planted) {
			record := "slurmflex: 1 boot"
			p.group(7, node)
			st, _ := p.state().Instance(node)
			p.check.bootGivenUp(st, slurm.NodeChange{State: "power_down_force", Extra: &record}, 10*time.Hour)
		}, lostJob, "alpha-gang-0 is taken for one that does not come up"},
		"no pass is made": {func(p *planted) {
			p.main.start()
			p.check.passed()
			p.rows.set("squeue", &spoil{"squeue", rubbish, 0, time.Hour})
			time.Sleep(longest + time.Minute)
			p.check.saw = p.begun
			p.faults.sick[program] = p.begun
			p.check.stalled()
		}, stall, "no pass has been made for"},
		"a job waits, and nothing says what for": {func(p *planted) {
			p.check.named(p.config(), plan.Snapshot{
				Nodes: []slurm.Node{{Name: node, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")}},
				Jobs:  []slurm.Job{{ID: 7, State: slurm.JobConfiguring, Nodes: []string{node}}},
			}, plan.Plan{})
		}, lostJob, "job 7 waits for alpha-gang-0, and nothing says what for"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				_, broken := p.check.first()
				require.False(t, broken)
				test.does(p)
				v, broken := p.check.first()
				require.True(t, broken)
				assert.Equal(t, test.want, v.kind)
				assert.Contains(t, v.text, test.says)
			})
		})
	}
}

func TestWhatIsRightBreaksNoInvariant(t *testing.T) {
	const node = "alpha-gang-0"
	for name, does := range map[string]func(*planted){
		"a job's nodes wait, and an obstacle is named": func(p *planted) {
			p.check.named(p.config(), plan.Snapshot{
				Nodes: []slurm.Node{{Name: node, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")}},
				Jobs:  []slurm.Job{{ID: 7, State: slurm.JobConfiguring, Nodes: []string{node}}},
			}, plan.Plan{Waits: []plan.Wait{{Nodes: []string{node}, Obstacle: "a full region"}}})
		},
		"the machine of a node that Slurm has powered down is deleted": func(p *planted) {
			p.group(7, node)
			p.is(node, "IDLE+CLOUD+POWERING_DOWN")
			p.check.before(p.p, deletes(groupOf(7), node))
		},
		"a stopped machine is deleted, though its job shows for a while": func(p *planted) {
			p.group(7, node)
			p.runs(7, node)
			require.NoError(p.t, p.cloud.StopVM(node))
			p.check.before(p.p, deletes(groupOf(7), node))
		},
		"an old group is asked to delete a machine that another has made again": func(p *planted) {
			p.group(6)
			p.group(7, node)
			p.runs(7, node)
			p.check.before(p.p, deletes(groupOf(6), node))
		},
		"a node meets ResumeTimeout that has a machine": func(p *planted) {
			p.group(7, node)
			time.Sleep(24 * time.Hour)
			p.check.resumeFailed([]string{node})
		},
		"an admin has powered a node up": func(p *planted) {
			powerUp(node).strike(p.world, 1)
			p.is(node, "IDLE+CLOUD+POWERING_UP+NOT_RESPONDING")
			for range 5 {
				p.check.pass(p.p)
				time.Sleep(time.Minute)
			}
		},
		"a job is started that can be done in its lease": func(p *planted) {
			p.group(7, node)
			j := slurm.Job{ID: 7, Nodes: []string{node}, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: 6 * 24 * time.Hour}}
			p.check.pass(p.p)
			p.check.start(life{Job: j, given: p.begun})
		},
		"a job is started on nodes that it was given after the last pass": func(p *planted) {
			p.group(7, node)
			p.check.pass(p.p)
			j := slurm.Job{ID: 7, Nodes: []string{node}, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: 7 * 24 * time.Hour}}
			p.check.start(life{Job: j, given: time.Now().Add(time.Second)})
		},
		"a job's request waits while the job does": func(p *planted) {
			p.cloud.SetCapacity("", "", 0)
			p.group(7, node)
			p.watch.look(nil, []slurm.Job{{ID: 7, State: slurm.JobConfiguring, Nodes: []string{node}}})
			for range 5 {
				p.check.pass(p.p)
				time.Sleep(time.Minute)
			}
		},
		"a request outlives its job while nothing is answered": func(p *planted) {
			p.cloud.SetCapacity("", "", 0)
			p.group(7, node)
			for range 5 {
				p.faults.suffered(compute)
				p.check.pass(p.p)
				time.Sleep(time.Minute)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				does(p)
				p.check.after()
				_, broken := p.check.first()
				assert.False(t, broken, "%v", p.check.found)
			})
		})
	}
}
