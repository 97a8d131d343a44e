package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// squat creates a foreign machine with the name of one of the cluster's nodes, for a while.
func squat(node string, how tenancy, lasts time.Duration) event {
	text := fmt.Sprintf("there is a machine %s, %s, for %v", node, how, lasts)
	return happening{text, func(w *world, no int) {
		for _, in := range w.cloud.State().Instances {
			if in.Name == node {
				return
			}
		}
		var err error
		if how == alikes {
			err = populate(w.cloud, alikesGroup, fmt.Sprintf("b%d", no), []string{node})
		} else {
			set := setOf(node)
			err = post(w.cloud, "/zones/"+set.zones[0]+"/instances/bulkInsert", map[string]any{
				"count": "1", "sourceInstanceTemplate": "projects/" + project + "/regions/" + set.region + "/instanceTemplates/flex",
				"perInstanceProperties": map[string]any{node: map[string]any{}},
			})
		}
		w.journal.note("%v: %v", text, err)
		if how == stopped {
			time.AfterFunc(w.setup.cloud.BootTime+w.setup.cloud.OperationTime+time.Minute, func() {
				if _, there := w.stranger(node); there {
					w.journal.note("machine %s of a stranger stops: %v", node, w.cloud.StopVM(node))
				}
			})
		}
		w.holds("squat "+node, no, lasts, func() {
			w.evict(node)
			time.AfterFunc(5*time.Minute, func() { w.evict(node) }) // its request may not have created it yet
		})
	}}
}

// tenancy is the owner and the purpose of a foreign machine.
type tenancy string

// The tenancies.
const (
	byHand  tenancy = "made by hand"
	stopped tenancy = "made by hand, and stopped"
	alikes  tenancy = "of slurm-gcp's cluster alpha-a3, nodeset pool"
)

// evict makes the owner of a machine delete it, and retries while Compute refuses. Until the
// machine runs, its owner may have to cancel its request instead.
func (w *world) evict(node string) {
	in, there := w.stranger(node)
	if !there {
		return
	}
	w.faults.suffered(compute)
	address := "/zones/" + in.Zone + "/instances/" + node
	var err error
	if in.Group != "" {
		err = post(w.cloud, neighbourhood+"/"+in.Group+"/deleteInstances", map[string]any{
			"instances": []string{"projects/" + project + address},
		})
	} else {
		err = call(w.cloud, http.MethodDelete, address, nil)
	}
	if in.Group != "" || err != nil {
		time.AfterFunc(5*time.Minute, func() { w.evict(node) })
	}
	w.journal.note("a stranger deletes his machine %s: %v", node, err)
}

// setOf returns the nodeset of a node.
func setOf(node string) nodeSet {
	sets := nodeSets()
	return sets[slices.IndexFunc(sets, func(s nodeSet) bool { return strings.HasPrefix(node, cluster+"-"+s.name+"-") })]
}

// stranger returns the foreign machine with the node's name.
func (w *world) stranger(node string) (fakegce.Instance, bool) {
	for _, in := range w.cloud.State().Instances {
		if in.Name == node && w.isStranger(in) {
			return in, true
		}
	}
	return fakegce.Instance{}, false
}

// isStranger reports whether a machine with a node's name is foreign.
func (w *world) isStranger(in fakegce.Instance) bool {
	_, stamped := mig.StampOfLabels(in.Labels)
	return w.known[in.Name] && (isNeighbours(in.Group) || in.Group == "" && !stamped)
}

// state returns the cloud without foreign machines.
func (w *world) state() fakegce.State {
	st := w.cloud.State()
	st.Instances = slices.DeleteFunc(st.Instances, w.isStranger)
	return st
}

// neighbour is an unrelated group with machines in the same project. It belongs to another
// slurmflex cluster, possibly with a similar name, or to an unrelated owner.
type neighbour struct {
	group    string
	machines []string
	stamp    string // the group's description
}

// neighbours returns the neighbours of every day. Each of their machines has a lease of seven
// days.
func neighbours() []neighbour {
	stamp := func(cluster string, job uint32) string {
		return mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: "gang", Job: job}.String()
	}
	return []neighbour{
		{"alpha2-gang-job-1", []string{"alpha2-gang-0", "alpha2-gang-1"}, stamp("alpha2", 1)},
		{"alpha-b-gang-job-1", []string{"alpha-b-gang-0"}, stamp("alpha-b", 1)},
		{"alpha-gang-job-900001", []string{"alpha-gang-77"}, "made by hand"},
		{"alpha-gang-job-900002", nil, `{"slurmflex":99,"cluster":"alpha","nodeset":"gang","job":900002}`}, // of a later slurmflex
		{"alpha-a3-pool-job-900003", []string{"alpha-a3-pool-77"}, stamp("alpha-a3", 900003)},
		{alikesGroup, []string{"alpha-a3-pool-10"}, ""},
	}
}

// alikesGroup is slurm-gcp's group of a cluster alpha-a3 and its nodeset pool. The names of
// the group and its machines could also belong to cluster alpha and nodeset a3-pool.
const alikesGroup = "alpha-a3-pool-0123abcd"

// neighbourhood is the path of the neighbours' groups.
const neighbourhood = "/regions/" + us + "/instanceGroupManagers"

// found creates a group as any user could.
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

// populate requests machines with a lease of seven days in a group.
func populate(cloud *fakegce.Server, group, request string, machines []string) error {
	var instances []any
	for _, name := range machines {
		instances = append(instances, map[string]any{"name": name})
	}
	return post(cloud, neighbourhood+"/"+group+"/resizeRequests", map[string]any{
		"name": request, "instances": instances, "requestedRunDuration": map[string]any{"seconds": "604800"},
	})
}

// post calls the API as any user could.
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

// isNeighbours reports whether a group or machine name belongs to a neighbour.
func isNeighbours(name string) bool {
	return slices.ContainsFunc(neighbours(), func(n neighbour) bool {
		return n.group == name || slices.Contains(n.machines, name)
	})
}

// disturbed describes a change of a neighbour, or returns "".
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
