package gce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"slurmflex/mig"
)

// listRequests reads all resize requests of a group, the oldest first, and says
// what of them could not be read; empty if all was.
func (c *Client) listRequests(ctx context.Context, region, group string) (all []mig.Request, unread string, err error) {
	var (
		requests distinct[mig.Request]
		p        computepb.RegionInstanceGroupManagerResizeRequestsListResponse
	)
	empty := func() *computepb.InstanceGroupManagerResizeRequest {
		return new(computepb.InstanceGroupManagerResizeRequest)
	}
	ctx = calling(ctx, "regionInstanceGroupManagerResizeRequests.list")
	err = c.readAll(ctx, escaped("regions", region, "instanceGroupManagers", group, "resizeRequests"), url.Values{}, &p, func(items json.RawMessage) error {
		if len(p.GetUnreachables()) > 0 {
			return fmt.Errorf("incomplete answer: unreachable: %s", strings.Join(p.GetUnreachables(), ", "))
		}
		return readRows(items, empty, func(m *computepb.InstanceGroupManagerResizeRequest, wrong faulty) error {
			other := requests.add(m.GetName(), requestOf(m, wrong))
			if other != nil {
				wrong.note(contradiction, errors.New(string(other.State)+" and "+m.GetState()))
			}
			if len(wrong) > 0 {
				unread = cmp.Or(unread, fmt.Sprintf("resize request %s: %s", m.GetName(), wrong))
			}
			return nil
		})
	})
	slices.SortFunc(requests.all, func(a, b mig.Request) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return requests.all, unread, err
}

// requestOf is the request as far as it can be read.
func requestOf(m *computepb.InstanceGroupManagerResizeRequest, wrong faulty) mig.Request {
	if m.GetState() == "" {
		wrong.note("state", errors.New("it is missing"))
	}
	created, err := time.Parse(time.RFC3339, m.GetCreationTimestamp())
	wrong.note("creationTimestamp", err)
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
	return r
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
