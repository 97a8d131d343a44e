package gce_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

const (
	project = "demo"
	region  = "us-central1"
	machine = "a3-highgpu-8g"
)

// world is a fake cloud with the time of a synctest bubble, and a client for it.
type world struct {
	*testing.T
	*gce.Client
	cloud    *fakegce.Server
	template string
}

// inWorld runs a test in a fake cloud where operations take a second and VMs boot in ten seconds.
func inWorld(t *testing.T, run func(world), change ...func(*fakegce.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := fakegce.Options{Project: project, OperationTime: time.Second, BootTime: 10 * time.Second, DeleteTime: 5 * time.Second}
		for _, c := range change {
			c(&o)
		}
		cloud := fakegce.New(o)
		template := must.Get(cloud.AddTemplate(region, fakegce.FlexTemplate("a3", machine)))
		w := world{T: t, cloud: cloud, template: template}
		w.Client = w.another()
		run(w)
	})
}

// another returns a new client, as of another process.
func (w world) another() *gce.Client {
	w.Helper()
	client, err := gce.New(w.Context(), gce.Options{Project: project, Endpoint: "http://compute.test", Transport: w.cloud.Transport()})
	require.NoError(w, err)
	w.Cleanup(func() { assert.NoError(w, client.Close()) })
	return client
}

// fault makes calls to the cloud fail.
func (w world) fault(f fakegce.Fault) {
	w.Helper()
	require.NoError(w, w.cloud.AddFault(f))
}

func (w world) spec(name string, job uint32) mig.GroupSpec {
	return mig.GroupSpec{
		Name: name, Region: region, Template: w.template, Zones: []string{"us-central1-a", "us-central1-b"},
		Stamp: mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "a3", Job: job},
	}
}

// group returns the only group that the client sees.
func (w world) group() mig.Group {
	w.Helper()
	groups, unseen := w.Groups(w.Context(), "alpha", []string{region})
	require.Empty(w, unseen)
	require.Len(w, groups, 1)
	return groups[0]
}

func request(instances ...string) mig.RequestSpec {
	return mig.RequestSpec{Name: "a1", Instances: instances, Duration: 2 * time.Hour}
}

// grown creates a group with a request for machines.
func (w world) grown(spec mig.GroupSpec, nodes ...string) {
	w.Helper()
	require.NoError(w, w.CreateGroup(w.Context(), spec))
	require.NoError(w, w.CreateRequest(w.Context(), spec.Region, spec.Name, request(nodes...)))
}

// asked creates a request for one machine in group alpha-x.
func (w world) asked() {
	w.Helper()
	w.grown(w.spec("alpha-x", 1), "alpha-a3-0")
}

func TestMutationsHappenOnceEvenIfAnswersAreLost(t *testing.T) {
	faults := map[string]fakegce.Fault{
		"cut before it acts":     {Method: "*", Drop: true, Times: 3},
		"cut after it acted":     {Method: "*", DropAfter: true, Times: 3},
		"overloaded":             {Method: "*", Status: 503, Times: 3},
		"too many calls":         {Method: "*", Status: 403, Reason: "rateLimitExceeded", Times: 3},
		"slow":                   {Method: "*", Delay: 20 * time.Second, Times: 3},
		"too slow, then acted":   {Method: "*insert", Delay: 40 * time.Second, Times: 1},
		"its wait is cut":        {Method: "*Operations.wait", Drop: true, Times: 3},
		"its wait is overloaded": {Method: "*Operations.wait", Status: 500, Times: 3},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w world) {
				ctx := w.Context()
				w.fault(fault)
				require.NoError(w, w.CreateGroup(ctx, w.spec("alpha-x", 1)))
				w.fault(fault)
				require.NoError(w, w.CreateRequest(ctx, region, "alpha-x", request("alpha-a3-0")))
				time.Sleep(time.Minute)
				g := w.group()
				require.Len(w, g.Requests, 1)
				assert.Equal(w, 1, g.TargetSize)
				w.fault(fault)
				require.NoError(w, w.DeleteGroup(ctx, region, "alpha-x"))
				assert.Empty(w, w.cloud.State().Groups)
				assert.Len(w, w.cloud.State().Operations, 3, "one operation for each mutation")
				for i, zones := range [][]string{{"us-central1-a"}, {"us-central1-a", "us-central1-b"}} {
					w.cloud.ClearFaults()
					b := w.bulk(zones...)
					w.fault(fault)
					require.NoError(w, w.BulkInsert(ctx, b))
					require.Len(w, w.seen(), 2)
					w.fault(fault)
					require.NoError(w, w.DeleteVMs(ctx, w.seen()))
					time.Sleep(time.Minute)
					assert.Len(w, w.cloud.State().Operations, 6+3*i, "one for both, and one for the deletion of each")
				}
			})
		})
	}
}
