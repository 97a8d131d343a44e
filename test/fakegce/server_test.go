package fakegce

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
