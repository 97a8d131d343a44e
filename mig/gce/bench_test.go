package gce_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/bench/replay"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// full returns a client for a project with one page of groups and, in one of the groups, one page
// of instances. The client answers from memory.
func full(b *testing.B) *gce.Client {
	b.Helper()
	fake := fakegce.New(fakegce.Options{})
	must.Get(fake.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g")))
	c := must.Get(gce.New(b.Context(), gce.Options{
		Project: "demo", Endpoint: "http://compute.test", Rate: 1e6, Transport: replay.Of(fake.Transport()),
	}))
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("alpha-a3-%d", i))
		must.Do(c.CreateGroup(b.Context(), mig.GroupSpec{
			Name: fmt.Sprintf("alpha-a3-job-%d", i+1), Region: "us-central1", Zones: []string{"us-central1-a"},
			Template: "projects/demo/regions/us-central1/instanceTemplates/a3",
			Stamp:    mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "a3", Job: uint32(i + 1)},
		}))
	}
	spec := mig.RequestSpec{Name: "a1", Instances: names, Duration: time.Hour}
	must.Do(c.CreateRequest(b.Context(), "us-central1", "alpha-a3-job-1", spec))
	return c
}

// readPages repeatedly reads a list of 500 items.
func readPages[T any](b *testing.B, read func(context.Context, string, []string) ([]T, map[string]error)) {
	b.ReportAllocs()
	for b.Loop() {
		if found, unseen := read(b.Context(), "alpha", []string{"us-central1"}); len(found) != 500 {
			b.Fatalf("%d found, unseen %v", len(found), unseen)
		}
	}
}

func BenchmarkAPageOfInstances(b *testing.B) {
	c := full(b)
	readPages(b, func(ctx context.Context, cluster string, regions []string) ([]mig.Instance, map[string]error) {
		return c.Instances(ctx, cluster, regions)
	})
}
func BenchmarkAPageOfGroups(b *testing.B) { readPages(b, full(b).Groups) }
