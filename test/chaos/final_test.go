package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// rest has every node be as it is at rest, and the static ones have machines.
func (p *planted) rest() {
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

func TestAWorldAtRestHasNothingLeft(t *testing.T) {
	const static, dynamic = "alpha-base-0", "alpha-gang-0"
	tests := map[string]struct {
		leaves func(*planted)
		kind   kind
		says   string
	}{
		"nothing": {func(*planted) {}, "", ""},
		"a job that waits": {func(p *planted) {
			p.watch.look(nil, []slurm.Job{{ID: 7, Partition: "gang", State: slurm.JobPending, Reason: "Resources"}})
		}, lostJob, `job 7 of gang is PENDING (Resources) still, on ""`},
		"a static node that is down": {func(p *planted) {
			p.is(static, "DOWN+CLOUD+NOT_RESPONDING")
		}, lostJob, "node alpha-base-0 is DOWN+CLOUD+NOT_RESPONDING (), not IDLE+CLOUD"},
		"a dynamic node that is up": {func(p *planted) {
			p.is(dynamic, "IDLE+CLOUD")
		}, lostJob, "node alpha-gang-0 is IDLE+CLOUD (), not IDLE+CLOUD+POWERED_DOWN"},
		"a node's comment": {func(p *planted) {
			p.watch.look([]slurm.Node{{Name: static, State: slurm.ParseState("IDLE+CLOUD"), Comment: "slurmflex: waits in g/a1"}}, nil)
		}, lostJob, `node alpha-base-0 has the comment "slurmflex: waits in g/a1"`},
		"a node's extra": {func(p *planted) {
			p.watch.look([]slurm.Node{{Name: static, State: slurm.ParseState("IDLE+CLOUD"), Extra: "slurmflex: 1 boots failed"}}, nil)
		}, lostJob, `node alpha-base-0 has the extra "slurmflex: 1 boots failed"`},
		"a machine": {func(p *planted) { p.group(7, dynamic) }, orphan, "machine alpha-gang-0 (RUNNING) is left"},
		"a group":   {func(p *planted) { p.group(7) }, orphan, "group alpha-gang-job-7 is left, and empty"},
		"a request": {func(p *planted) {
			p.cloud.SetCapacity("", "", 0)
			require.NoError(p.t, populate(p.cloud, groupOf(1), "a2", []string{dynamic}))
			time.Sleep(time.Minute)
		}, orphan, "request alpha-gang-job-1/a2 is ACCEPTED still"},
		"a policy": {func(p *planted) {
			require.NoError(p.t, post(p.cloud, "/regions/"+us+"/resourcePolicies", map[string]any{
				"name": "alpha-close-job-7", "workloadPolicy": map[string]any{"type": "HIGH_THROUGHPUT"},
			}))
		}, orphan, "policy alpha-close-job-7 is left"},
		"a reservation": {func(p *planted) {
			require.NoError(p.t, p.slurm.CreateReservation(p.ctx, slurm.ReservationSpec{
				Name: "slurmflex-alpha-946684800", Nodes: []string{static}, Start: time.Now().Add(time.Hour),
			}))
		}, orphan, "reservation slurmflex-alpha-946684800 covers alpha-base-0 from"},
		"another cluster's reservation, which is gone": {func(p *planted) {
			require.NoError(p.t, p.slurm.DeleteReservation(p.ctx, foreignReservation))
		}, foreignChange, "reservation slurmflex-alpha2-972691200, which is not ours, is gone"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				p.rest()
				test.leaves(p)
				v, any := p.left()
				assert.Equal(t, test.kind != "", any)
				assert.Equal(t, test.kind, v.kind)
				assert.Contains(t, v.text, test.says)
			})
		})
	}
}

func TestANeighbourIsSeenToBeDisturbed(t *testing.T) {
	n := neighbours()[0]
	tests := map[string]struct {
		does func(*planted)
		want string
	}{
		"by nobody":                     {func(*planted) {}, ""},
		"by the loss of its machine":    {func(p *planted) { require.NoError(p.t, p.cloud.DeleteVM("alpha2-gang-0")) }, "machine alpha2-gang-0 is not running"},
		"by a request for another size": {func(p *planted) { require.NoError(p.t, populate(p.cloud, n.group, "a2", []string{"alpha2-gang-2"})) }, "group alpha2-gang-job-1 has size 3, not 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				test.does(p)
				time.Sleep(10 * time.Minute)
				assert.Contains(t, n.disturbed(p.cloud.State()), test.want)
				if test.want == "" {
					assert.Empty(t, n.disturbed(p.cloud.State()))
				}
			})
		})
	}
}

func TestAJobThatEndsWithoutHavingRunIsLost(t *testing.T) {
	const node = "alpha-gang-0"
	submitted := func(p *planted, e submit) uint32 {
		p.t.Helper()
		e.job, e.partition, e.nodes, e.limit, e.run, e.on = 1, "gang", 1, time.Hour, time.Minute, node
		e.strike(p.world, 1)
		id := p.jobs[1]
		require.NotZero(p.t, id)
		for range 10 {
			require.True(p.t, p.step(), "%v", p.check.found)
		}
		return id
	}
	forced := slurm.NodeChange{State: "power_down_force", Reason: "in a test"}
	tests := map[string]struct {
		submit submit
		does   func(*planted, uint32)
		lost   bool
	}{
		"given up by Slurm as its nodes are taken": {submit{noRequeue: true}, func(p *planted, _ uint32) {
			require.NoError(p.t, p.slurm.UpdateNodes(p.ctx, []string{node}, forced))
		}, true},
		"unless the world has taken them": {submit{noRequeue: true}, func(p *planted, _ uint32) {
			p.watch.take(node)
			require.NoError(p.t, p.slurm.UpdateNodes(p.ctx, []string{node}, forced))
		}, false},
		"or its cause was an admin's": {submit{noRequeue: true}, func(p *planted, _ uint32) {
			p.watch.despair("PERMISSION_DENIED", 0)
			require.NoError(p.t, p.slurm.UpdateNodes(p.ctx, []string{node}, forced))
		}, false},
		"or was so a minute before it came": {submit{noRequeue: true}, func(p *planted, id uint32) {
			p.watch.lives[id].hopeless = false
			p.watch.desperate = time.Now().Add(time.Minute)
			require.True(p.t, p.step(), "%v", p.check.found)
			require.NoError(p.t, p.slurm.UpdateNodes(p.ctx, []string{node}, forced))
		}, false},
		"but a lack of capacity is nobody's excuse": {submit{noRequeue: true}, func(p *planted, _ uint32) {
			p.watch.despair("QUOTA_EXCEEDED", 0)
			require.True(p.t, p.step(), "%v", p.check.found)
			require.NoError(p.t, p.slurm.UpdateNodes(p.ctx, []string{node}, forced))
		}, true},
		"cancelled by nobody in the script": {submit{}, func(p *planted, id uint32) {
			require.NoError(p.t, p.slurm.Cancel(id))
		}, true},
		"cancelled by the script": {submit{}, func(p *planted, _ uint32) {
			order(1, cancel).strike(p.world, 2)
		}, false},
		"cancelled as on_provision_timeout says": {submit{}, func(p *planted, id uint32) {
			require.NoError(p.t, (&commands{process: p.p, next: p.slurm}).CancelJob(p.ctx, id))
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				test.does(p, submitted(p, test.submit))
				for range 10 {
					require.True(t, p.step(), "%v", p.check.found)
				}
				if test.lost {
					assert.Len(t, p.lostJobs(), 1)
				} else {
					assert.Empty(t, p.lostJobs())
				}
			})
		})
	}
}
