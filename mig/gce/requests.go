package gce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"slurmflex/mig"
)

// listRequests reads all resize requests of a group, the oldest first.
func (c *Client) listRequests(ctx context.Context, region, group string) ([]mig.Request, error) {
	var (
		requests []mig.Request
		p        computepb.RegionInstanceGroupManagerResizeRequestsListResponse
	)
	ctx = calling(ctx, "regionInstanceGroupManagerResizeRequests.list")
	err := c.readAll(ctx, escaped("regions", region, "instanceGroupManagers", group, "resizeRequests"), url.Values{}, &p, func() error {
		if len(p.GetUnreachables()) > 0 {
			return fmt.Errorf("incomplete answer: unreachable: %s", strings.Join(p.GetUnreachables(), ", "))
		}
		for _, m := range p.GetItems() {
			r, err := requestOf(m)
			if err != nil {
				return err
			}
			requests = append(requests, r)
		}
		return nil
	})
	slices.SortFunc(requests, func(a, b mig.Request) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return requests, err
}

func requestOf(m *computepb.InstanceGroupManagerResizeRequest) (mig.Request, error) {
	if m.GetName() == "" || m.GetState() == "" {
		return mig.Request{}, errors.New("a resize request without name or state")
	}
	created, err := timestamp("creation of resize request "+m.GetName(), m.GetCreationTimestamp())
	if err != nil {
		return mig.Request{}, err
	}
	r := mig.Request{
		Name:     m.GetName(),
		State:    mig.RequestState(m.GetState()),
		Count:    int(m.GetResizeBy()),
		Duration: time.Duration(m.GetRequestedRunDuration().GetSeconds()) * time.Second,
		Created:  created,
	}
	for _, in := range m.GetInstances() {
		r.Instances = append(r.Instances, in.GetName())
	}
	r.Cause, r.Message = troubleOf(m, r.State)
	return r, nil
}

// troubleOf says why a request failed or, for a live one, why the last attempt
// found no capacity. The record of a last attempt may be older than the state:
// it says nothing about a request that has ended.
func troubleOf(m *computepb.InstanceGroupManagerResizeRequest, state mig.RequestState) (mig.Cause, string) {
	var faults []fault
	switch {
	case state == mig.Failed:
		faults = recordFaults(m.GetStatus().GetError())
		if len(faults) == 0 {
			return mig.CauseUnknown, "Compute gave no reason"
		}
	case state.Live():
		faults = recordFaults(m.GetStatus().GetLastAttempt().GetError())
	}
	if len(faults) == 0 {
		return mig.CauseNone, ""
	}
	return causeOf(faults, creating), describe(faults)
}
