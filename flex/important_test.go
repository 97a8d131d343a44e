package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// One-node jobs keep coming and use all nodes.
func TestImportantJobStartsAmongManySmallJobs(t *testing.T) {
	for _, waiting := range []string{"configuring", "pending"} {
		t.Run(waiting, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				cfg := must.Get(config.Parse("alpha.yaml", []byte(alpha+"slurmflex: {waiting: "+waiting+"}\n")))
				nodes := names("alpha-a3-[0-7]")
				w.slurm = &controller{cfg: cfg, Cluster: fakeslurm.New(fakeslurm.Options{
					Nodes: nodes, Backfill: 30 * time.Second,
					Partitions:    []slurm.Partition{{Name: "train", Nodes: nodes, Exclusive: true, MaxTime: slurm.Limit{Kind: slurm.Unlimited}, PowerDownOnIdle: true, Up: true, Begins: true}},
					ResumeTimeout: 30 * time.Minute, SuspendTimeout: 2 * time.Minute, SuspendTime: 10 * time.Minute,
				})}
				w.begin()
				w.Promises = true
				lasts := func(span time.Duration) { // with a pass every ten seconds
					for i := range int(span / time.Second) {
						time.Sleep(time.Second)
						w.slurm.Step()
						if i%10 == 0 {
							w.mustPass()
						}
					}
				}
				submit := func(nodes int, priority uint64) uint32 {
					return must.Get(w.slurm.Submit(fakeslurm.JobSpec{Partition: "train", Nodes: nodes, Limit: time.Hour, Run: 50 * time.Minute, Priority: priority}))
				}
				lasts(time.Minute)
				for range 12 {
					submit(1, 10)
					lasts(5 * time.Minute)
				}
				important := submit(5, 1_000_000)
				for range 10 {
					lasts(6 * time.Minute)
					submit(1, 10)
				}
				assert.NotEqual(t, slurm.JobPending, w.slurm.JobState(important), "after an hour")
			}, func(o *fakegce.Options) { o.BootTime = time.Minute })
		})
	}
}
