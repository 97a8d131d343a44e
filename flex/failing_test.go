package flex

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/test/fakegce"
)

// failingCall is a kind of failing call.
type failingCall struct {
	fault   fakegce.Fault
	prepare func(*world)
	words   string // the text in every output
}

// faces records every pass's outputs about job 1, from the first pass that starts after the first
// failed call.
type faces struct {
	w       *world
	words   string
	mu      sync.Mutex
	failed  time.Time
	looked  int
	aloft   int // passes with a call in flight
	comment []string
}

func (f *faces) did(a action.Action, _ time.Time, _ time.Duration, err error) {
	defer locked(&f.mu)()
	if err == nil || !f.failed.IsZero() {
		return
	}
	switch a.(type) {
	case action.CreatePolicy, action.CreateGroup, action.CreateRequest, action.BulkInsert:
		f.failed = f.w.Now()
	}
}

func (f *faces) stood(err error) { assert.NoError(f.w, err) }

func (f *faces) saw(s *scene.Scene, p plan.Plan) {
	snap := s.Seen
	defer locked(&f.mu)()
	if f.failed.IsZero() || snap.Begun.Before(f.failed) {
		return
	}
	f.looked++
	if len(snap.Asking)+len(snap.Inserted) > 0 {
		f.aloft++
	}
	v := view.Of(s, p)
	rows := slices.DeleteFunc(v.Rows, func(r view.Row) bool { return !slices.Contains(r.Jobs, 1) })
	if !assert.Len(f.w, rows, 1) {
		return
	}
	row := rows[0]
	assert.Equal(f.w, view.Waiting, row.State)
	assert.WithinDuration(f.w, f.failed, row.FailingSince, time.Second)
	assert.Regexp(f.w, "^"+f.words, row.Obstacle, "JSON")
	assert.Regexp(f.w, "^"+f.words, view.Details([]view.Row{row}, snap.Now)[0], "status and page")
	v.Daemon = &view.Daemon{}
	why, err := v.Why("1", snap.Now, nil)
	assert.NoError(f.w, err)
	assert.Regexp(f.w, "^"+f.words, why.Cause, "why")
	assert.Condition(f.w, func() bool {
		return slices.ContainsFunc(v.Problems, func(text string) bool { return strings.HasPrefix(text, row.Group+": "+row.Obstacle) })
	}, "problem: %s", v.Problems)
	for _, a := range p.Actions {
		if c, ok := a.(action.CommentJob); ok {
			f.comment = append(f.comment, c.Text)
		}
	}
}

// U1
func TestFailingCallReadsTheSameEverywhere(t *testing.T) {
	const (
		rate        = `refused for now \(rate limit\)`
		unavailable = `failing for now \(Compute is unavailable\)`
		requests    = "regionInstanceGroupManagerResizeRequests.insert"
	)
	bulks := func(w *world) { w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true }
	eachInWorld(t, map[string]failingCall{
		"request, network":       {fakegce.Fault{Method: requests, Drop: true}, nil, unavailable},
		"request, slow, 429":     {fakegce.Fault{Method: requests, Delay: 20 * time.Second, Status: http.StatusTooManyRequests}, nil, rate},
		"policy, rate limit":     {fakegce.Fault{Method: "resourcePolicies.insert", Status: http.StatusTooManyRequests}, placing, rate},
		"bulk insert, slow, 503": {fakegce.Fault{Method: "instances.bulkInsert", Delay: 20 * time.Second, Status: http.StatusServiceUnavailable}, bulks, unavailable},
	}, func(w *world, c failingCall) {
		if c.prepare != nil {
			c.prepare(w)
		}
		w.fault(c.fault)
		f := &faces{w: w, words: c.words}
		w.Watch = Watchers{{Saw: f.saw, Did: f.did, Stood: f.stood}}
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		stop := w.daemon(nil)
		time.Sleep(10 * time.Minute)
		stop()
		assert.Greater(w, f.looked, 3)
		assert.Positive(w, f.aloft, "a pass looks while a call is in flight")
		require.Len(w, f.comment, 1, "the AdminComment does not change with each attempt")
		assert.Regexp(w, "^flex-start: "+c.words, f.comment[0])
	})
}
