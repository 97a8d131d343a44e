package gce

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/google/uuid"

	"slurmflex/mig"
)

// madeBefore is how long a successful bulk insert must have ended before its instances count as
// deleted if a list lacks them: longer than lists lag, and than a pass takes from its lists to its calls.
const madeBefore = 3 * time.Minute

// beginBulk starts a bulk insert, or returns the operation of an earlier call for the same occasion.
// The requestIds of an occasion's calls are numbered, so all processes send the same ones. An
// operation that has no effect any more uses up its requestId, and beginBulk takes the next one.
func (c *Client) beginBulk(ctx context.Context, b mig.BulkSpec) (*computepb.Operation, error) {
	do := c.bulkInRegion
	if len(b.Zones) == 1 {
		do = c.bulkInZone
	}
	if b.Occasion == "" {
		return do(ctx, b, uuid.NewString())
	}
	for n := c.spent.of(b.Occasion); ; n++ {
		before := c.Date()
		id := fmt.Sprintf("slurmflex/%s/%s/%s/%d", c.project, b.Region, b.Occasion, n)
		op, err := do(ctx, b, uuid.NewSHA1(uuid.NameSpaceURL, []byte(id)).String())
		if !isPast(op, before) {
			return op, err
		}
		c.spent.note(b.Occasion, n+1)
	}
}

// isPast reports whether an operation ended before a time of Compute's clock and has no effect any
// more. It may be nil.
func isPast(op *computepb.Operation, at time.Time) bool {
	ended, err := timeOf(op.GetEndTime())
	if err != nil || op.GetStatus() != computepb.Operation_DONE {
		return false
	}
	if len(operationFaults(op)) == 0 {
		ended = ended.Add(madeBefore)
	}
	return ended.Before(at)
}

// spentCalls remembers how many requestIds of an occasion are used up. A process that does not know
// it learns it call by call.
type spentCalls struct {
	mu         sync.Mutex
	byOccasion map[string]int
}

// spentLimit bounds the occasions that spentCalls remembers.
const spentLimit = 1000

func (s *spentCalls) of(occasion string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byOccasion[occasion]
}

func (s *spentCalls) note(occasion string, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byOccasion == nil || len(s.byOccasion) >= spentLimit {
		s.byOccasion = map[string]int{}
	}
	s.byOccasion[occasion] = calls
}
