package gce

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	rest "google.golang.org/api/compute/v1"

	compute "cloud.google.com/go/compute/apiv1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// waitPace is the minimum time between two calls of operations.wait. Compute holds each call until
// the operation is done, for up to 120 s, but may answer immediately when it is overloaded.
const waitPace = time.Second

// opDone is the status of an operation that is done.
const opDone = "DONE"

// send is a method of Google's client that sends a mutation. O are its options.
type send[R, O any] = func(ctx context.Context, request R, options ...O) (*compute.Operation, error)

// wait makes one operations.wait call in the operation's scope.
type wait func(ctx context.Context, operation string) (*rest.Operation, error)

func (c *Client) inRegion(region string) wait {
	return func(ctx context.Context, operation string) (*rest.Operation, error) {
		return c.rest().RegionOperations.Wait(c.project, region, operation).Context(calling(ctx, "regionOperations.wait")).Do()
	}
}

func (c *Client) inZone(zone string) wait {
	return func(ctx context.Context, operation string) (*rest.Operation, error) {
		return c.rest().ZoneOperations.Wait(c.project, zone, operation).Context(calling(ctx, "zoneOperations.wait")).Do()
	}
}

// newID returns the requestId of a mutation that is made once, on whatever number of attempts.
func newID() *string { return proto.String(uuid.NewString()) }

// mutate sends a mutation and waits until its operation is done or ctx ends.
func mutate[R, O any](ctx context.Context, on wait, method string, do send[R, O], request R) error {
	op, err := begin(ctx, method, do, request)
	if err != nil {
		return err
	}
	_, err = await(ctx, on, op)
	return err
}

// begin sends a mutation, which has a requestId, and returns its operation, which may still be
// running, in the type of the client that reads.
func begin[R, O any](ctx context.Context, method string, do send[R, O], request R) (*rest.Operation, error) {
	sent, err := do(calling(ctx, method), request)
	if err != nil {
		return nil, err
	}
	if sent.Name() == "" {
		return nil, errors.New("the answer is not an operation")
	}
	text, err := protojson.Marshal(sent.Proto())
	if err != nil {
		return nil, err
	}
	op, err := recast[*rest.Operation](json.RawMessage(text))
	if err != nil {
		return nil, err
	}
	return op, outcome(op)
}

// await waits until the operation is done and reads the outcome from the operation's record.
func await(ctx context.Context, on wait, op *rest.Operation) (*rest.Operation, error) {
	name := op.Name
	for op.Status != opDone {
		next := time.Now().Add(waitPace)
		var err error
		if op, err = on(ctx, name); err != nil {
			return nil, &lostError{name, err}
		}
		if op.Status != opDone && !sleep(ctx, time.Until(next)) {
			return nil, &lostError{name, context.Cause(ctx)}
		}
	}
	return op, outcome(op)
}

// outcome returns the operation's error; nil if it has none.
func outcome(op *rest.Operation) error {
	if faults := operationFaults(op); len(faults) > 0 {
		return &operationError{faults}
	}
	return nil
}
