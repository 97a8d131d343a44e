package apply

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"slurmflex/flex/plan/action"
)

// Flights are the action queues in progress. A queue in progress is not started again, and no two
// flights request the same instance. Both rules hold until the next pass starts to look, even if
// the flight has ended: the current pass may have looked too early to see the flight's results.
// Only the pass itself uses Flights.
type Flights struct {
	queues map[string]*flight
	failed atomic.Int64 // actions that failed since the last count
	// The nodes whose machines may be requested by the newest plan; see plan.Plan.Needed.
	needed atomic.Pointer[map[string]bool]
}

// flight is one queue in progress.
type flight struct {
	actions []action.Action
	asks    []string      // instances that the queue requests
	ended   chan struct{} // closed when the flight has ended
}

// Apply starts the queues of actions in parallel and waits until all flights have ended or patience
// has elapsed. Remaining flights continue during the next passes, but request machines only for
// nodes that the newest plan needs. It returns the number of actions that failed since its last call.
func (f *Flights) Apply(ctx context.Context, h Hands, actions []action.Action, needed map[string]bool, patience time.Duration) (failed int) {
	f.needed.Store(&needed)
	h.needs = func(node string) bool { return (*f.needed.Load())[node] }
	for _, q := range f.begin(actions) {
		go func() {
			f.failed.Add(int64(h.Work(ctx, q.actions)))
			close(q.ended)
		}()
	}
	if landed := f.Landed(); landed != nil {
		select {
		case <-landed:
		case <-time.After(patience):
		}
	}
	return int(f.failed.Swap(0))
}

// begin records the queues of actions as flights and returns them in order. It skips queues that
// are already in progress and queues that request an instance that another flight requests.
func (f *Flights) begin(actions []action.Action) (begun []*flight) {
	var order []string
	queues, asked := map[string]*flight{}, map[string]bool{}
	for _, q := range f.queues {
		for _, name := range q.asks {
			asked[name] = true
		}
	}
	for _, a := range actions {
		name := action.About(a).Queue
		q := queues[name]
		if q == nil {
			q = &flight{ended: make(chan struct{})}
			queues[name], order = q, append(order, name)
		}
		q.actions, q.asks = append(q.actions, a), append(q.asks, requestedBy(a)...)
	}
	if f.queues == nil {
		f.queues = map[string]*flight{}
	}
	for _, name := range order {
		q := queues[name]
		if f.queues[name] != nil || slices.ContainsFunc(q.asks, func(name string) bool { return asked[name] }) {
			continue
		}
		for _, name := range q.asks {
			asked[name] = true
		}
		f.queues[name], begun = q, append(begun, q)
	}
	return begun
}

// requestedBy returns the nodes that an action requests machines for.
func requestedBy(a action.Action) []string {
	switch a := a.(type) {
	case action.CreateRequest:
		return a.Spec.Instances
	case action.BulkInsert:
		return a.Spec.Instances
	}
	return nil
}

// Forget drops the flights that have ended. A pass that starts to look now sees their results.
func (f *Flights) Forget() {
	maps.DeleteFunc(f.queues, func(_ string, q *flight) bool { return q.hasEnded() })
}

// Asking returns the instances that current flights request.
func (f *Flights) Asking() map[string]bool {
	names := map[string]bool{}
	for _, q := range f.queues {
		if q.hasEnded() {
			continue
		}
		for _, name := range q.asks {
			names[name] = true
		}
	}
	return names
}

// Landed returns a channel that is closed when the last flight has ended; nil without flights.
func (f *Flights) Landed() <-chan struct{} {
	flying := slices.DeleteFunc(slices.Collect(maps.Values(f.queues)), (*flight).hasEnded)
	if len(flying) == 0 {
		return nil
	}
	landed := make(chan struct{})
	go func() {
		for _, q := range flying {
			<-q.ended
		}
		close(landed)
	}()
	return landed
}

func (f *flight) hasEnded() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}
