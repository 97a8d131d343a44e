package lab

import (
	"bytes"
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
	"slurmflex/test/must"
)

// startFake starts the fake Compute API. Its VMs are slurmds.
func (l *Lab) startFake() {
	log := must.Get(os.Create(l.Log("fakegce.log")))
	defer log.Close()
	args := []string{
		"--project", "demo", "--operation-time", "500ms",
		"--boot-time", "2s", "--delete-time", "3s", "--attempt-interval", "1s",
		"--boot-command", l.path("bin/boot"), "--delete-command", l.path("bin/delete"), "--key", l.key(),
	}
	for _, set := range append([]NodeSet{{Name: "a3", Machine: "a3-megagpu-8g"}, {Name: "g2", Machine: "g2-standard-48"}}, l.NodeSets...) {
		if set.Machine != "" && set.Capacity == "" && set.Region == "" {
			args = append(args, "--template", set.Name+"="+set.Machine+"@us-central1")
		}
	}
	fake, err := remote.Start(filepath.Join(l.Build, "slurmflex-fakegce"), log, args...)
	if err != nil {
		must.Do(fmt.Errorf("%w; see %s", err, log.Name()))
	}
	l.fake, l.Endpoint = fake, fake.Endpoint
	for _, set := range l.NodeSets {
		if set.Capacity != "" {
			must.Do(l.Create(context.Background(), "instanceTemplates", fakegce.PlainTemplate(set.Name, set.Machine)))
		}
	}
	if l.cred != nil {
		must.Do(os.Chown(l.key(), int(l.cred.Uid), int(l.cred.Gid)))
	}
}

// key returns the path of the service account's key that slurmflex uses for the fake.
func (l *Lab) key() string { return l.path("etc/key.json") }

// Create creates a cloud resource by an API call, as another client would, and returns when the
// resource exists. The collection is a regional one, such as "instanceGroupManagers".
func (l *Lab) Create(ctx context.Context, collection string, resource any) error {
	return must.Try(func() {
		url := l.Endpoint + "/compute/v1/projects/demo/regions/us-central1/" + collection
		req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(must.Get(json.Marshal(resource)))))
		req.Header.Set("Authorization", "Bearer somebody else's")
		resp := must.Get(http.DefaultClient.Do(req))
		defer resp.Body.Close()
		answer := must.Get(io.ReadAll(resp.Body))
		if resp.StatusCode != http.StatusOK {
			must.Do(fmt.Errorf("create one of %s: %s: %s", collection, resp.Status, answer))
		}
		var operation compute.Operation
		must.Do(json.Unmarshal(answer, &operation))
		must.Do(Until(ctx, time.Minute, "operation "+operation.Name, func() (bool, error) {
			var state fakegce.State
			err := l.Ask(ctx, "state", &state)
			return slices.ContainsFunc(state.Operations, func(o fakegce.Operation) bool {
				return o.Name == operation.Name && o.Status == "DONE"
			}), err
		}))
	})
}

// CreateGroup creates an empty group with a template of the region, such as "a3".
func (l *Lab) CreateGroup(ctx context.Context, name, description, template string) error {
	return l.Create(ctx, "instanceGroupManagers", &compute.InstanceGroupManager{
		Name: name, Description: description, ForceSendFields: []string{"TargetSize"},
		Versions:                []*compute.InstanceGroupManagerVersion{{InstanceTemplate: "projects/demo/regions/us-central1/instanceTemplates/" + template}},
		DistributionPolicy:      &compute.DistributionPolicy{TargetShape: "ANY_SINGLE_ZONE"},
		UpdatePolicy:            &compute.InstanceGroupManagerUpdatePolicy{InstanceRedistributionType: "NONE", Type: "OPPORTUNISTIC"},
		InstanceLifecyclePolicy: &compute.InstanceGroupManagerInstanceLifecyclePolicy{DefaultActionOnFailure: "DO_NOTHING"},
	})
}

// Ask reads JSON from the fake's control interface, such as "state".
func (l *Lab) Ask(ctx context.Context, what string, answer any) error {
	return (&remote.Fake{Endpoint: l.Endpoint}).Ask(ctx, what, answer)
}

// Tell changes the fake's world, such as its "capacity".
func (l *Lab) Tell(ctx context.Context, what string, order any) error {
	return (&remote.Fake{Endpoint: l.Endpoint}).Tell(ctx, what, order)
}
