package standin

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strconv"
	"sync"
	"time"
)

// gpusOfMachine is the number of GPUs of each machine.
const gpusOfMachine = 8

const (
	requestNodes = "autoscaling.gke.io/provisioning-request" // a label of nodes: GKE's own request
	leaseEnd     = "node.gke.io/machine-termination-datetime"
)

// Objects are the objects of a cluster: those of a Cluster, or those of a real API server.
type Objects interface {
	// List returns copies of all objects of a resource; none if the cluster does not know it.
	List(resource string) ([]map[string]any, error)
	Create(resource string, o map[string]any) error
	// SetStatus stores an object's status, unless another writer has changed the object since List.
	SetStatus(resource string, o map[string]any) error
	// Remove deletes an object at once, as a kubelet deletes a pod that has stopped.
	Remove(resource, name string) error
}

// GKE stands in for GKE's autoscaler and for the kubelets.
type GKE struct {
	Objects Objects
	Idle    time.Duration // after which a node without pods is deleted

	// OnStart and OnStop are called when the container of a pod starts and stops; nil: not at all.
	OnStart, OnStop func(pod string)

	mu       sync.Mutex
	capacity int    // machines that may exist
	reason   string // why no request is provisioned; empty: ResourcePoolExhausted without capacity
	ended    bool   // the reason is final

	started map[string]string    // pods that run by uid
	empty   map[string]time.Time // when the last pods left their nodes
}

// SetCapacity sets the number of machines that may exist.
func (g *GKE) SetCapacity(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.capacity = n
}

// Refuse has ProvisioningRequests refused for a reason; ended means for good. An empty reason ends that.
func (g *GKE) Refuse(reason string, ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason, g.ended = reason, ended
}

// Run makes a step after each pace until ctx ends.
func (g *GKE) Run(ctx context.Context, pace time.Duration) {
	for ctx.Err() == nil {
		if err := g.step(); err != nil {
			log.Print(err) // a later step repeats it
		}
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
}

// step acts once on what it reads.
func (g *GKE) step() error {
	if g.started == nil {
		g.started, g.empty = map[string]string{}, map[string]time.Time{}
	}
	read := map[string][]obj{}
	for _, resource := range []string{"pods", "nodes", "provisioningrequests"} {
		var err error
		if read[resource], err = g.Objects.List(resource); err != nil {
			return fmt.Errorf("list %s: %w", resource, err)
		}
	}
	exists := map[string]bool{}
	for _, n := range read["nodes"] {
		exists[nameOf(n)] = true
	}
	if err := g.kubelets(read["pods"], exists); err != nil {
		return err
	}
	if err := g.scaleDown(read["nodes"], read["pods"], read["provisioningrequests"]); err != nil {
		return err
	}
	for _, p := range read["provisioningrequests"] {
		made, err := g.provision(p, len(read["nodes"]))
		if err != nil {
			return fmt.Errorf("ProvisioningRequest %s: %w", nameOf(p), err)
		}
		if made {
			return nil // the next step counts the new nodes
		}
	}
	return nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// setCondition sets a condition of an object, and reports whether it has changed.
func setCondition(o obj, kind, is, reason, message string) bool {
	list, _ := at(o, "status")["conditions"].([]any)
	for _, of := range list {
		if c := of.(obj); c["type"] == kind && c["status"] == is && c["reason"] == reason && c["message"] == message {
			return false
		}
	}
	list = slices.DeleteFunc(slices.Clone(list), func(of any) bool { return of.(obj)["type"] == kind })
	at(o, "status")["conditions"] = append(list, obj{"type": kind, "status": is, "reason": reason, "message": message, "lastTransitionTime": now()})
	return true
}

func is(o obj, kind string) bool {
	list, _ := at(o, "status")["conditions"].([]any)
	return slices.ContainsFunc(list, func(of any) bool { return of.(obj)["type"] == kind && of.(obj)["status"] == "True" })
}

// number returns a number of a JSON object, whatever its decoder has made of it.
func number(n any) int {
	i, _ := strconv.Atoi(fmt.Sprint(n))
	return i
}

// provision creates the nodes of a request, all or none, as GKE's autoscaler does.
func (g *GKE) provision(p obj, existing int) (made bool, err error) {
	sets, _ := at(p, "spec")["podSets"].([]any)
	if len(sets) != 1 || is(p, "Provisioned") || is(p, "Failed") {
		return false, nil
	}
	g.mu.Lock()
	capacity, reason, ended := g.capacity, g.reason, g.ended
	g.mu.Unlock()
	count, changed := number(sets[0].(obj)["count"]), false
	switch {
	case !is(p, "Accepted"):
		changed = setCondition(p, "Accepted", "True", "SuccessfullyQueued", "Provisioning Request was successfully queued.")
	case reason != "" && ended:
		changed = setCondition(p, "Failed", "True", reason, "refused by the test")
	case reason != "":
		changed = setCondition(p, "Provisioned", "False", reason, "refused by the test")
	case capacity-existing < count:
		changed = setCondition(p, "Provisioned", "False", "ResourcePoolExhausted", "Waiting for resources. Currently there are not enough resources available to fulfill the request.")
	default:
		for i := range count {
			if err := g.Objects.Create("nodes", nodeFor(p, i)); err != nil {
				return true, err
			}
		}
		at(p, "status", "provisioningClassDetails")["ResizeRequestName"] = resizeRequest(p)
		made, changed = true, setCondition(p, "Provisioned", "True", "Provisioned", "Provisioning Request was successfully provisioned.")
	}
	if !changed {
		return made, nil
	}
	return made, g.Objects.SetStatus("provisioningrequests", p)
}

// resizeRequest returns the name that GKE gives to its own request.
func resizeRequest(p obj) string { return "gke-" + text(p, "metadata", "uid") }

// nodeFor returns a node of a request. Its lease starts now.
func nodeFor(p obj, i int) obj {
	lease := time.Duration(number(text(p, "spec", "parameters", "maxRunDurationSeconds"))) * time.Second
	resources := obj{"cpu": "208", "memory": "1916928Mi", "pods": "110", "nvidia.com/gpu": fmt.Sprint(gpusOfMachine)}
	return obj{
		"apiVersion": "v1", "kind": "Node",
		"metadata": obj{
			"name":        fmt.Sprintf("%s-%d", resizeRequest(p), i),
			"labels":      obj{"cloud.google.com/gke-nodepool": "flex", "topology.kubernetes.io/zone": "us-central1-a", requestNodes: resizeRequest(p)},
			"annotations": obj{leaseEnd: time.Now().UTC().Add(lease).Format(time.RFC3339)},
		},
		"status": obj{
			"capacity": resources, "allocatable": resources,
			"conditions": []any{obj{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a stand-in", "lastTransitionTime": now(), "lastHeartbeatTime": now()}},
		},
	}
}

// kubelets start and stop the containers of pods, and delete the pods of machines that are gone.
func (g *GKE) kubelets(pods []obj, exists map[string]bool) error {
	there := map[string]bool{}
	for _, p := range pods {
		there[text(p, "metadata", "uid")] = true
	}
	for uid := range g.started {
		if !there[uid] {
			g.stop(uid)
		}
	}
	for _, p := range pods {
		name, uid, node := nameOf(p), text(p, "metadata", "uid"), text(p, "spec", "nodeName")
		var err error
		switch {
		case node == "":
		case text(p, "metadata", "deletionTimestamp") != "" || !exists[node]:
			g.stop(uid)
			if text(p, "status", "phase") != "Failed" {
				at(p, "status")["phase"] = "Failed"
				err = g.Objects.SetStatus("pods", p)
			}
			if err == nil {
				err = g.Objects.Remove("pods", name)
			}
		case g.started[uid] == "":
			at(p, "status")["phase"] = "Running"
			if err = g.Objects.SetStatus("pods", p); err == nil {
				g.started[uid] = name
				if g.OnStart != nil {
					g.OnStart(name)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("pod %s: %w", name, err)
		}
	}
	return nil
}

func (g *GKE) stop(uid string) {
	if name := g.started[uid]; name != "" && g.OnStop != nil {
		g.OnStop(name)
	}
	delete(g.started, uid)
}

// scaleDown deletes nodes at the end of their lease, nodes that have lost their pods, and unused
// nodes of deleted requests.
func (g *GKE) scaleDown(nodes, pods, requests []obj) error {
	used, asked := map[string]bool{}, map[string]bool{}
	for _, p := range pods {
		used[text(p, "spec", "nodeName")] = true
	}
	for _, p := range requests {
		asked[resizeRequest(p)] = true
	}
	for _, n := range nodes {
		name := nameOf(n)
		end, err := time.Parse(time.RFC3339, note(n, leaseEnd))
		since, hadPods := g.empty[name]
		over := err == nil && time.Now().After(end)
		switch {
		case used[name] && !over:
			g.empty[name] = time.Now()
		case over, hadPods && time.Since(since) > g.Idle, !asked[label(n, requestNodes)]:
			delete(g.empty, name)
			if err := g.Objects.Remove("nodes", name); err != nil {
				return fmt.Errorf("node %s: %w", name, err)
			}
		}
	}
	return nil
}
