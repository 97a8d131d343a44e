package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
	"slurmflex/test/fakegce/remote"
)

// startFake starts the fake Compute API, whose VMs are slurmds.
func (l *Lab) startFake() error {
	log, err := os.Create(l.Log("fakegce.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{
		"--project", "demo", "--operation-time", cmp.Or(l.OperationTime, 500*time.Millisecond).String(),
		"--boot-time", "2s", "--delete-time", "3s", "--attempt-interval", "1s",
		"--boot-command", l.path("bin/boot"), "--delete-command", l.path("bin/delete"),
	}
	for _, set := range append([]NodeSet{{Name: "a3", Machine: "a3-megagpu-8g"}, {Name: "g2", Machine: "g2-standard-48"}}, l.NodeSets...) {
		if set.Machine != "" {
			args = append(args, "--template", set.Name+"="+set.Machine+"@us-central1")
		}
	}
	l.fake, err = remote.Start(filepath.Join(l.Build, "slurmflex-fakegce"), log, args...)
	if err != nil {
		return fmt.Errorf("%w; see %s", err, log.Name())
	}
	l.Endpoint = l.fake.Endpoint
	return nil
}

// Create makes a resource of the cloud by a call of its API, as somebody else would,
// and returns when it is made. A collection is that of the region, such as
// "instanceGroupManagers".
func (l *Lab) Create(ctx context.Context, collection string, resource any) error {
	body, err := json.Marshal(resource)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Endpoint+"/compute/v1/projects/demo/regions/us-central1/"+collection, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("create one of %s: %s: %s", collection, resp.Status, answer)
	}
	var operation compute.Operation
	if err := json.Unmarshal(answer, &operation); err != nil {
		return err
	}
	return Until(ctx, 20*time.Second, "operation "+operation.Name, func() (bool, error) {
		var state fakegce.State
		err := l.Ask(ctx, "state", &state)
		return slices.ContainsFunc(state.Operations, func(o fakegce.Operation) bool {
			return o.Name == operation.Name && o.Status == "DONE"
		}), err
	})
}

// CreateGroup makes an empty group of a template of the region, such as "a3".
func (l *Lab) CreateGroup(ctx context.Context, name, description, template string) error {
	return l.Create(ctx, "instanceGroupManagers", &compute.InstanceGroupManager{
		Name: name, Description: description, ForceSendFields: []string{"TargetSize"},
		Versions:                []*compute.InstanceGroupManagerVersion{{InstanceTemplate: "projects/demo/regions/us-central1/instanceTemplates/" + template}},
		DistributionPolicy:      &compute.DistributionPolicy{TargetShape: "ANY_SINGLE_ZONE"},
		UpdatePolicy:            &compute.InstanceGroupManagerUpdatePolicy{InstanceRedistributionType: "NONE", Type: "OPPORTUNISTIC"},
		InstanceLifecyclePolicy: &compute.InstanceGroupManagerInstanceLifecyclePolicy{DefaultActionOnFailure: "DO_NOTHING"},
	})
}

// Ask reads JSON from the fake's control surface, such as "state".
func (l *Lab) Ask(ctx context.Context, what string, answer any) error {
	return (&remote.Fake{Endpoint: l.Endpoint}).Ask(ctx, what, answer)
}

// Tell changes something in the fake's world, such as "capacity".
func (l *Lab) Tell(ctx context.Context, what string, order any) error {
	return (&remote.Fake{Endpoint: l.Endpoint}).Tell(ctx, what, order)
}
