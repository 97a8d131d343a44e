package gce

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	rest "google.golang.org/api/compute/v1"

	"slurmflex/mig"
)

// requestFields selects the fields of a list of resize requests.
const requestFields = listFields + ",unreachables,items(name,state,creationTimestamp,resizeBy," +
	"requestedRunDuration/seconds,instances/name,status(error,lastAttempt/error))"

// listRequests reads all resize requests of a group, oldest first.
func (c *Client) listRequests(ctx context.Context, region, group string) ([]mig.Request, error) {
	var requests distinct[mig.Request]
	var all pages
	call := c.rest().RegionInstanceGroupManagerResizeRequests.List(c.project, region, group).Fields(requestFields).MaxResults(pageSize)
	err := call.Pages(calling(ctx, "regionInstanceGroupManagerResizeRequests.list"), func(l *rest.RegionInstanceGroupManagerResizeRequestsListResponse) error {
		return eachRecord(&all, page{l.Kind, l.NextPageToken, l.Warning, l.Unreachables}, l.Items, func(m *rest.InstanceGroupManagerResizeRequest) error {
			r, err := requestOf(m)
			if err != nil {
				return err
			}
			return requests.add(m.Name, r)
		})
	})
	slices.SortFunc(requests.all, func(a, b mig.Request) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return requests.all, err
}

func requestOf(m *rest.InstanceGroupManagerResizeRequest) (mig.Request, error) {
	created, err := createdAt(m.Name, m.CreationTimestamp)
	if err == nil && m.State == "" {
		err = fmt.Errorf("answer not understood: %s: state: it is missing", m.Name)
	}
	if err != nil {
		return mig.Request{}, err
	}
	r := mig.Request{Name: m.Name, State: mig.RequestState(m.State), Count: int(m.ResizeBy), Created: created}
	if m.RequestedRunDuration != nil {
		r.Duration = time.Duration(m.RequestedRunDuration.Seconds) * time.Second
	}
	for _, in := range given(m.Instances) {
		r.Instances = append(r.Instances, in.Name)
	}
	r.Trouble, err = troubleOf(m.Status, r.State)
	return r, err
}

// troubleOf returns why a request failed or, for a live request, why its last attempt found no
// capacity. The record of the last attempt may be older than the state, so it is ignored for an
// ended request.
func troubleOf(is *rest.InstanceGroupManagerResizeRequestStatus, state mig.RequestState) (mig.Trouble, error) {
	var of any
	switch {
	case is == nil:
	case state == mig.Failed:
		of = is.Error
	case state.Live() && is.LastAttempt != nil:
		of = is.LastAttempt.Error
	}
	list, err := recast[*rest.OperationError](of)
	faults := faultsIn(list)
	switch {
	case err != nil:
		return mig.Trouble{}, err
	case len(faults) > 0:
		return mig.Trouble{Cause: causeOf(faults, creating), Message: describe(faults), Quota: usedUpIn(faults)}, nil
	case state == mig.Failed:
		return mig.Trouble{Cause: mig.CauseUnknown, Message: "Compute gave no reason"}, nil
	}
	return mig.Trouble{}, nil
}
