package gke

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
)

// The labels and annotations of the gateway's objects.
const (
	groupLabel   = "slurmflex/group"   // on all objects: the name of their group
	requestLabel = "slurmflex/request" // on the objects of a resize request: its name
	leaseNote    = "slurmflex/lease"   // on pods: the requested lease in seconds
)

// The keys of a group's ConfigMap.
const (
	groupKey      = "group"    // the group as slurmflex has sent it
	callKey       = "call"     // the id of the call that has created the group
	deletingKey   = "deleting" // set while the group is being deleted
	requestPrefix = "request." // before the name of each resize request
)

// group is a group with its requests, as its ConfigMap has it.
type group struct {
	name     string
	created  time.Time
	body     map[string]any // the group as slurmflex has sent it
	pool     string         // from the link of its template
	deleting bool
	requests map[string]*request
	object   *unstructured.Unstructured // the ConfigMap
}

// request is the record of a resize request.
type request struct {
	Name      string    `json:"name"`
	Call      string    `json:"call,omitempty"` // the id of the call that has created it
	Instances []string  `json:"instances"`
	Seconds   int64     `json:"seconds"`
	Created   time.Time `json:"created"`
	Ended     string    `json:"ended,omitempty"`   // SUCCEEDED, FAILED or CANCELLED; empty: live
	Trouble   *trouble  `json:"trouble,omitempty"` // why it failed, or why a live one waits
}

// trouble is an error of a request, in Compute's form.
type trouble struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The states of a request.
const (
	accepted  = "ACCEPTED"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
	cancelled = "CANCELLED"
)

// state returns the request's state as Compute names it. A request of a group that is being deleted
// will have no machines.
func (r *request) state(g *group) string {
	switch {
	case r.Ended != "":
		return r.Ended
	case g.deleting:
		return cancelled
	}
	return accepted
}

// parseGroup reads a group's ConfigMap.
func parseGroup(o *unstructured.Unstructured) (*group, error) {
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %w", o.GetName(), err)
	}
	g := &group{name: o.GetName(), created: o.GetCreationTimestamp().Time, deleting: data[deletingKey] != "", requests: map[string]*request{}, object: o}
	if err := json.Unmarshal([]byte(data[groupKey]), &g.body); err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %s: %w", g.name, groupKey, err)
	}
	g.pool = poolOf(g.body)
	for key, text := range data {
		name, ok := strings.CutPrefix(key, requestPrefix)
		if !ok {
			continue
		}
		r := &request{}
		if err := json.Unmarshal([]byte(text), r); err != nil {
			return nil, fmt.Errorf("ConfigMap %s: %s: %w", g.name, key, err)
		}
		g.requests[name] = r
	}
	return g, nil
}

// poolOf returns the last part of the link of a group's template.
func poolOf(body map[string]any) string {
	versions, _, _ := unstructured.NestedSlice(body, "versions")
	if len(versions) != 1 {
		return ""
	}
	version, _ := versions[0].(map[string]any)
	link, _ := version["instanceTemplate"].(string)
	return link[strings.LastIndex(link, "/")+1:]
}

// inOrder returns the group's requests by name.
func (g *group) inOrder() []*request {
	var all []*request
	for _, name := range slices.Sorted(maps.Keys(g.requests)) {
		all = append(all, g.requests[name])
	}
	return all
}

// readGroup reads one group. A missing one is the error that slurmflex expects.
func (g *Gateway) readGroup(ctx context.Context, name string) (*group, error) {
	o, err := g.cluster.get(ctx, configMaps, name)
	if apierrors.IsNotFound(err) || err == nil && o.GetLabels()[groupLabel] != name {
		return nil, notFound("regions/%s/instanceGroupManagers/%s", g.settings.Region, name)
	}
	if err != nil {
		return nil, err
	}
	return parseGroup(o)
}

// readGroupWithPods reads the group in a call's path, and before it the group's pods.
func (g *Gateway) readGroupWithPods(r *http.Request) (*group, []*unstructured.Unstructured, error) {
	all, err := g.byGroup(r.Context(), pods)
	if err != nil {
		return nil, nil, err
	}
	of, err := g.readGroup(r.Context(), r.PathValue("group"))
	return of, all[r.PathValue("group")], err
}

// createGroup writes a new group. It accepts the one that the same call has created.
func (g *Gateway) createGroup(ctx context.Context, name, call string, body []byte) error {
	o := object("v1", "ConfigMap", name)
	o.SetLabels(map[string]string{groupLabel: name})
	o.Object["data"] = map[string]any{groupKey: string(body), callKey: call}
	_, err := g.cluster.of(configMaps).Create(ctx, o, metav1.CreateOptions{})
	if call == "" || !apierrors.IsAlreadyExists(err) {
		return err
	}
	there, unread := g.cluster.get(ctx, configMaps, name)
	if unread != nil {
		return unread
	}
	if by, _, _ := unstructured.NestedString(there.Object, "data", callKey); by != call {
		return err
	}
	return nil
}

// change changes a group's ConfigMap. It calls do with the newest state until no other writer was in
// between. do returns the keys to write; an empty text removes a key.
func (g *Gateway) change(ctx context.Context, name string, do func(*group) (map[string]string, error)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		of, err := g.readGroup(ctx, name)
		if err != nil {
			return err
		}
		keys, err := do(of)
		if err != nil || len(keys) == 0 {
			return err
		}
		for key, text := range keys {
			if text == "" {
				unstructured.RemoveNestedField(of.object.Object, "data", key)
			} else if err := unstructured.SetNestedField(of.object.Object, text, "data", key); err != nil {
				return err
			}
		}
		_, err = g.cluster.of(configMaps).Update(ctx, of.object, metav1.UpdateOptions{})
		return err
	})
}

// note returns the key that stores a request's record.
func (r *request) note() map[string]string {
	text, err := json.Marshal(r)
	if err != nil { // a struct of strings, numbers and times always encodes
		panic(err)
	}
	return map[string]string{requestPrefix + r.Name: string(text)}
}
