package gke

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statusOf returns a pod's status in Compute's words.
func statusOf(pod *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	switch {
	case leaving(pod):
		return "STOPPING"
	case phase == "Running":
		return "RUNNING"
	case phase == "Succeeded", phase == "Failed":
		return "TERMINATED"
	}
	return "STAGING"
}

// nodesByName reads the nodes of the cluster.
func (g *Gateway) nodesByName(ctx context.Context) (map[string]*unstructured.Unstructured, error) {
	list, err := g.cluster.list(ctx, nodes)
	all := map[string]*unstructured.Unstructured{}
	for i := range list {
		all[list[i].GetName()] = &list[i]
	}
	return all, err
}

// zoneOf returns the zone of a node, in the gateway's region. A node in a zone that the settings
// lack is shown in the first one, because no machine must be missing from the lists.
func (g *Gateway) zoneOf(node *unstructured.Unstructured) string {
	zone := node.GetLabels()[zoneLabel]
	letter := zone[strings.LastIndex(zone, "-")+1:]
	if !slices.Contains(g.settings.Zones, letter) {
		letter = g.settings.Zones[0]
	}
	return g.settings.Region + "-" + letter
}

// listInstances lists the pods that are bound to a node of the zone. If the node does not exist, the
// machine does not either.
func (g *Gateway) listInstances(r *http.Request) (any, error) {
	zone := r.PathValue("zone")
	if err := g.needZone(zone); err != nil {
		return nil, err
	}
	all, err := g.cluster.list(r.Context(), pods)
	if err != nil {
		return nil, err
	}
	known, err := g.nodesByName(r.Context())
	if err != nil {
		return nil, err
	}
	items := []obj{}
	for i := range all {
		node := known[nodeOf(&all[i])]
		if node == nil || g.zoneOf(node) != zone {
			continue
		}
		items = append(items, g.machine(&all[i], node))
	}
	return obj{"kind": "compute#instanceList", "items": items}, nil
}

// machine returns a pod as an instance.
func (g *Gateway) machine(pod, node *unstructured.Unstructured) obj {
	group := pod.GetLabels()[groupLabel]
	in := obj{
		"name": pod.GetName(), "status": statusOf(pod), "creationTimestamp": pod.GetCreationTimestamp().Format(time.RFC3339),
		"scheduling": obj{"provisioningModel": "FLEX_START"},
		"metadata":   obj{"items": []obj{{"key": "created-by", "value": "projects/1/regions/" + g.settings.Region + "/instanceGroupManagers/" + group}}},
	}
	end, err := time.Parse(time.RFC3339, node.GetAnnotations()[leaseEnd])
	if seconds, unread := strconv.Atoi(pod.GetAnnotations()[leaseNote]); err != nil && unread == nil { // GKE has not written it yet
		end = pod.GetCreationTimestamp().Add(time.Duration(seconds) * time.Second)
	}
	if !end.IsZero() {
		in["resourceStatus"] = obj{"scheduling": obj{"terminationTimestamp": end.Format(time.RFC3339)}}
	}
	return in
}

func (g *Gateway) listMembers(r *http.Request) (any, error) {
	of, all, err := g.readGroupWithPods(r)
	if err != nil {
		return nil, err
	}
	known, err := g.nodesByName(r.Context())
	if err != nil {
		return nil, err
	}
	items := []obj{}
	machines, lacking := of.members(all)
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		member := obj{"name": name, "currentAction": "NONE"}
		if node := known[nodeOf(machines[name])]; node != nil {
			member["instanceStatus"] = statusOf(machines[name])
			if leaving(machines[name]) {
				member["currentAction"] = "DELETING"
			}
			member["instance"] = fmt.Sprintf("projects/gke/zones/%s/instances/%s", g.zoneOf(node), name)
		}
		items = append(items, member)
	}
	for _, name := range lacking {
		items = append(items, obj{"name": name, "currentAction": "CREATING"})
	}
	return obj{"managedInstances": items}, nil
}

func (g *Gateway) zones() []string {
	var all []string
	for _, letter := range g.settings.Zones {
		all = append(all, g.settings.Region+"-"+letter)
	}
	return all
}

func (g *Gateway) needZone(zone string) error {
	if !slices.Contains(g.zones(), zone) {
		return notFound("zones/%s", zone)
	}
	return nil
}

func (g *Gateway) getRegion(*http.Request) (any, error) {
	return obj{"kind": "compute#region", "name": g.settings.Region, "status": "UP", "zones": g.zones()}, nil
}

func (g *Gateway) getZone(r *http.Request) (any, error) {
	zone := r.PathValue("zone")
	return obj{"kind": "compute#zone", "name": zone, "status": "UP"}, g.needZone(zone)
}

func (g *Gateway) getMachineType(r *http.Request) (any, error) {
	name := r.PathValue("type")
	if err := g.needZone(r.PathValue("zone")); err != nil {
		return nil, err
	}
	for _, p := range g.settings.Pools {
		if m := p.Machine; m.Type == name {
			shown := obj{"name": name, "guestCpus": m.CPUs, "memoryMb": m.MemoryMB}
			if m.GPUs > 0 {
				shown["accelerators"] = []obj{{"guestAcceleratorType": m.GPU, "guestAcceleratorCount": m.GPUs}}
			}
			return shown, nil
		}
	}
	return nil, notFound("zones/%s/machineTypes/%s", r.PathValue("zone"), name)
}

// getTemplate answers with the pool as an instance template, after a check that pods of it can be
// created.
func (g *Gateway) getTemplate(r *http.Request) (any, error) {
	name := r.PathValue("pool")
	pool, ok := g.settings.Pools[name]
	if !ok {
		return nil, notFound("regions/%s/instanceTemplates/%s", g.settings.Region, name)
	}
	if err := g.check(r.Context(), name, pool); err != nil {
		return nil, err
	}
	properties := obj{
		"machineType": pool.Machine.Type,
		"scheduling": obj{
			"provisioningModel": "FLEX_START", "instanceTerminationAction": "DELETE", "onHostMaintenance": "TERMINATE",
			"maxRunDuration": obj{"seconds": strconv.Itoa(longest)},
		},
		"reservationAffinity": obj{"consumeReservationType": "NO_RESERVATION"},
	}
	return obj{"kind": "compute#instanceTemplate", "name": name, "properties": properties}, nil
}

// check returns why requests for machines of the pool cannot succeed; nil if they can, as far as the
// gateway and a dry run show.
func (g *Gateway) check(ctx context.Context, name string, pool Pool) error {
	if pool.wrong != nil {
		return invalid("%s", pool.wrong)
	}
	if pool.Queue == "" {
		if _, err := g.checked.of(provisioning).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
			return invalid("the cluster has no ProvisioningRequest of %s; use GKE 1.31 or later with a node pool with queued provisioning, or set the pool's queue", provisioning.GroupVersion())
		} else if err != nil {
			return err
		}
	} else if _, err := g.checked.get(ctx, localQueues, pool.Queue); apierrors.IsNotFound(err) {
		if _, err := g.checked.of(localQueues).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
			return invalid("the cluster has no LocalQueue of %s; install Kueue 0.15 or later, or remove the pool's queue", localQueues.GroupVersion())
		}
		return invalid("namespace %s has no LocalQueue %s; create it, or correct the pool's queue", g.settings.Namespace, pool.Queue)
	} else if err != nil {
		return err
	}
	of, r := &group{name: "slurmflex-check", pool: name}, &request{Name: "a1", Seconds: shortest, Instances: []string{"slurmflex-check"}}
	pod, err := pool.machinePod(of, r, "slurmflex-check", nil)
	if err != nil {
		return err
	}
	_, err = g.checked.of(pods).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || refusalOf(err).reason == "quotaExceeded" { // by running pods
		return nil
	}
	return err
}
