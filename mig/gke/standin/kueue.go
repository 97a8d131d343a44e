package standin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ClusterQueue is the name of Kueue's ClusterQueue, which has the quota of GPUs.
const ClusterQueue = "dws-cluster-queue"

// kueue makes a Workload of each complete pod group, admits it, and removes the finalizers of pods
// without a Workload.
func (c *Cluster) kueue() {
	groups := map[string][]obj{}
	for _, p := range c.objects["pods"] {
		if name := label(p, "kueue.x-k8s.io/pod-group-name"); name != "" {
			groups[name] = append(groups[name], p)
		}
	}
	for name, pods := range groups {
		total := number(note(pods[0], "kueue.x-k8s.io/pod-group-total-count"))
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
			c.admit(w, total, pods)
			c.touch(w)
		}
	}
	for name := range c.objects["workloads"] {
		if len(groups[name]) == 0 {
			c.remove("workloads", name)
		}
	}
	for name := range c.objects["provisioningrequests"] { // Kubernetes collects what belonged to a Workload
		if owner, ours := strings.CutSuffix(name, attempt); ours && c.objects["workloads"][owner] == nil {
			c.remove("provisioningrequests", name)
		}
	}
}

// attempt follows a Workload's name in that of its ProvisioningRequest.
const attempt = "-dws-1"

// admit takes a Workload a step further: it reserves quota, then makes a ProvisioningRequest, and
// lets the pods go to the nodes of that.
func (c *Cluster) admit(w obj, count int, pods []obj) {
	used := 0
	for _, other := range c.objects["workloads"] {
		if is(other, "QuotaReserved") && nameOf(other) != nameOf(w) {
			used += number(other["pods"]) * gpusOfMachine
		}
	}
	if more := used + count*gpusOfMachine - number(c.quota()["nominalQuota"]); more > 0 {
		setCondition(w, "QuotaReserved", "False", "Pending", fmt.Sprintf(
			"couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor flex, %d more needed", more))
		return
	}
	setCondition(w, "QuotaReserved", "True", "QuotaReserved", "")
	name := nameOf(w) + attempt
	p := c.objects["provisioningrequests"][name]
	if p == nil {
		c.put("provisioningrequests", obj{"metadata": obj{"name": name}, "spec": obj{
			"parameters": obj{"maxRunDurationSeconds": note(pods[0], "provreq.kueue.x-k8s.io/maxRunDurationSeconds")},
			"podSets":    []any{obj{"count": float64(count)}},
		}})
		return
	}
	check := obj{"name": "dws", "state": "Pending", "message": ""}
	conditions, _ := at(p, "status")["conditions"].([]any)
	for _, of := range conditions {
		check["message"] = of.(obj)["message"]
	}
	switch {
	case is(p, "Failed"):
		check["state"] = "Rejected"
	case is(p, "Provisioned"):
		check["state"] = "Ready"
		for _, pod := range pods {
			at(pod, "spec", "nodeSelector")[requestNodes] = resizeRequest(p)
			delete(at(pod, "spec"), "schedulingGates")
			c.touch(pod)
		}
		setCondition(w, "Admitted", "True", "Admitted", "")
	}
	at(w, "status")["admissionChecks"] = []any{check}
}

// quota returns the quota of GPUs in the ClusterQueue.
func (c *Cluster) quota() obj {
	groups := at(c.objects["clusterqueues"][ClusterQueue], "spec")["resourceGroups"].([]any)
	flavors := groups[0].(obj)["flavors"].([]any)
	return flavors[0].(obj)["resources"].([]any)[0].(obj)
}

// schedule binds pods to the nodes that they select, one to each.
func (c *Cluster) schedule() {
	used := map[string]bool{}
	for _, p := range c.objects["pods"] {
		used[text(p, "spec", "nodeName")] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c.objects["pods"])) {
		p := c.objects["pods"][name]
		if text(p, "spec", "nodeName") != "" || at(p, "spec")["schedulingGates"] != nil || text(p, "metadata", "deletionTimestamp") != "" {
			continue
		}
		for _, node := range slices.Sorted(maps.Keys(c.objects["nodes"])) {
			if !used[node] && selects(p, c.objects["nodes"][node]) {
				at(p, "spec")["nodeName"], used[node] = node, true
				c.touch(p)
				break
			}
		}
	}
}

func selects(pod, node obj) bool {
	for key, value := range at(pod, "spec", "nodeSelector") {
		if label(node, key) != value {
			return false
		}
	}
	return true
}
