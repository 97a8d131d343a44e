package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

// leaveGroup makes an empty group of that name, as slurm-gcp's scripts leave
// one behind, and waits until it is there.
func (c *cluster) leaveGroup(ctx context.Context, name string) error {
	body, err := json.Marshal(&compute.InstanceGroupManager{
		Name: name, ForceSendFields: []string{"TargetSize"},
		Versions:                []*compute.InstanceGroupManagerVersion{{InstanceTemplate: "projects/demo/regions/us-central1/instanceTemplates/a3"}},
		DistributionPolicy:      &compute.DistributionPolicy{TargetShape: "ANY_SINGLE_ZONE"},
		UpdatePolicy:            &compute.InstanceGroupManagerUpdatePolicy{InstanceRedistributionType: "NONE", Type: "OPPORTUNISTIC"},
		InstanceLifecyclePolicy: &compute.InstanceGroupManagerInstanceLifecyclePolicy{DefaultActionOnFailure: "DO_NOTHING"},
	})
	if err != nil {
		return err
	}
	const groups = "/compute/v1/projects/demo/regions/us-central1/instanceGroupManagers"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Endpoint+groups, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("create group %s: %s: %s", name, resp.Status, answer)
	}
	return lab.Until(ctx, 20*time.Second, "group "+name, func() (bool, error) {
		var state fakegce.State
		err := c.Ask(ctx, "state", &state)
		_, there := state.Group(name)
		return there, err
	})
}
