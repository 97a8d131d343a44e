package gce

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// shortfall is the error of a bulk insert that ended without one, but by its
// own count made fewer instances than were wanted.
func shortfall(op *computepb.Operation, wanted int) error {
	status := op.GetInstancesBulkInsertOperationMetadata().GetPerLocationStatus()
	created := 0
	for s := range maps.Values(status) {
		created += int(s.GetCreatedVmCount())
	}
	if len(status) == 0 || created >= wanted {
		return nil
	}
	return &operationError{[]fault{{
		message: fmt.Sprintf("%d of %d instances created", created, wanted),
		details: locationTexts(op),
	}}}
}

// locationTexts say how far a bulk insert came in each location that it tried;
// no other operation has any.
func locationTexts(op *computepb.Operation) []string {
	status := op.GetInstancesBulkInsertOperationMetadata().GetPerLocationStatus()
	var texts []string
	for _, location := range slices.Sorted(maps.Keys(status)) {
		s := status[location]
		texts = append(texts, fmt.Sprintf("%s: %d of %d created, %d failed, %d deleted", path.Base(location),
			s.GetCreatedVmCount(), s.GetTargetVmCount(), s.GetFailedToCreateVmCount(), s.GetDeletedVmCount()))
	}
	return texts
}

// partFaults are the faults of the operations that a bulk insert consists of,
// one of each code in each zone. Often only they say why the instances did not
// come: the bulk insert's own error may be that they were too few. They are
// left out if they cannot be read, for the error stands without them.
func (c *Client) partFaults(ctx context.Context, bulk *computepb.Operation) []fault {
	if bulk.GetOperationGroupId() == "" {
		return nil
	}
	parts := make(map[string][]*computepb.Operation) // by scope, such as zones/us-central1-a
	query := url.Values{"filter": {fmt.Sprintf("operationGroupId = %q", bulk.GetOperationGroupId())}}
	err := c.readAggregated(calling(ctx, "globalOperations.aggregatedList"), "operations", query, func(s *stream) error {
		return s.members(func(scope string) error {
			var list computepb.OperationsScopedList
			if err := understand(s.next(), &list); err != nil {
				return err
			}
			parts[scope] = append(parts[scope], list.GetOperations()...)
			return nil
		})
	}, nil)
	if err != nil {
		return nil
	}
	var faults []fault
	for _, scope := range slices.Sorted(maps.Keys(parts)) {
		faults = append(faults, distinctFaults(parts[scope], bulk.GetName(), path.Base(scope))...)
	}
	return faults
}

// understand reads a message of Google's.
func understand(text []byte, m proto.Message) error {
	return notUnderstood((protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, m))
}

// distinctFaults are the faults of a zone's operations, one of each code.
func distinctFaults(operations []*computepb.Operation, except, zone string) []fault {
	var faults []fault
	for _, op := range operations {
		if op.GetName() == except {
			continue
		}
		for _, f := range operationFaults(op) {
			if !slices.ContainsFunc(faults, func(known fault) bool { return known.code == f.code }) {
				f.details = append(f.details, "in "+zone)
				faults = append(faults, f)
			}
		}
	}
	return faults
}
