package flex

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

const eightNodes = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
slurmflex: {waiting: %s}
nodeset:
  a3: {node_count_dynamic_max: 8, instance_template: projects/demo/regions/us-central1/instanceTemplates/flex,
    subnetwork: projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a],
    dws_flex: {use_job_duration: true}}
`

// One-node jobs keep coming and use all nodes.
func TestImportantJobStartsAmongManySmallJobs(t *testing.T) {
	for _, waiting := range []string{"configuring", "pending"} {
		t.Run(waiting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := must.Get(config.Parse("alpha.yaml", fmt.Appendf(nil, eightNodes, waiting)))
				nodes := names("alpha-a3-[0-7]")
				cluster := fakeslurm.New(fakeslurm.Options{
					Version: "24.11", Nodes: nodes, Backfill: 30 * time.Second,
					Partitions:    []slurm.Partition{{Name: "train", Nodes: nodes, Exclusive: true, MaxTime: slurm.Limit{Kind: slurm.Unlimited}, PowerDownOnIdle: true, Up: true, Begins: true}},
					ResumeTimeout: 30 * time.Minute, SuspendTimeout: 2 * time.Minute, SuspendTime: 10 * time.Minute,
				})
				cloud := fakegce.New(fakegce.Options{
					OperationTime: time.Second, BootTime: time.Minute, DeleteTime: 5 * time.Second,
					OnBoot:   func(in fakegce.Instance) { cluster.Register(in.Name, time.Now()) },
					OnDelete: func(in fakegce.Instance) { cluster.Silence(in.Name) },
				})
				must.Get(cloud.AddTemplate(us, fakegce.FlexTemplate("flex", "a3-highgpu-8g")))
				client, err := gce.New(t.Context(), gce.Options{Project: "demo", Endpoint: "http://compute.test", Transport: cloud.Transport()})
				require.NoError(t, err)
				r := &Reconciler{Config: cfg, Scheduler: cluster, Cloud: client, Log: zap.NewNop(), Now: time.Now, Promises: true}
				lasts := func(span time.Duration) { // with a pass every ten seconds
					for i := range int(span / time.Second) {
						time.Sleep(time.Second)
						cluster.Step()
						if i%10 == 0 {
							_, _ = r.pass(t.Context(), untilEnded)
						}
					}
				}
				submit := func(nodes int, priority uint64) uint32 {
					return must.Get(cluster.Submit(fakeslurm.JobSpec{Partition: "train", Nodes: nodes, Limit: time.Hour, Run: 50 * time.Minute, Priority: priority}))
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
				assert.NotEqual(t, slurm.JobPending, cluster.JobState(important), "after an hour")
			})
		})
	}
}
