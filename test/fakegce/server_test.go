package fakegce

import (
	"fmt"
	"slices"
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
