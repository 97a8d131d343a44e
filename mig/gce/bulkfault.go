package gce

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	rest "google.golang.org/api/compute/v1"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/encoding/protojson"
)

// shortfall returns an error if a bulk insert ended without one, but by its own count created fewer
// instances than wanted.
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

// locationTexts describes the progress of a bulk insert in each location that it tried; it is empty
// for other operations.
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

// partFaults returns the faults of the operations that make up a bulk insert, one per code and
// zone. Often only these explain the missing instances: the bulk insert's own error may only report
// that too few were created. Read errors are ignored, because the bulk insert's error is reported
// in any case.
func (c *Client) partFaults(ctx context.Context, bulk *computepb.Operation) []fault {
	if bulk.GetOperationGroupId() == "" {
		return nil
	}
	parts := make(map[string][]*computepb.Operation) // by scope, such as zones/us-central1-a
	call := c.rest().GlobalOperations.AggregatedList(c.project).Filter(fmt.Sprintf("operationGroupId = %q", bulk.GetOperationGroupId())).MaxResults(pageSize)
	var all pages
	err := call.Pages(calling(ctx, "globalOperations.aggregatedList"), func(l *rest.OperationAggregatedList) error {
		for scope, list := range l.Items {
			for _, one := range list.Operations {
				op, err := operationOf(one)
				if err != nil {
					return err
				}
				parts[scope] = append(parts[scope], op)
			}
		}
		return all.add(page{kind: l.Kind, next: l.NextPageToken})
	})
	if err != nil {
		return nil
	}
	var faults []fault
	for _, scope := range slices.Sorted(maps.Keys(parts)) {
		faults = append(faults, distinctFaults(parts[scope], bulk.GetName(), path.Base(scope))...)
	}
	return faults
}

// operationOf returns an operation of the REST API in the type of the client that acts.
func operationOf(op *rest.Operation) (*computepb.Operation, error) {
	text, err := json.Marshal(op)
	if err != nil {
		return nil, err
	}
	same := new(computepb.Operation)
	return same, (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, same)
}

// distinctFaults returns the faults of a zone's operations, one per code.
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
