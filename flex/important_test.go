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

// busyDay is a cluster of eight nodes with a model of Slurm and a fake Compute.
type busyDay struct {
	t      *testing.T
	slurm  *fakeslurm.Cluster
	passes *Reconciler
	cloud  *fakegce.Server
}

func newBusyDay(t *testing.T, waiting string) *busyDay {
	cfg, err := config.Parse("alpha.yaml", fmt.Appendf(nil, eightNodes, waiting))
	require.NoError(t, err)
	nodes, err := slurm.Expand("alpha-a3-[0-7]")
	require.NoError(t, err)
	cluster := fakeslurm.New(fakeslurm.Options{
		Version: "24.11", PrivateCloud: true, Nodes: nodes, Backfill: 30 * time.Second,
		Partitions:    []slurm.Partition{{Name: "train", Nodes: nodes, Exclusive: true, MaxTime: slurm.Limit{Kind: slurm.Unlimited}, PowerDownOnIdle: true, Up: true, Begins: true}},
		ResumeTimeout: 30 * time.Minute, SuspendTimeout: 2 * time.Minute, SuspendTime: 10 * time.Minute,
	})
	cloud := fakegce.New(fakegce.Options{
		OperationTime: time.Second, BootTime: time.Minute, DeleteTime: 5 * time.Second,
		OnBoot:   func(in fakegce.Instance) { cluster.Register(in.Name, time.Now()) },
		OnDelete: func(in fakegce.Instance) { cluster.Silence(in.Name) },
	})
	_, err = cloud.AddTemplate("us-central1", fakegce.FlexTemplate("flex", "a3-highgpu-8g"))
	require.NoError(t, err)
	client, err := gce.New(t.Context(), gce.Options{Project: "demo", Endpoint: "http://compute.test", Transport: cloud.Transport()})
	require.NoError(t, err)
	return &busyDay{t, cluster, &Reconciler{Config: cfg, Scheduler: cluster, Cloud: client, Log: zap.NewNop(), Now: time.Now, Promises: true}, cloud}
}

// submit submits a job of up to an hour.
func (d *busyDay) submit(nodes int, priority uint64) uint32 {
	id, err := d.slurm.Submit(fakeslurm.JobSpec{Partition: "train", Nodes: nodes, Limit: time.Hour, Run: 50 * time.Minute, Priority: priority})
	require.NoError(d.t, err)
	return id
}

// lasts lets time pass, with a pass every ten seconds.
func (d *busyDay) lasts(span time.Duration) {
	for i := range int(span / time.Second) {
		time.Sleep(time.Second)
		d.slurm.Step()
		if i%10 == 0 {
			_, _ = d.passes.Pass(d.t.Context())
		}
	}
}

// One-node jobs keep coming and use all nodes.
func TestImportantJobStartsAmongManySmallJobs(t *testing.T) {
	for _, waiting := range []string{"configuring", "pending"} {
		for _, nodes := range []int{2, 5} {
			t.Run(fmt.Sprintf("%s, %d nodes", waiting, nodes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newBusyDay(t, waiting)
					d.lasts(time.Minute)
					for range 12 {
						d.submit(1, 10)
						d.lasts(5 * time.Minute)
					}
					important := d.submit(nodes, 1_000_000)
					for range 10 {
						d.lasts(6 * time.Minute)
						d.submit(1, 10)
					}
					assert.NotEqual(t, slurm.JobPending, d.slurm.JobState(important), "after an hour")
				})
			})
		}
	}
}
