package flex

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/takedown"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// down tears down the world's cluster in a new process. If the process dies, another one follows.
func (w *world) down(jobs takedown.Jobs) takedown.Plan {
	w.Helper()
	for {
		w.begin()
		ctx, die := context.WithCancel(w.Context())
		w.wire.onDeath(die)
		d := Down{R: w.Reconciler, Lock: w.lock, ClosePartition: w.slurm.ClosePartition, Options: takedown.Options{Jobs: jobs}}
		left, err := d.Run(ctx)
		died := ctx.Err() != nil
		die()
		if !died {
			require.NoError(w, err)
			return left
		}
	}
}

// inUse creates a running job, a waiting job, and another cluster's group.
func (w *world) inUse() {
	w.Helper()
	w.running(1, "train", "alpha-a3-[0-1]")
	w.waiting(2, "train", "alpha-a3-2")
	stranger := mig.GroupSpec{
		Name: "alpha-b-a3-job-1", Region: us, Template: "projects/demo/regions/us-central1/instanceTemplates/flex", Zones: []string{us + "-a"},
		Stamp: mig.Stamp{Version: 1, Cluster: "alpha-b", NodeSet: "a3", Job: 1},
	}
	require.NoError(w, w.Cloud.CreateGroup(w.Context(), stranger))
}

const strangers = "group alpha-b-a3-job-1 in us-central1 of size 0"

func TestDownCompletesAfterDeathAtAnyCall(t *testing.T) {
	dying(t, 7, (*world).inUse, func(w *world, last int) {
		require.True(w, w.down(takedown.Requeue).Done(), "it died at call %d", last)
		w.owns(strangers)
		assert.Equal(w, map[uint32]slurm.JobState{1: slurm.JobPending, 2: slurm.JobPending}, w.slurm.queue())
		assert.Regexp(w, `^flex-start: requeued at 2000-\S+Z: its nodes are taken down$`, w.slurm.comment(1))
		assert.False(w, w.observed().Partitions[1].Up)
	})
}

func TestDownKeepsUnrequeueableJobsExceptWithNow(t *testing.T) {
	inWorld(t, func(w *world) {
		w.slurm.records = map[uint32]slurm.JobRecord{1: {Batch: false}}
		w.running(1, "train", "alpha-a3-0")
		w.slurm.unwritable = errors.New("slurm_update error: Socket timed out")
		time.AfterFunc(2*time.Second, func() {
			defer locked(&w.slurm.mu)()
			w.slurm.unwritable = nil
		})
		assert.Equal(w, "1 instance, 1 group, 0 requests, 0 policies, 1 reservation", w.down(takedown.Requeue).Left.String())
		const told = "flex-start: its nodes will be taken down, and Slurm would not requeue it"
		assert.Equal(w, []string{"1: " + told}, w.slurm.notices, "once Slurm has stored the AdminComment")
		assert.Equal(w, told, w.slurm.comment(1))
		require.True(w, w.down(takedown.Now).Done())
		assert.Empty(w, w.slurm.queue())
		assert.Empty(w, w.owned())
	})
}

func TestDownStopsAfterRepeatedlyRejectedDeletions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.running(1, "train", "alpha-a3-0")
		w.slurm.cancel(1)
		w.fault(fakegce.Fault{Method: "*.deleteInstances", Status: 403, Message: "no permission"})
		left := w.down(takedown.Requeue)
		assert.False(w, left.Done())
		assert.NotEmpty(w, left.Due())
	})
}

// If no nodeset requires placement, slurmflex may lack the permission to read workload policies.
func TestUnreadablePoliciesMatterOnlyWithPlacement(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fault(fakegce.Fault{Method: "resourcePolicies.list", Status: 403, Message: "no permission"})
		assert.True(w, w.down(takedown.Requeue).Done())
		w.slurm.cfg.FlexSets()[0].Placement = true
		left := w.down(takedown.Requeue)
		assert.Len(w, left.Kept, 2, "one for each region")
		assert.Contains(w, left.Kept[1], "the workload policies in us-central1 are not known: ")
	})
}
