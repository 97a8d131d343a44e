package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// rest brings every node to its state at rest, with machines for the static ones.
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

func TestWorldAtRestHasNothingLeft(t *testing.T) {
	const static = "alpha-base-0"
	leaves := func(name string, want kind, says string, does step) {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				p.rest()
				does(p)
				v, any := p.left()
				assert.Equal(t, want != "", any)
				assert.Equal(t, want, v.kind)
				assert.Contains(t, v.text, says)
			})
		})
	}
	of := func(n slurm.Node) step {
		n.Name, n.State = static, slurm.ParseState("IDLE+CLOUD")
		return func(p *planted) { p.watch.look([]slurm.Node{n}, nil) }
	}
	leaves("nothing", "", "", func(*planted) {})
	leaves("a job that waits", lostJob, `job 7 of gang is PENDING (Resources) still, on ""`, func(p *planted) {
		p.watch.look(nil, []slurm.Job{{ID: 7, Partition: "gang", State: slurm.JobPending, Reason: "Resources"}})
	})
	leaves("a static node that is down", lostJob, "node alpha-base-0 is DOWN+CLOUD+NOT_RESPONDING (), not IDLE+CLOUD",
		func(p *planted) { p.is(static, "DOWN+CLOUD+NOT_RESPONDING") })
	leaves("a dynamic node that is up", lostJob, "node alpha-gang-0 is IDLE+CLOUD (), not IDLE+CLOUD+POWERED_DOWN",
		shown("IDLE+CLOUD"))
	leaves("a node's comment", lostJob, `node alpha-base-0 has the comment "slurmflex: waits in g/a1"`,
		of(slurm.Node{Comment: "slurmflex: waits in g/a1"}))
	leaves("a node's extra", lostJob, `node alpha-base-0 has the extra "slurmflex: 1 boots failed"`,
		of(slurm.Node{Extra: "slurmflex: 1 boots failed"}))
	leaves("a machine", orphan, "machine alpha-gang-0 (RUNNING) is left", (*planted).hasMachine)
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
	leaves("another cluster's reservation, which is gone", foreignChange,
		"reservation slurmflex-alpha2-972691200, which is not ours, is gone",
		func(p *planted) { require.NoError(p.t, p.slurm.DeleteReservation(p.ctx, foreignReservation)) })
}

func TestDisturbedNeighbourIsDetected(t *testing.T) {
	n := neighbours()[0]
	plant(t, func(p *planted) {
		assert.Empty(t, n.disturbed(p.cloud.State()))
		require.NoError(t, populate(p.cloud, n.group, "a2", []string{"alpha2-gang-2"}))
		time.Sleep(10 * time.Minute)
		assert.Equal(t, "group alpha2-gang-job-1 has size 3, not 2", n.disturbed(p.cloud.State()))
	})
	plant(t, func(p *planted) {
		require.NoError(t, p.cloud.DeleteVM("alpha2-gang-0"))
		time.Sleep(10 * time.Minute)
		assert.Contains(t, n.disturbed(p.cloud.State()), "machine alpha2-gang-0 is not running")
	})
}

func TestJobThatEndsWithoutRunningIsLost(t *testing.T) {
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
	taken := func(p *planted, _ uint32) {
		forced := slurm.NodeChange{State: "power_down_force", Reason: "in a test"}
		require.NoError(p.t, p.slurm.UpdateNodes(p.ctx, []string{node}, forced))
	}
	of := func(name string, lost int, e submit, does ...func(*planted, uint32)) {
		t.Run(name, func(t *testing.T) {
			plant(t, func(p *planted) {
				id := submitted(p, e)
				for _, do := range does {
					do(p, id)
				}
				for range 10 {
					require.True(t, p.step(), "%v", p.check.found)
				}
				assert.Len(t, p.lostJobs(), lost)
			})
		})
	}
	salloc := submit{noRequeue: true}
	of("ended by Slurm because its nodes are lost", 1, salloc, taken)
	of("unless the world has removed them", 0, salloc, func(p *planted, _ uint32) { p.watch.take(node) }, taken)
	of("unless only an admin can fix the cause", 0, salloc,
		func(p *planted, _ uint32) { p.watch.despair("PERMISSION_DENIED", 0) }, taken)
	of("or that cause existed a minute before its submission", 0, salloc, func(p *planted, id uint32) {
		p.watch.lives[id].hopeless = false
		p.watch.desperate = time.Now().Add(time.Minute)
		require.True(p.t, p.step(), "%v", p.check.found)
	}, taken)
	of("but a lack of capacity is not an excuse", 1, salloc, func(p *planted, _ uint32) {
		p.watch.despair("QUOTA_EXCEEDED", 0)
		require.True(p.t, p.step(), "%v", p.check.found)
	}, taken)
	of("cancelled outside the script", 1, submit{},
		func(p *planted, id uint32) { require.NoError(p.t, p.slurm.Cancel(id)) })
	of("cancelled by the script", 0, submit{}, func(p *planted, _ uint32) { order(1, cancel).strike(p.world, 2) })
	of("cancelled by on_provision_timeout", 0, submit{}, func(p *planted, id uint32) {
		require.NoError(p.t, p.scheduler().CancelJob(p.ctx, id))
	})
}
