package gce

import (
	"context"
	"errors"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/google/uuid"
)

// waitPace is the least time between two calls of operations.wait. Compute
// holds each until the operation is done, for up to 120 s, but may also answer
// at once when it is overloaded.
const waitPace = time.Second

// mutate sends a mutation under a requestId of its own, the same for each
// attempt, and waits until its operation is done or ctx ends.
func (c *Client) mutate(ctx context.Context, region, method string, send func(ctx context.Context, requestID *string) (*compute.Operation, error)) error {
	id := uuid.NewString()
	op, err := send(calling(ctx, method), &id)
	if err != nil {
		return err
	}
	return c.await(ctx, region, op.Proto())
}

// await waits until the operation is done, and reads its outcome from its own
// record.
func (c *Client) await(ctx context.Context, region string, op *computepb.Operation) error {
	name := op.GetName()
	if name == "" {
		return errors.New("the answer is not an operation")
	}
	ctx = calling(ctx, methodOfWait)
	for op.GetStatus() != computepb.Operation_DONE {
		next := time.Now().Add(waitPace)
		var err error
		op, err = c.operations.Wait(ctx, &computepb.WaitRegionOperationRequest{Project: c.project, Region: region, Operation: name})
		if err != nil {
			return &lostError{name, err}
		}
		if op.GetStatus() != computepb.Operation_DONE && !sleep(ctx, time.Until(next)) {
			return &lostError{name, context.Cause(ctx)}
		}
	}
	if faults := operationFaults(op); len(faults) > 0 {
		return &operationError{faults}
	}
	return nil
}
