package standin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// gpusOfMachine is the number of GPUs of each machine.
const gpusOfMachine = 8

// Run lets GKE, Kueue and the kubelets act until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	for ctx.Err() == nil {
		var calls []func()
		c.change(func() { calls = c.step() })
		for _, call := range calls {
			call()
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.options.Pace):
		}
	}
}

// step makes one step of each. It returns the hooks to call.
func (c *Cluster) step() (calls []func()) {
	for _, name := range slices.Sorted(maps.Keys(c.objects["provisioningrequests"])) {
		c.provision(c.objects["provisioningrequests"][name])
	}
	c.kueue()
	c.schedule()
	calls = c.kubelets()
	c.scaleDown()
	return calls
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// setCondition sets a condition of an object.
func (c *Cluster) setCondition(o obj, kind, is, reason, message string) {
	list, _ := at(o, "status")["conditions"].([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(of any) bool { return of.(obj)["type"] == kind })
	at(o, "status")["conditions"] = append(list, obj{"type": kind, "status": is, "reason": reason, "message": message, "lastTransitionTime": now()})
	c.touch(o)
}

func is(o obj, kind string) bool {
	list, _ := at(o, "status")["conditions"].([]any)
	return slices.ContainsFunc(list, func(of any) bool { return of.(obj)["type"] == kind && of.(obj)["status"] == "True" })
}

// provision creates the nodes of a request, all or none, as GKE's autoscaler does.
func (c *Cluster) provision(p obj) {
	sets, _ := at(p, "spec")["podSets"].([]any)
	if len(sets) != 1 || is(p, "Provisioned") || is(p, "Failed") {
		return
	}
	count := int(sets[0].(obj)["count"].(float64))
	switch {
	case !is(p, "Accepted"):
		c.setCondition(p, "Accepted", "True", "SuccessfullyQueued", "Provisioning Request was successfully queued.")
	case c.reason != "" && c.ended:
		c.setCondition(p, "Failed", "True", c.reason, "refused by the test")
	case c.reason != "":
		c.setCondition(p, "Provisioned", "False", c.reason, "refused by the test")
	case c.options.Capacity-len(c.objects["nodes"]) < count:
		c.setCondition(p, "Provisioned", "False", "ResourcePoolExhausted", "Waiting for resources. Currently there are not enough resources available to fulfill the request.")
	default:
		seconds, _ := strconv.Atoi(text(p, "spec", "parameters", "maxRunDurationSeconds"))
		c.nodes(nameOf(p), count, seconds)
		c.setCondition(p, "Provisioned", "True", "Provisioned", "Provisioning Request was successfully provisioned.")
	}
}

func (c *Cluster) nodes(request string, count, seconds int) {
	for i := range count {
		c.put("nodes", obj{"metadata": obj{
			"name":        fmt.Sprintf("gke-flex-%s-%d", request, i),
			"labels":      obj{"cloud.google.com/gke-nodepool": "flex", "topology.kubernetes.io/zone": "us-central1-a", "provisioned-for": request},
			"annotations": obj{"node.gke.io/machine-termination-datetime": time.Now().UTC().Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)},
		}})
	}
}

// kueue makes a Workload of each complete pod group, and its nodes when there is quota and capacity.
// Without its Workload, a pod loses Kueue's finalizer.
func (c *Cluster) kueue() {
	groups := map[string][]obj{}
	for _, p := range c.objects["pods"] {
		if name := label(p, "kueue.x-k8s.io/pod-group-name"); name != "" {
			groups[name] = append(groups[name], p)
		}
	}
	for name, pods := range groups {
		total, _ := strconv.Atoi(text(pods[0], "metadata", "annotations", "kueue.x-k8s.io/pod-group-total-count"))
		w := c.objects["workloads"][name]
		leaving := slices.ContainsFunc(pods, func(p obj) bool { return text(p, "metadata", "deletionTimestamp") != "" })
		switch {
		case w == nil && leaving:
			for _, p := range pods {
				delete(at(p, "metadata"), "finalizers")
				c.touch(p)
				if text(p, "metadata", "deletionTimestamp") != "" {
					c.remove("pods", nameOf(p))
				}
			}
		case w == nil && len(pods) == total:
			c.put("workloads", obj{"metadata": obj{"name": name}, "pods": float64(total)})
		case w != nil && !is(w, "Admitted"):
			c.admit(name, w, total, pods[0])
		}
	}
	for name := range c.objects["workloads"] {
		if len(groups[name]) == 0 {
			c.remove("workloads", name)
		}
	}
}

func (c *Cluster) admit(name string, w obj, count int, pod obj) {
	used := 0
	for _, other := range c.objects["workloads"] {
		if is(other, "QuotaReserved") && nameOf(other) != name {
			pods, _ := other["pods"].(float64)
			used += int(pods) * gpusOfMachine
		}
	}
	switch {
	case c.quota >= 0 && used+count*gpusOfMachine > c.quota:
		c.setCondition(w, "QuotaReserved", "False", "Pending", fmt.Sprintf(
			"couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor flex, %d more needed", used+count*gpusOfMachine-c.quota))
		return
	case c.options.Capacity-len(c.objects["nodes"]) < count:
		c.setCondition(w, "QuotaReserved", "True", "QuotaReserved", "")
		at(w, "status")["admissionChecks"] = []any{obj{"name": "dws", "state": "Pending", "message": "Waiting for resources. Currently there are not enough resources available to fulfill the request."}}
		return
	}
	seconds, _ := strconv.Atoi(text(pod, "metadata", "annotations", "provreq.kueue.x-k8s.io/maxRunDurationSeconds"))
	c.nodes(name, count, seconds)
	c.setCondition(w, "QuotaReserved", "True", "QuotaReserved", "")
	at(w, "status")["admissionChecks"] = []any{obj{"name": "dws", "state": "Ready", "message": "provisioned"}}
	c.setCondition(w, "Admitted", "True", "Admitted", "")
}

// schedule binds pods to the nodes of their request, one to each.
func (c *Cluster) schedule() {
	used := map[string]bool{}
	for _, p := range c.objects["pods"] {
		used[text(p, "spec", "nodeName")] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c.objects["pods"])) {
		p := c.objects["pods"][name]
		request := text(p, "metadata", "annotations", "autoscaling.x-k8s.io/consume-provisioning-request")
		if request == "" {
			request = label(p, "kueue.x-k8s.io/pod-group-name")
		}
		if text(p, "spec", "nodeName") != "" || text(p, "metadata", "deletionTimestamp") != "" {
			continue
		}
		for _, node := range slices.Sorted(maps.Keys(c.objects["nodes"])) {
			if !used[node] && label(c.objects["nodes"][node], "provisioned-for") == request {
				at(p, "spec")["nodeName"], used[node] = node, true
				c.touch(p)
				break
			}
		}
	}
}

// kubelets start and stop the containers of pods.
func (c *Cluster) kubelets() (calls []func()) {
	stop := func(p obj) {
		if uid := text(p, "metadata", "uid"); c.started[uid] {
			delete(c.started, uid)
			if name := nameOf(p); c.options.OnStop != nil {
				calls = append(calls, func() { c.options.OnStop(name) })
			}
		}
	}
	for name, p := range c.objects["pods"] {
		node := text(p, "spec", "nodeName")
		uid := text(p, "metadata", "uid")
		switch {
		case node == "":
		case text(p, "metadata", "deletionTimestamp") != "":
			stop(p)
			at(p, "status")["phase"] = "Failed"
			if finalizers(p) == 0 {
				delete(c.objects["pods"], name)
			}
		case c.objects["nodes"][node] == nil: // the machine is gone, and Kubernetes collects the pod
			stop(p)
			c.remove("pods", name)
		case !c.started[uid]:
			c.started[uid] = true
			at(p, "status")["phase"] = "Running"
			c.touch(p)
			if c.options.OnStart != nil {
				calls = append(calls, func() { c.options.OnStart(name) })
			}
		}
	}
	return calls
}

// scaleDown deletes nodes whose lease is over, nodes whose pods are gone, and unused nodes whose
// request is.
func (c *Cluster) scaleDown() {
	used := map[string]bool{}
	for _, p := range c.objects["pods"] {
		used[text(p, "spec", "nodeName")] = true
	}
	for name, n := range c.objects["nodes"] {
		end, err := time.Parse(time.RFC3339, text(n, "metadata", "annotations", "node.gke.io/machine-termination-datetime"))
		request := label(n, "provisioned-for")
		since, hadPods := c.empty[name]
		switch {
		case err == nil && time.Now().After(end):
			delete(c.objects["nodes"], name)
		case used[name]:
			c.empty[name] = time.Now()
		case hadPods && time.Since(since) > c.options.Idle, c.objects["provisioningrequests"][request] == nil && c.objects["workloads"][request] == nil:
			delete(c.objects["nodes"], name)
			delete(c.empty, name)
		}
	}
}
