package fakegce

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerUsesTheBubblesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{
			Clock: NewWallClock(), OperationTime: time.Second, BootTime: time.Minute, DeleteTime: time.Minute,
		})
		begun := time.Now()
		w.wait(w.insertGroup(flexGroup("m", "us-central1-a")))
		w.wait(w.insertRequest("m", namedRequest("r", "n0")))
		assert.Equal(t, 2*time.Second, time.Since(begun), "wait answers as soon as an operation is done")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "RUNNING", w.vm("n0").Status)
		assert.True(t, w.vm("n0").Terminates.Equal(begun.Add(2*time.Second+time.Minute+time.Hour)))
		time.Sleep(62 * time.Minute)
		assert.Empty(t, w.State().Instances)
	})
}

func TestWaitReturnsAfterTwoMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Clock: NewWallClock(), OperationTime: time.Hour})
		op := w.begun(w.insertGroup(flexGroup("m")))
		begun := time.Now()
		now := w.wait(op, nil)
		assert.Equal(t, 2*time.Minute, time.Since(begun))
		assert.Equal(t, computepb.Operation_RUNNING, now.GetStatus())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.ops.Wait(ctx, &computepb.WaitRegionOperationRequest{Project: testProject, Region: testRegion, Operation: op.Name()})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2*time.Minute+time.Second, time.Since(begun))
	})
}

// wait calls regionOperations.wait once.
func (w *world) wait(op *compute.Operation, err error) *computepb.Operation {
	w.t.Helper()
	require.NoError(w.t, err)
	now, err := w.ops.Wait(w.t.Context(), &computepb.WaitRegionOperationRequest{Project: testProject, Region: testRegion, Operation: op.Name()})
	require.NoError(w.t, err)
	return now
}

func TestWallClockCanBeAdvanced(t *testing.T) {
	w := granted(t, Options{Clock: NewWallClock(), BootTime: time.Hour}, "n0")
	w.Advance(2*time.Hour + time.Minute)
	assert.Empty(t, w.State().Instances, "booted after an hour, and ended an hour later")
}

func TestHooksAreCalledOncePerInstanceInOrder(t *testing.T) {
	var calls []string
	w := newWorld(t, Options{
		BootTime: 20 * time.Second, DeleteTime: 10 * time.Second,
		OnBoot:   func(v Instance) { calls = append(calls, "boot "+v.Name+" "+v.Zone+" "+v.Group+" "+v.Status) },
		OnDelete: func(v Instance) { calls = append(calls, "delete "+v.Name+" "+v.Status) },
	})
	w.givenGroup("m", "us-central1-f")
	w.givenRequest("m", "r", "lives", "vanishes", "stops")
	w.Advance(20 * time.Second)
	w.SetCapacity("", "", 4)
	w.givenRequest("m", "s", "never-boots")
	require.NoError(t, w.StopVM("stops"))
	require.NoError(t, w.DeleteVM("vanishes"))
	w.begun(w.deleteInstances("m", "zones/us-central1-f/instances/stops"))
	w.begun(w.cancelRequest("m", "s"))
	w.Advance(2 * time.Hour)
	assert.Equal(t, []string{
		"boot lives us-central1-f m RUNNING", "boot vanishes us-central1-f m RUNNING", "boot stops us-central1-f m RUNNING",
		"delete stops TERMINATED", "delete vanishes STOPPING", "delete lives STOPPING",
	}, calls)
}

func TestHookMayCallTheServer(t *testing.T) {
	var s *Server
	var seen []string
	w := newWorld(t, Options{
		OnBoot:   func(v Instance) { seen = append(seen, v.Name); _ = s.DeleteVM(v.Name) },
		OnDelete: func(Instance) { seen = append(seen, fmt.Sprint(len(s.State().Instances))) },
	})
	s = w.Server
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")
	assert.ElementsMatch(t, []string{"n0", "n1"}, seen[:2])
	assert.Equal(t, []string{"0", "0"}, seen[2:])
	assert.Len(t, seen, 4)
}

func TestConcurrentCallersLeaveAConsistentWorld(t *testing.T) {
	w := newWorld(t, Options{Clock: NewWallClock(), OperationTime: time.Millisecond, BootTime: time.Millisecond, DeleteTime: time.Millisecond, AttemptInterval: time.Millisecond})
	w.SetCapacity("", "", 5)
	w.givenGroup("m")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := w.insertRequest("m", namedRequest(fmt.Sprintf("r%d", i), fmt.Sprintf("n%d", i)))
			assert.NoError(t, err)
			_, _ = w.cancelRequest("m", fmt.Sprintf("r%d", i)) // may be too late
		})
	}
	all.Wait()
	settled := func() bool {
		g, _ := w.State().Group("m")
		return !slices.ContainsFunc(g.Requests, func(r Request) bool { return r.State == "CREATING" || r.State == "ACCEPTED" })
	}
	require.Eventually(t, settled, time.Minute, time.Millisecond)
	succeeded := func(g Group) (n int) {
		for _, r := range g.Requests {
			n += map[bool]int{true: 1}[r.State == "SUCCEEDED"]
		}
		return n
	}
	require.Eventually(t, func() bool {
		st := w.State()
		g, _ := st.Group("m")
		return len(st.Instances) == succeeded(g) && g.TargetSize == succeeded(g) && len(g.Members) == succeeded(g)
	}, time.Minute, time.Millisecond)
}

func TestManualClockRunsAlarmsInOrderAtTheirTimes(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := NewManualClock(start)
	var rang []time.Duration
	ring := func() { rang = append(rang, c.Now().Sub(start)) }
	c.AfterFunc(3*time.Second, ring)
	c.AfterFunc(time.Second, func() { ring(); c.AfterFunc(time.Second, ring) })
	stop := c.AfterFunc(2500*time.Millisecond, ring)
	stop()
	c.Advance(4 * time.Second)
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, rang)
	assert.Equal(t, start.Add(4*time.Second), c.Now())
}

func TestJournalKeepsEveryCallWithItsAnswer(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	_, _ = w.list(t.Context(), "name = n0")
	w.ask(http.MethodGet, "nothing", "")

	calls := w.Calls()
	require.Len(t, calls, 3)
	assert.Equal(t, "regionInstanceGroupManagers.insert", calls[0].Method)
	assert.Contains(t, calls[0].Body, `"targetSize"`)
	assert.Equal(t, Call{
		Time: w.State().Now, Method: "instances.aggregatedList", Verb: "GET", Status: 200,
		Path: "/compute/v1/projects/demo/aggregated/instances", Query: calls[1].Query,
	}, calls[1])
	assert.Contains(t, calls[1].Query, "filter=name+%3D+n0")
	assert.Equal(t, 501, calls[2].Status)
	assert.Equal(t, map[string]int{"regionInstanceGroupManagers.insert": 1, "instances.aggregatedList": 1, "": 1}, w.Counts())
	w.ResetCalls()
	assert.Empty(t, w.Calls())
	assert.Empty(t, w.Counts())
}

func TestRegionShowsItsQuotas(t *testing.T) {
	w := newWorld(t, Options{})
	require.NoError(t, w.SetQuota(testRegion, "PREEMPTIBLE_NVIDIA_H100_GPUS", 64))
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")
	_, body := w.ask(http.MethodGet, "regions/us-central1", "")
	assert.Contains(t, body, `{"limit":64,"metric":"PREEMPTIBLE_NVIDIA_H100_GPUS","usage":16}`)
}

func FuzzServeHTTP(f *testing.F) {
	const groups = "/compute/v1/projects/demo/regions/us-central1/instanceGroupManagers"
	f.Add("POST", groups, "", `{"name":"x","targetSize":0,"versions":[{"instanceTemplate":"regions/us-central1/instanceTemplates/a3"}]}`)
	f.Add("POST", groups+"/m/resizeRequests", "requestId=1", `{"name":"x","resizeBy":2147483647}`)
	f.Add("POST", groups+"/m/deleteInstances", "", `{"instances":["zones/us-central1-a/instances/n0",""]}`)
	f.Add("PATCH", groups+"/m", "", `{"versions":[null],"targetSize":1}`)
	f.Add("POST", "/compute/v1/projects/demo/regions/us-central1/instances/bulkInsert", "", `{"count":"1","perInstanceProperties":{"a":{}},"instanceProperties":{"machineType":"n2-standard-2","networkInterfaces":[null],"guestAccelerators":[null]}}`)
	f.Add("GET", "/compute/v1/projects/demo/aggregated/instances", "filter=labels.a:*&fields=items/*/warning", "")
	f.Add("POST", "/fake/faults", "", `{"method":"*","status":500}`)
	f.Add("POST", "/fake/capacity", "", `{"count":1}`)
	f.Fuzz(func(t *testing.T, verb, path, query, body string) {
		w := granted(t, Options{}, "n0")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://fake/", nil)
		require.NoError(t, err)
		r.Method, r.URL.Path, r.URL.RawQuery = verb, path, query
		r.Body = http.NoBody
		if body != "" {
			r.Body = readCloser(body)
		}
		answer := w.serve(r)
		w.Advance(time.Hour)
		if !answer.dropped {
			assert.NotZero(t, answer.status)
		}
	})
}

func FuzzFilter(f *testing.F) {
	for _, filter := range []string{`name = "x"`, "name eq a.*", "(name = b) AND (zone:*)", "name:x OR name:y", "-name:x", "labels.a >= 5", "((((", `name="\"`} {
		f.Add(filter)
	}
	w := New(Options{})
	w.do(func() { w.launch("us-central1-a", "n0", FlexTemplate("t", testMachine).Properties) })
	f.Fuzz(func(t *testing.T, filter string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://fake/compute/v1/projects/demo/aggregated/instances", nil)
		require.NoError(t, err)
		q := r.URL.Query()
		q.Set("filter", filter)
		r.URL.RawQuery = q.Encode()
		assert.Contains(t, []int{200, 400, 501}, w.serve(r).status)
	})
}

func readCloser(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }
