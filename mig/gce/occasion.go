package gce

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	rest "google.golang.org/api/compute/v1"

	"github.com/google/uuid"

	"slurmflex/mig"
)

const (
	// madeBefore is how long a successful bulk insert must have ended before its instances count as
	// deleted if a list lacks them: longer than lists lag, and than a pass takes from its lists to its
	// calls.
	madeBefore = 3 * time.Minute
	// mostSpent is how many used-up requestIds of an occasion a call tries before it takes a new one.
	// Of the failures that the caller knows, half as many may have used up none, because Compute
	// refused the call without an operation, or may be unknown to other processes.
	mostSpent = 20
	// mostRemembered bounds each map of requestIDs.
	mostRemembered = 1000
)

// requestIDs chooses the requestIds of bulk inserts. It remembers only what saves calls, or what
// matters to this process alone.
type requestIDs struct {
	mu      sync.Mutex
	spent   map[string]int    // by occasion: the IDs that are used up
	unknown map[string]string // by instances: the last ID without an occasion, if its outcome is unknown
}

// beginBulk starts a bulk insert, or returns the operation of an earlier call for the same occasion,
// and the requestId. An operation without effect uses up its ID.
func (c *Client) beginBulk(ctx context.Context, b mig.BulkSpec) (op *rest.Operation, id string, err error) {
	do := c.bulkInRegion
	if len(b.Zones) == 1 {
		do = c.bulkInZone
	}
	for id = range c.ids.of(c.project, b) {
		before := c.Date()
		if op, err = do(ctx, b, id); !isPast(op, before) {
			break
		}
	}
	return op, id, err
}

// isPast reports whether an operation has no effect any more at a time of Compute's clock: it failed
// before that time, or lists would show its instances if they existed. op may be nil.
func isPast(op *rest.Operation, at time.Time) bool {
	if op == nil || op.Status != opDone {
		return false
	}
	ended, err := time.Parse(time.RFC3339, op.EndTime)
	if len(operationFaults(op)) == 0 {
		ended = ended.Add(madeBefore)
	}
	return err == nil && ended.Before(at)
}

// of returns the IDs to try, one after the other. Those of an occasion are numbered, so all processes
// use the same ones; the last ID is new.
func (r *requestIDs) of(project string, b mig.BulkSpec) iter.Seq[string] {
	return func(yield func(string) bool) {
		r.mu.Lock()
		first, unknown := max(r.spent[b.Occasion], b.Failed-mostSpent/2), r.unknown[keyOf(b)]
		r.mu.Unlock()
		switch {
		case b.Occasion == "" && unknown != "":
			if !yield(unknown) {
				return
			}
		case b.Occasion != "":
			for n := first; n < first+mostSpent; n++ {
				name := fmt.Sprintf("slurmflex/%s/%s/%s/%d", project, b.Region, b.Occasion, n)
				if !yield(uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()) {
					return
				}
				r.note(b.Occasion, n+1)
			}
		}
		yield(uuid.NewString())
	}
}

func (r *requestIDs) note(occasion string, spent int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spent == nil || len(r.spent) >= mostRemembered {
		r.spent = map[string]int{}
	}
	r.spent[occasion] = spent
}

// end records whether the outcome of a call is unknown.
func (r *requestIDs) end(b mig.BulkSpec, id string, unknown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unknown, keyOf(b))
	if !unknown || b.Occasion != "" {
		return
	}
	if r.unknown == nil || len(r.unknown) >= mostRemembered {
		r.unknown = map[string]string{}
	}
	r.unknown[keyOf(b)] = id
}

func keyOf(b mig.BulkSpec) string { return b.Region + "/" + strings.Join(b.Instances, ",") }
