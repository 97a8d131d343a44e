package flex_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/bench/replay"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
)

// still is a Slurm without changes.
type still struct {
	flex.Scheduler
	snap scene.Snapshot
}

func (s still) Nodes(context.Context) ([]slurm.Node, error) { return s.snap.Nodes, nil }
func (s still) Jobs(context.Context) ([]slurm.Job, error)   { return s.snap.Jobs, nil }
func (s still) Reservations(context.Context) ([]slurm.Reservation, error) {
	return s.snap.Reservations, nil
}

func (s still) Config(context.Context) (slurm.Config, error)                    { return slurm.Config{}, nil }
func (s still) Partitions(context.Context) ([]slurm.Partition, error)           { return nil, nil }
func (s still) JobRecords(context.Context, []uint32) ([]slurm.JobRecord, error) { return nil, nil }
func (s still) UpdateNodes(context.Context, []string, slurm.NodeChange) error {
	return nil
}

// A first pass creates the groups and instances. The benchmark then reads them repeatedly, from
// memory.
func BenchmarkObserve(b *testing.B) {
	for _, nodes := range []int{1_000, 5_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) { benchmarkObserve(b, nodes) })
	}
}

func benchmarkObserve(b *testing.B, nodes int) {
	cfg, err := site.Config(nodes)
	if err != nil {
		b.Fatal(err)
	}
	fake := fakegce.New(fakegce.Options{})
	if err := fake.SetQuota(site.Region, "ACTIVE_RESIZE_REQUESTS", -1); err != nil {
		b.Fatal(err)
	}
	if _, err := fake.AddTemplate(site.Region, fakegce.FlexTemplate(site.NodeSet, site.Machine)); err != nil {
		b.Fatal(err)
	}
	r := &flex.Reconciler{Config: cfg, Scheduler: still{snap: site.Rising(cfg, time.Now())}, Log: zap.NewNop(), Now: time.Now}
	connect := func(o gce.Options) {
		o.Project, o.Endpoint, o.Rate = site.Project, "http://compute.test", 1e6
		if r.Cloud, err = gce.New(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	connect(gce.Options{Transport: fake.Transport()})
	if _, err := r.Pass(b.Context()); err != nil {
		b.Fatal(err)
	}
	connect(gce.Options{Transport: replay.Of(fake.Transport())})
	b.ReportAllocs()
	for b.Loop() {
		snap, err := r.Observe(b.Context())
		if err != nil || len(snap.Instances) != nodes {
			b.Fatalf("%d instances, %v", len(snap.Instances), err)
		}
	}
}
