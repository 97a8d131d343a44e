package gke

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// The names that GKE and Kueue give to labels and annotations. Sources: GKE's pages "About
// obtaining accelerators with flex-start" and "Run a large-scale workload with flex-start with
// queued provisioning", and Kueue's pages "Plain pods" and "ProvisioningRequest".
const (
	queuedClass   = "queued-provisioning.gke.io"
	leaseKey      = "maxRunDurationSeconds"
	poolLabel     = "cloud.google.com/gke-nodepool"
	zoneLabel     = "topology.kubernetes.io/zone"
	requestNodes  = "autoscaling.gke.io/provisioning-request"
	leaseEnd      = "node.gke.io/machine-termination-datetime"
	consumes      = "autoscaling.x-k8s.io/consume-provisioning-request"
	consumesClass = "autoscaling.x-k8s.io/provisioning-class-name"
	queueLabel    = "kueue.x-k8s.io/queue-name"
	podGroup      = "kueue.x-k8s.io/pod-group-name"
	podGroupSize  = "kueue.x-k8s.io/pod-group-total-count"
	retriable     = "kueue.x-k8s.io/retriable-in-group"
	kueueLease    = "provreq.kueue.x-k8s.io/" + leaseKey
)

// nodeVariable is the variable with the node's name in Slurm.
const nodeVariable = "SLURMFLEX_NODE"

// object returns an object without content.
func object(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// set returns the name of a request's objects, which are not pods: unique in the namespace.
func (r *request) set(g *group) string { return g.name + "-" + r.Name }

func (r *request) labels(g *group) map[string]string {
	return map[string]string{groupLabel: g.name, requestLabel: r.Name}
}

// content returns a value of one of Kubernetes' types as the content of an object.
func content(of any) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(of)
}

// machinePod returns the pod of a machine, for nodes with these labels besides that of its pool.
func (p Pool) machinePod(g *group, r *request, instance string, nodeLabels map[string]string) (*unstructured.Unstructured, error) {
	t := p.pod.DeepCopy()
	labels, notes := r.labels(g), map[string]string{leaseNote: strconv.FormatInt(r.Seconds, 10)}
	if p.Queue == "" {
		notes[consumes], notes[consumesClass] = r.set(g), queuedClass
	} else {
		labels[queueLabel], labels[podGroup] = p.Queue, r.set(g)
		notes[podGroupSize], notes[kueueLease] = strconv.Itoa(len(r.Instances)), notes[leaseNote]
		notes[retriable] = "false" // otherwise Kueue's finalizer keeps a pod that has ended
	}
	spec := t.Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	if !spec.HostNetwork {
		spec.Hostname = instance
	}
	spec.NodeSelector = merged(spec.NodeSelector, map[string]string{poolLabel: g.pool}, nodeLabels)
	for i := range spec.Containers {
		spec.Containers[i].Env = append(spec.Containers[i].Env, corev1.EnvVar{Name: nodeVariable, Value: instance})
	}
	body, err := content(&corev1.Pod{Spec: spec})
	if err != nil {
		return nil, err
	}
	o := object("v1", "Pod", instance)
	o.Object["spec"] = body["spec"]
	o.SetLabels(merged(t.Labels, labels))
	o.SetAnnotations(merged(t.Annotations, notes))
	return o, nil
}

func merged(all ...map[string]string) map[string]string {
	sum := map[string]string{}
	for _, m := range all {
		maps.Copy(sum, m)
	}
	return sum
}

// asking returns the objects by which a request asks GKE for nodes, without Kueue.
func (p Pool) asking(g *group, r *request) (template, provision *unstructured.Unstructured, err error) {
	pod, err := p.machinePod(g, r, "", nil)
	if err != nil {
		return nil, nil, err
	}
	template = object("v1", "PodTemplate", r.set(g))
	template.SetLabels(r.labels(g))
	template.Object["template"] = map[string]any{"metadata": map[string]any{"labels": anyMap(pod.GetLabels())}, "spec": pod.Object["spec"]}
	provision = object("autoscaling.x-k8s.io/v1", "ProvisioningRequest", r.set(g))
	provision.SetLabels(r.labels(g))
	provision.Object["spec"] = map[string]any{
		"provisioningClassName": queuedClass,
		"parameters":            map[string]any{leaseKey: strconv.FormatInt(r.Seconds, 10)},
		"podSets":               []any{map[string]any{"count": int64(len(r.Instances)), "podTemplateRef": map[string]any{"name": r.set(g)}}},
	}
	return template, provision, nil
}

func anyMap(of map[string]string) map[string]any {
	all := map[string]any{}
	for k, v := range of {
		all[k] = v
	}
	return all
}

// labelsOfNodes returns the labels of the nodes that GKE has created for a request, as far as its
// ProvisioningRequest names them. Without them, a pod could take the node of another request, with
// another lease.
func labelsOfNodes(provision *unstructured.Unstructured) map[string]string {
	name, _, _ := unstructured.NestedString(provision.Object, "status", "provisioningClassDetails", "ResizeRequestName")
	if name == "" {
		return nil
	}
	return map[string]string{requestNodes: name}
}

// condition is a condition of an object.
type condition struct{ Type, Status, Reason, Message string }

// conditionsOf returns an object's conditions by type.
func conditionsOf(o *unstructured.Unstructured) map[string]condition {
	all := map[string]condition{}
	if o == nil {
		return all
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, of := range list {
		c, _ := of.(map[string]any)
		text := func(key string) string { return fmt.Sprint(c[key]) }
		all[text("type")] = condition{text("type"), text("status"), text("reason"), text("message")}
	}
	return all
}

// troubleOf returns why a request without its nodes failed or waits, by the conditions of its
// ProvisioningRequest: ended means that GKE has given it up.
func troubleOf(provision *unstructured.Unstructured) (why *trouble, ended bool) {
	all := conditionsOf(provision)
	for _, kind := range []string{"Failed", "CapacityRevoked", "BookingExpired"} {
		if c := all[kind]; c.Status == "True" {
			return &trouble{codeOf(c.Reason), c.Reason + ": " + c.Message}, true
		}
	}
	if c := all["Provisioned"]; c.Status == "False" && c.Reason != "" {
		return &trouble{codeOf(c.Reason), c.Reason + ": " + c.Message}, false
	}
	return nil, false
}

// codeOf returns Compute's code for a reason of GKE's autoscaler, as far as its consequence for the
// job goes; the message keeps GKE's reason. Source: GKE's page "Troubleshoot flex-start", Conditions.
func codeOf(reason string) string {
	switch {
	case reason == "QuotaExceeded":
		return "QUOTA_EXCEEDED"
	case slices.Contains([]string{"PermissionDenied", "PermissionsError"}, reason):
		return "PERMISSION_DENIED"
	case slices.Contains([]string{"InvalidArgument", "InvalidMachineType", "NoQueuedNodepoolAvailable", "ProvisioningRequestNotSchedulableInNodepool"}, reason):
		return "INVALID_ARGUMENT"
	}
	return "RESOURCE_POOL_EXHAUSTED"
}

// troubleInQueue returns why Kueue does not start a request, by its Workload.
func troubleInQueue(queue string, workload *unstructured.Unstructured) (why *trouble, ended bool) {
	if workload == nil {
		return nil, false
	}
	checks, _, _ := unstructured.NestedSlice(workload.Object, "status", "admissionChecks")
	for _, of := range checks {
		c, _ := of.(map[string]any)
		message, _ := c["message"].(string)
		switch c["state"] {
		case "Rejected":
			return &trouble{"INVALID_ARGUMENT", "Kueue: " + message}, true
		case "Ready":
		default:
			if message != "" {
				return &trouble{"RESOURCE_POOL_EXHAUSTED", "Kueue: " + message}, false
			}
		}
	}
	if c := conditionsOf(workload)["QuotaReserved"]; c.Status == "False" {
		return &trouble{"QUOTA_EXCEEDED", quotaText("LocalQueue "+queue, "Kueue: "+c.Message)}, false
	}
	return nil, false
}
