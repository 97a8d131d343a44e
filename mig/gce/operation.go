package gce

import (
	"context"
	"errors"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/google/uuid"
)

// waitPace is the minimum time between two calls of operations.wait. Compute holds each call until
// the operation is done, for up to 120 s, but may answer immediately when it is overloaded.
const waitPace = time.Second

// send sends a mutation with a requestId.
type send func(ctx context.Context, requestID *string) (*compute.Operation, error)

// wait makes one operations.wait call in the operation's scope.
type wait func(ctx context.Context, operation string) (*computepb.Operation, error)

func (c *Client) inRegion(region string) wait {
	return func(ctx context.Context, operation string) (*computepb.Operation, error) {
		return c.regionOperations.Wait(calling(ctx, "regionOperations.wait"), &computepb.WaitRegionOperationRequest{
			Project: c.project, Region: region, Operation: operation,
		})
	}
}

func (c *Client) inZone(zone string) wait {
	return func(ctx context.Context, operation string) (*computepb.Operation, error) {
		return c.zoneOperations.Wait(calling(ctx, "zoneOperations.wait"), &computepb.WaitZoneOperationRequest{
			Project: c.project, Zone: zone, Operation: operation,
		})
	}
}

// mutate sends a mutation and waits until its operation is done or ctx ends.
func mutate(ctx context.Context, on wait, method string, do send) error {
	op, err := begin(ctx, method, uuid.NewString(), do)
	if err != nil {
		return err
	}
	_, err = await(ctx, on, op)
	return err
}

// begin sends a mutation with the same requestId on each attempt, and returns its operation, which
// may still be running.
func begin(ctx context.Context, method, id string, do send) (*computepb.Operation, error) {
	op, err := do(calling(ctx, method), &id)
	if err != nil {
		return nil, err
	}
	if op.Name() == "" {
		return nil, errors.New("the answer is not an operation")
	}
	return op.Proto(), outcome(op.Proto())
}

// await waits until the operation is done and reads the outcome from the operation's record.
func await(ctx context.Context, on wait, op *computepb.Operation) (*computepb.Operation, error) {
	name := op.GetName()
	for op.GetStatus() != computepb.Operation_DONE {
		next := time.Now().Add(waitPace)
		var err error
		if op, err = on(ctx, name); err != nil {
			return nil, &lostError{name, err}
		}
		if op.GetStatus() != computepb.Operation_DONE && !sleep(ctx, time.Until(next)) {
			return nil, &lostError{name, context.Cause(ctx)}
		}
	}
	return op, outcome(op)
}

// outcome returns the operation's error; nil if it has none.
func outcome(op *computepb.Operation) error {
	if faults := operationFaults(op); len(faults) > 0 {
		return &operationError{faults}
	}
	return nil
}
