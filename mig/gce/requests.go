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

	"slurmflex/mig"
)

// requestFields selects the fields of a list of resize requests.
const requestFields = "kind,nextPageToken,warning(code,message),unreachables,items(name,state,creationTimestamp,resizeBy," +
	"requestedRunDuration/seconds,instances/name,status(error,lastAttempt/error))"

// listedRequest is a resize request with the fields that are read.
type listedRequest struct {
	Name                 string `json:"name"`
	State                string `json:"state"`
	CreationTimestamp    string `json:"creationTimestamp"`
	ResizeBy             int    `json:"resizeBy"`
	RequestedRunDuration struct {
		Seconds json.Number `json:"seconds"`
	} `json:"requestedRunDuration"`
	Instances []struct {
		Name string `json:"name"`
	} `json:"instances"`
	Status struct {
		Error       record `json:"error"`
		LastAttempt struct {
			Error record `json:"error"`
		} `json:"lastAttempt"`
	} `json:"status"`
}

func (m listedRequest) name() string { return m.Name }

// listRequests reads all resize requests of a group, oldest first. It also returns a text that
// names the parts that could not be read; empty: none.
func (c *Client) listRequests(ctx context.Context, region, group string) (all []mig.Request, unread string, err error) {
	var requests distinct[mig.Request]
	ctx = calling(ctx, "regionInstanceGroupManagerResizeRequests.list")
	err = c.readAll(ctx, escaped("regions", region, "instanceGroupManagers", group, "resizeRequests"), url.Values{"fields": {requestFields}}, func(s *stream) error {
		return eachRow(s, func(m listedRequest, wrong faulty) error {
			other := requests.add(m.Name, requestOf(m, wrong))
			if other != nil {
				wrong.note(contradiction, errors.New(string(other.State)+" and "+m.State))
			}
			if len(wrong) > 0 {
				unread = cmp.Or(unread, fmt.Sprintf("resize request %s: %s", m.Name, wrong))
			}
			return nil
		})
	}, func(p head) error {
		if len(p.unreachables) > 0 {
			return fmt.Errorf("incomplete answer: unreachable: %s", strings.Join(p.unreachables, ", "))
		}
		return nil
	})
	slices.SortFunc(requests.all, func(a, b mig.Request) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return requests.all, unread, err
}

// requestOf returns the request with all fields that can be read.
func requestOf(m listedRequest, wrong faulty) mig.Request {
	if m.State == "" {
		wrong.note("state", errors.New("it is missing"))
	}
	created, err := timeOf(m.CreationTimestamp)
	wrong.note("creationTimestamp", err)
	var seconds int64
	if m.RequestedRunDuration.Seconds != "" {
		seconds, err = m.RequestedRunDuration.Seconds.Int64()
		wrong.note("requestedRunDuration", err)
	}
	r := mig.Request{
		Name:     m.Name,
		State:    mig.RequestState(m.State),
		Count:    m.ResizeBy,
		Duration: time.Duration(seconds) * time.Second,
		Created:  created,
	}
	for _, in := range m.Instances {
		r.Instances = append(r.Instances, in.Name)
	}
	trouble := troubleOf(m, r.State)
	r.Cause, r.Message, r.Quota = trouble.Cause, trouble.Message, trouble.Quota
	return r
}

// troubleOf returns why a request failed or, for a live request, why its last attempt found no
// capacity. The record of the last attempt may be older than the state, so it is ignored for an
// ended request.
func troubleOf(m listedRequest, state mig.RequestState) mig.Trouble {
	var faults []fault
	switch {
	case state == mig.Failed:
		faults = m.Status.Error.faults()
		if len(faults) == 0 {
			return mig.Trouble{Cause: mig.CauseUnknown, Message: "Compute gave no reason"}
		}
	case state.Live():
		faults = m.Status.LastAttempt.Error.faults()
	}
	if len(faults) == 0 {
		return mig.Trouble{}
	}
	return mig.Trouble{Cause: causeOf(faults, creating), Message: describe(faults), Quota: usedUpIn(faults)}
}
