// Package standin stands in for a GKE cluster in tests: the part of Kubernetes' API that the gateway
// calls, GKE's autoscaler for ProvisioningRequests, the kubelets and, if asked for, Kueue. Its
// objects are plain JSON.
package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

type obj = map[string]any

// Options describes the cluster.
type Options struct {
	Capacity int           // machines that may exist
	Pace     time.Duration // between the steps of GKE and Kueue
	Idle     time.Duration // after which GKE deletes a node without pods
	Queue    string        // Kueue is installed, with this LocalQueue; empty: without Kueue
	NoGKE    bool          // without ProvisioningRequests
	PageSize int           // most objects in an answer; 0: as many as the call asks for
}

// Cluster is a running stand-in.
type Cluster struct {
	*GKE
	mu      sync.Mutex
	options Options
	objects map[string]map[string]obj // by resource, then by name
	version int
	fails   []Fault
}

// Fault answers calls with an error.
type Fault struct {
	Verb, Resource  string
	Status          int
	Reason, Message string
}

// New returns a cluster.
func New(o Options) *Cluster {
	if o.Pace == 0 {
		o.Pace = 50 * time.Millisecond
	}
	if o.Idle == 0 {
		o.Idle = 10 * o.Pace
	}
	c := &Cluster{options: o, objects: map[string]map[string]obj{}}
	c.GKE = &GKE{Objects: c, Idle: o.Idle, capacity: o.Capacity}
	if o.Queue != "" {
		c.put("localqueues", obj{"metadata": obj{"name": o.Queue}})
		c.put("clusterqueues", obj{"metadata": obj{"name": ClusterQueue}, "spec": obj{"resourceGroups": []any{obj{"flavors": []any{obj{"name": "flex", "resources": []any{
			obj{"name": "nvidia.com/gpu", "nominalQuota": "1000"},
		}}}}}}})
	}
	return c
}

// Run lets GKE, the kubelets, the scheduler and Kueue act until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	go c.GKE.Run(ctx, c.options.Pace)
	for ctx.Err() == nil {
		c.change(func() {
			if c.options.Queue != "" {
				c.kueue()
			}
			c.schedule()
		})
		select {
		case <-ctx.Done():
		case <-time.After(c.options.Pace):
		}
	}
}

// SetQuota sets the number of GPUs that Kueue admits.
func (c *Cluster) SetQuota(n int) { c.change(func() { c.quota()["nominalQuota"] = strconv.Itoa(n) }) }

// Fail adds a fault. Without a fault, it removes all.
func (c *Cluster) Fail(faults ...Fault) { c.change(func() { c.fails = faults }) }

func (c *Cluster) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

// List implements Objects.
func (c *Cluster) List(resource string) (all []map[string]any, err error) {
	c.change(func() {
		for _, name := range slices.Sorted(maps.Keys(c.objects[resource])) {
			all = append(all, copied(c.objects[resource][name]))
		}
	})
	return all, nil
}

// Create implements Objects. It does not change an existing object.
func (c *Cluster) Create(resource string, o obj) error {
	c.change(func() {
		if c.objects[resource][nameOf(o)] == nil {
			c.put(resource, o)
		}
	})
	return nil
}

// SetStatus implements Objects.
func (c *Cluster) SetStatus(resource string, o obj) (err error) {
	c.change(func() {
		there := c.objects[resource][nameOf(o)]
		if there == nil || text(there, "metadata", "resourceVersion") != text(o, "metadata", "resourceVersion") {
			err = errors.New("the object has been modified")
			return
		}
		there["status"] = copied(o)["status"]
		c.touch(there)
		at(o, "metadata")["resourceVersion"] = at(there, "metadata")["resourceVersion"]
	})
	return err
}

// Remove implements Objects. An object stays while it has a finalizer.
func (c *Cluster) Remove(resource, name string) error {
	c.change(func() {
		if o := c.objects[resource][name]; o != nil && !c.held(o) {
			delete(c.objects[resource], name)
		}
	})
	return nil
}

// Names returns the names of all objects of a resource.
func (c *Cluster) Names(resource string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.objects[resource]))
}

// Get returns a copy of an object; nil if it does not exist.
func (c *Cluster) Get(resource, name string) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[resource][name] == nil {
		return nil
	}
	return copied(c.objects[resource][name])
}

// Edit changes an object by do.
func (c *Cluster) Edit(resource, name string, do func(map[string]any)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.objects[resource][name]; o != nil {
		do(o)
		c.touch(o)
	}
}

// Delete deletes an object, as kubectl does.
func (c *Cluster) Delete(resource, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(resource, name)
}

func copied(o obj) obj {
	text, _ := json.Marshal(o)
	var again obj
	_ = json.Unmarshal(text, &again)
	return again
}

func (c *Cluster) touch(o obj) {
	c.version++
	at(o, "metadata")["resourceVersion"] = strconv.Itoa(c.version)
}

// at returns a nested object, which it creates.
func at(o obj, keys ...string) obj {
	for _, key := range keys {
		inner, ok := o[key].(obj)
		if !ok {
			inner = obj{}
			o[key] = inner
		}
		o = inner
	}
	return o
}

func text(o obj, keys ...string) string {
	s, _ := at(o, keys[:len(keys)-1]...)[keys[len(keys)-1]].(string)
	return s
}

func nameOf(o obj) string { return text(o, "metadata", "name") }

func (c *Cluster) put(resource string, o obj) {
	if c.objects[resource] == nil {
		c.objects[resource] = map[string]obj{}
	}
	c.version++
	if text(o, "kind") == "" {
		o["kind"], o["apiVersion"] = "Object", "v1"
	}
	meta := at(o, "metadata")
	meta["uid"], meta["creationTimestamp"] = fmt.Sprintf("uid-%d", c.version), now()
	c.touch(o)
	c.objects[resource][nameOf(o)] = o
}

// remove deletes an object. A pod first stops, and stays while it has a finalizer.
func (c *Cluster) remove(resource, name string) {
	o := c.objects[resource][name]
	if o == nil {
		return
	}
	running := resource == "pods" && text(o, "spec", "nodeName") != "" && text(o, "status", "phase") != "Failed"
	if c.held(o) || running {
		c.doom(o)
		return
	}
	delete(c.objects[resource], name)
}

// held reports whether a finalizer keeps the object, which is then being deleted.
func (c *Cluster) held(o obj) bool {
	list, _ := at(o, "metadata")["finalizers"].([]any)
	if len(list) > 0 {
		c.doom(o)
	}
	return len(list) > 0
}

// doom notes that an object is being deleted.
func (c *Cluster) doom(o obj) {
	if text(o, "metadata", "deletionTimestamp") == "" {
		at(o, "metadata")["deletionTimestamp"] = now()
		c.touch(o)
	}
}

// ServeHTTP answers Kubernetes' API.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	if len(parts) > 4 && parts[3] == "namespaces" {
		parts = append(parts[:3:3], parts[5:]...)
	}
	if len(parts) < 4 {
		status(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		return
	}
	resource, name := parts[3], strings.Join(parts[4:], "/")
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.fails {
		if f.Verb == r.Method && f.Resource == resource {
			status(w, f.Status, f.Reason, f.Message)
			return
		}
	}
	if c.options.NoGKE && resource == "provisioningrequests" || c.options.Queue == "" && strings.HasPrefix(parts[1], "kueue") {
		status(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		return
	}
	var given obj
	if len(body) > 0 && r.Method != http.MethodDelete {
		if err := json.Unmarshal(body, &given); err != nil {
			status(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
	}
	there := c.objects[resource][name]
	switch {
	case r.Method == http.MethodPost:
		c.post(w, r, resource, given)
	case name == "":
		c.list(w, r, resource)
	case there == nil:
		status(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", resource, name))
	case r.Method == http.MethodGet:
		answer(w, there)
	case r.Method == http.MethodPut:
		if text(given, "metadata", "resourceVersion") != text(there, "metadata", "resourceVersion") {
			status(w, http.StatusConflict, "Conflict", "the object has been modified")
			return
		}
		c.objects[resource][name] = given
		c.touch(given)
		answer(w, given)
	case r.Method == http.MethodDelete:
		c.remove(resource, name)
		answer(w, obj{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		status(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

func (c *Cluster) post(w http.ResponseWriter, r *http.Request, resource string, given obj) {
	if c.objects[resource][nameOf(given)] != nil {
		status(w, http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", resource, nameOf(given)))
		return
	}
	if r.URL.Query().Get("dryRun") == "" {
		if resource == "pods" && label(given, "kueue.x-k8s.io/queue-name") != "" {
			at(given, "metadata")["finalizers"] = []any{"kueue.x-k8s.io/managed"}
			at(given, "spec")["schedulingGates"] = []any{obj{"name": "kueue.x-k8s.io/admission"}}
		}
		c.put(resource, given)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(given)
}

func label(o obj, key string) string { return text(o, "metadata", "labels", key) }

func note(o obj, key string) string { return text(o, "metadata", "annotations", key) }

// list answers with a page of the objects that have the label of the selector.
func (c *Cluster) list(w http.ResponseWriter, r *http.Request, resource string) {
	query := r.URL.Query()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.objects[resource])) {
		if selector := query.Get("labelSelector"); selector == "" || label(c.objects[resource][name], selector) != "" {
			names = append(names, name)
		}
	}
	from, _ := strconv.Atoi(query.Get("continue"))
	names = names[min(from, len(names)):]
	limit, _ := strconv.Atoi(query.Get("limit"))
	if limit == 0 || c.options.PageSize > 0 && c.options.PageSize < limit {
		limit = max(c.options.PageSize, limit)
		if c.options.PageSize > 0 {
			limit = c.options.PageSize
		}
	}
	meta, items := obj{"resourceVersion": strconv.Itoa(c.version)}, []obj{}
	for i, name := range names {
		if limit > 0 && i == limit {
			meta["continue"] = strconv.Itoa(from + limit)
			break
		}
		items = append(items, c.objects[resource][name])
	}
	answer(w, obj{"kind": "List", "apiVersion": "v1", "metadata": meta, "items": items})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(obj{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}
