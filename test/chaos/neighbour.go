package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// neighbour is a group with machines in the same project that is none of our
// business: of another cluster of ours, whose name may begin as ours does, or
// of somebody who knows nothing of us.
type neighbour struct {
	group    string
	machines []string
	stamp    string // the group's description
}

// neighbours are those of every day. Each machine is of seven days.
func neighbours() []neighbour {
	stamp := func(cluster string, job uint32) string {
		return mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: "gang", Job: job}.String()
	}
	return []neighbour{
		{"alpha2-gang-job-1", []string{"alpha2-gang-0", "alpha2-gang-1"}, stamp("alpha2", 1)},
		{"alpha-b-gang-job-1", []string{"alpha-b-gang-0"}, stamp("alpha-b", 1)},
		{"alpha-gang-job-900001", []string{"alpha-gang-77"}, "made by hand"},
		{"alpha-gang-job-900002", nil, `{"slurmflex":99,"cluster":"alpha","nodeset":"gang","job":900002}`}, // by a later version of ours
		{"alpha-a3-pool-job-900003", []string{"alpha-a3-pool-77"}, stamp("alpha-a3", 900003)},
		{alikesGroup, []string{"alpha-a3-pool-10"}, ""},
	}
}

// alikesGroup is the group of a cluster alpha-a3, which is slurm-gcp's, of
// its nodeset pool. Its name, and those of its machines, could be of the cluster
// alpha and its nodeset a3-pool.
const alikesGroup = "alpha-a3-pool-0123abcd"

// neighbourhood is where the neighbours' groups are.
const neighbourhood = "/regions/" + us + "/instanceGroupManagers"

// found makes a group, as anybody may.
func found(cloud *fakegce.Server, group, description string) error {
	template := "flex"
	if group == alikesGroup {
		template = "slurm-gcp"
	}
	return post(cloud, neighbourhood, map[string]any{
		"name": group, "description": description, "targetSize": 0,
		"versions":                []any{map[string]any{"instanceTemplate": "projects/" + project + "/regions/" + us + "/instanceTemplates/" + template}},
		"distributionPolicy":      map[string]any{"targetShape": "ANY_SINGLE_ZONE"},
		"updatePolicy":            map[string]any{"type": "OPPORTUNISTIC", "instanceRedistributionType": "NONE"},
		"instanceLifecyclePolicy": map[string]any{"defaultActionOnFailure": "DO_NOTHING"},
	})
}

// populate asks for machines of seven days in a group.
func populate(cloud *fakegce.Server, group, request string, machines []string) error {
	var instances []any
	for _, name := range machines {
		instances = append(instances, map[string]any{"name": name})
	}
	return post(cloud, neighbourhood+"/"+group+"/resizeRequests", map[string]any{
		"name": request, "instances": instances, "requestedRunDuration": map[string]any{"seconds": "604800"},
	})
}

// post calls the API as anybody would.
func post(cloud *fakegce.Server, path string, body any) error {
	return call(cloud, http.MethodPost, path, body)
}

func call(cloud *fakegce.Server, method, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	address := "http://compute.test/compute/v1/projects/" + project + path + "?requestId=" + uuid.NewString()
	req, err := http.NewRequest(method, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := cloud.Transport().RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return nil
}

// isNeighbours reports whether a group or machine of that name is a neighbour's.
func isNeighbours(name string) bool {
	return slices.ContainsFunc(neighbours(), func(n neighbour) bool {
		return n.group == name || slices.Contains(n.machines, name)
	})
}

// disturbed says what of a neighbour is not as it was; empty if all is.
func (n neighbour) disturbed(st fakegce.State) string {
	g, there := st.Group(n.group)
	switch {
	case !there:
		return "group " + n.group + " is gone"
	case g.Deleting:
		return "group " + n.group + " is being deleted"
	case g.Description != n.stamp:
		return "group " + n.group + " has another description"
	case g.TargetSize != len(n.machines):
		return fmt.Sprintf("group %s has size %d, not %d", n.group, g.TargetSize, len(n.machines))
	}
	for _, name := range n.machines {
		if in, there := st.Instance(name); !there || in.Status != "RUNNING" {
			return strings.TrimSpace("machine " + name + " is not running " + in.Status)
		}
	}
	return ""
}
