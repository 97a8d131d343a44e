package gce

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	rest "google.golang.org/api/compute/v1"
)

// shortfall returns an error if a bulk insert ended without one, but by its own count created fewer
// instances than wanted.
func shortfall(op *rest.Operation, wanted int) error {
	progress := op.InstancesBulkInsertOperationMetadata
	created := 0
	if progress != nil {
		for _, s := range progress.PerLocationStatus {
			created += int(s.CreatedVmCount)
		}
	}
	if progress == nil || len(progress.PerLocationStatus) == 0 || created >= wanted {
		return nil
	}
	return &operationError{[]fault{{
		message: fmt.Sprintf("%d of %d instances created", created, wanted),
		details: locationTexts(op),
	}}}
}

// locationTexts describes the progress of a bulk insert in each location that it tried; it is empty
// for other operations.
func locationTexts(op *rest.Operation) (texts []string) {
	if progress := op.InstancesBulkInsertOperationMetadata; progress != nil {
		for _, location := range slices.Sorted(maps.Keys(progress.PerLocationStatus)) {
			s := progress.PerLocationStatus[location]
			texts = append(texts, fmt.Sprintf("%s: %d of %d created, %d failed, %d deleted",
				path.Base(location), s.CreatedVmCount, s.TargetVmCount, s.FailedToCreateVmCount, s.DeletedVmCount))
		}
	}
	return texts
}

// partFaults returns the faults of the operations that make up a bulk insert, one per code and
// zone. Often only these explain the missing instances: the bulk insert's own error may only report
// that too few were created. Read errors are ignored, because the bulk insert's error is reported
// in any case.
func (c *Client) partFaults(ctx context.Context, bulk *rest.Operation) []fault {
	if bulk.OperationGroupId == "" {
		return nil
	}
	parts := make(map[string][]*rest.Operation) // by scope, such as zones/us-central1-a
	call := c.rest().GlobalOperations.AggregatedList(c.project).Filter(fmt.Sprintf("operationGroupId = %q", bulk.OperationGroupId)).MaxResults(pageSize)
	var all pages
	err := call.Pages(calling(ctx, "globalOperations.aggregatedList"), func(l *rest.OperationAggregatedList) error {
		for scope, list := range l.Items {
			parts[scope] = append(parts[scope], given(list.Operations)...)
		}
		return all.add(page{kind: l.Kind, next: l.NextPageToken})
	})
	if err != nil {
		return nil
	}
	var faults []fault
	for _, scope := range slices.Sorted(maps.Keys(parts)) {
		faults = append(faults, distinctFaults(parts[scope], bulk.Name, path.Base(scope))...)
	}
	return faults
}

// distinctFaults returns the faults of a zone's operations, one per code.
func distinctFaults(operations []*rest.Operation, except, zone string) []fault {
	var faults []fault
	for _, op := range operations {
		if op.Name == except {
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
