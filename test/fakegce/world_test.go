package fakegce

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"
	"google.golang.org/protobuf/proto"

	"slurmflex/test/must"
)

const (
	testProject = "demo"
	testRegion  = "us-central1"
	testMachine = "a3-highgpu-8g"
)

// world is a fake with a manual clock, accessed through Google's own client. test/foreign
// compares answers with the discovery document.
type world struct {
	*Server
	t         *testing.T
	groups    *compute.RegionInstanceGroupManagersClient
	requests  *compute.RegionInstanceGroupManagerResizeRequestsClient
	instances *compute.InstancesClient
	ops       *compute.RegionOperationsClient
	http      *http.Client
	options   []option.ClientOption // for additional clients
}

// newWorld returns a world with a flex-start template "a3".
func newWorld(t *testing.T, opts Options) *world {
	t.Helper()
	if opts.Clock == nil {
		opts.Clock = NewManualClock(time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC))
	}
	w := &world{Server: New(opts), t: t}
	must.Get(w.AddTemplate(testRegion, FlexTemplate("a3", testMachine)))
	w.http = &http.Client{Transport: w.Transport()}
	w.options = []option.ClientOption{option.WithEndpoint("http://fake"), option.WithHTTPClient(w.http)}
	ctx := t.Context()
	w.groups = must.Get(compute.NewRegionInstanceGroupManagersRESTClient(ctx, w.options...))
	w.requests = must.Get(compute.NewRegionInstanceGroupManagerResizeRequestsRESTClient(ctx, w.options...))
	w.instances = must.Get(compute.NewInstancesRESTClient(ctx, w.options...))
	w.ops = must.Get(compute.NewRegionOperationsRESTClient(ctx, w.options...))
	return w
}

// granted returns a world with an accepted request r for these instances in group m.
func granted(t *testing.T, opts Options, instances ...string) *world {
	t.Helper()
	return newWorld(t, opts).given(instances)
}

// queued returns the same world as granted, but without capacity.
func queued(t *testing.T, opts Options, instances ...string) *world {
	t.Helper()
	w := newWorld(t, opts)
	w.SetCapacity("", "", 0)
	return w.given(instances)
}

func (w *world) given(instances []string) *world {
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", instances...)
	return w
}

// flexGroup returns the body of a group that suits flex-start.
func flexGroup(name string, zones ...string) *computepb.InstanceGroupManager {
	g := &computepb.InstanceGroupManager{
		Name: proto.String(name), BaseInstanceName: proto.String(name), TargetSize: proto.Int32(0),
		Versions: []*computepb.InstanceGroupManagerVersion{{
			InstanceTemplate: proto.String("projects/demo/regions/us-central1/instanceTemplates/a3"),
		}},
		DistributionPolicy: &computepb.DistributionPolicy{TargetShape: proto.String("ANY_SINGLE_ZONE")},
		UpdatePolicy: &computepb.InstanceGroupManagerUpdatePolicy{
			Type: proto.String("OPPORTUNISTIC"), InstanceRedistributionType: proto.String("NONE"),
		},
		InstanceLifecyclePolicy: &computepb.InstanceGroupManagerInstanceLifecyclePolicy{
			DefaultActionOnFailure: proto.String("DO_NOTHING"),
		},
	}
	for _, z := range zones {
		g.DistributionPolicy.Zones = append(g.DistributionPolicy.Zones,
			&computepb.DistributionPolicyZoneConfiguration{Zone: proto.String("projects/demo/zones/" + z)})
	}
	return g
}

func (w *world) insertGroup(g *computepb.InstanceGroupManager) (*compute.Operation, error) {
	return w.groups.Insert(w.t.Context(), &computepb.InsertRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManagerResource: g,
	})
}

// givenGroup creates a flex-start group.
func (w *world) givenGroup(name string, zones ...string) {
	w.t.Helper()
	w.begun(w.insertGroup(flexGroup(name, zones...)))
	w.Advance(w.opts.OperationTime)
}

// namedRequest returns the body of a resize request for one hour.
func namedRequest(name string, instances ...string) *computepb.InstanceGroupManagerResizeRequest {
	r := &computepb.InstanceGroupManagerResizeRequest{
		Name: proto.String(name), RequestedRunDuration: &computepb.Duration{Seconds: proto.Int64(3600)},
	}
	for _, n := range instances {
		r.Instances = append(r.Instances, &computepb.PerInstanceConfig{Name: proto.String(n)})
	}
	return r
}

func (w *world) insertRequest(group string, r *computepb.InstanceGroupManagerResizeRequest) (*compute.Operation, error) {
	return w.requests.Insert(w.t.Context(), &computepb.InsertRegionInstanceGroupManagerResizeRequestRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: group,
		InstanceGroupManagerResizeRequestResource: r,
	})
}

// givenRequest creates a resize request and waits until it is accepted.
func (w *world) givenRequest(group, name string, instances ...string) {
	w.t.Helper()
	op := w.begun(w.insertRequest(group, namedRequest(name, instances...)))
	w.Advance(w.opts.OperationTime)
	require.Nil(w.t, w.operation(op.Name()).GetError())
}

func (w *world) request(group, name string) *computepb.InstanceGroupManagerResizeRequest {
	w.t.Helper()
	for _, r := range w.requestsOf(group) {
		if r.GetName() == name {
			return r
		}
	}
	require.FailNow(w.t, "no such request", name)
	return nil
}

// requestsOf returns a group's resize requests, sorted by name.
func (w *world) requestsOf(group string) (all []*computepb.InstanceGroupManagerResizeRequest) {
	w.t.Helper()
	for r, err := range w.requests.List(w.t.Context(), &computepb.ListRegionInstanceGroupManagerResizeRequestsRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: group,
	}).All() {
		require.NoError(w.t, err)
		all = append(all, r)
	}
	return all
}

func (w *world) cancelRequest(group, name string) (*compute.Operation, error) {
	return w.requests.Cancel(w.t.Context(), &computepb.CancelRegionInstanceGroupManagerResizeRequestRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: group, ResizeRequest: name,
	})
}

func (w *world) deleteRequest(group, name string) (*compute.Operation, error) {
	return w.requests.Delete(w.t.Context(), &computepb.DeleteRegionInstanceGroupManagerResizeRequestRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: group, ResizeRequest: name,
	})
}

func (w *world) group(name string) *computepb.InstanceGroupManager {
	w.t.Helper()
	g, err := w.groups.Get(w.t.Context(), &computepb.GetRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: name,
	})
	require.NoError(w.t, err)
	return g
}

func (w *world) deleteGroup(name string) (*compute.Operation, error) {
	return w.groups.Delete(w.t.Context(), &computepb.DeleteRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: name,
	})
}

func (w *world) deleteInstances(group string, refs ...string) (*compute.Operation, error) {
	return w.groups.DeleteInstances(w.t.Context(), &computepb.DeleteInstancesRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: group,
		RegionInstanceGroupManagersDeleteInstancesRequestResource: &computepb.RegionInstanceGroupManagersDeleteInstancesRequest{Instances: refs},
	})
}

// members returns a group's managed instances by name, as Google's client sees them.
func (w *world) members(group string) map[string]*computepb.ManagedInstance {
	w.t.Helper()
	found := make(map[string]*computepb.ManagedInstance)
	it := w.groups.ListManagedInstances(w.t.Context(), &computepb.ListManagedInstancesRegionInstanceGroupManagersRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: group,
	})
	for m, err := range it.All() {
		require.NoError(w.t, err)
		found[m.GetName()] = m
	}
	return found
}

// begun returns a call's operation and fails the test on an error.
func (w *world) begun(op *compute.Operation, err error) *compute.Operation {
	w.t.Helper()
	require.NoError(w.t, err)
	return op
}

// shows summarizes group m: its target size, its requests' states, and each member's current
// action and instance status.
func (w *world) shows() string {
	w.t.Helper()
	text := fmt.Sprint(w.group("m").GetTargetSize())
	for _, r := range w.requestsOf("m") {
		text += fmt.Sprintf("; %s %s", r.GetName(), r.GetState())
	}
	members := w.members("m")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text += fmt.Sprintf("; %s %s %s", name, members[name].GetCurrentAction(), members[name].GetInstanceStatus())
	}
	return strings.ReplaceAll(text+";", " ;", ";")
}

// vm returns an instance from the world's state, or the zero Instance if it does not exist.
func (w *world) vm(name string) Instance {
	v, _ := w.State().Instance(name)
	return v
}

func (w *world) operation(name string) *computepb.Operation {
	w.t.Helper()
	op, err := w.ops.Get(w.t.Context(), &computepb.GetRegionOperationRequest{Project: testProject, Region: testRegion, Operation: name})
	require.NoError(w.t, err)
	return op
}

// outcome returns the error code of a finished operation ("" for success), or the status of an
// unfinished one.
func (w *world) outcome(op *compute.Operation) string {
	w.t.Helper()
	now := w.operation(op.Name())
	if now.GetStatus() != computepb.Operation_DONE {
		return now.GetStatus().String()
	}
	for _, e := range now.GetError().GetErrors() {
		return e.GetCode()
	}
	return ""
}
