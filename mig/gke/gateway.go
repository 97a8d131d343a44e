package gke

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Gateway serves a region from a Kubernetes cluster. Run one for a namespace.
type Gateway struct {
	settings *Settings
	cluster  cluster
	checked  cluster // reports each refusal at once, to an admin who checks the configuration
	log      *slog.Logger
	measures *measures
	pace     time.Duration // between two passes without a call in between

	changing sync.Mutex    // held while requests are changed
	wake     chan struct{} // has room for one

	mu     sync.Mutex
	passed time.Time // when the last complete pass has ended
	last   error     // of the last pass
}

// New returns a gateway to the cluster that config leads to.
func New(settings *Settings, config *rest.Config, log *slog.Logger) (*Gateway, error) {
	return newGateway(settings, config, log, time.Minute)
}

func newGateway(settings *Settings, config *rest.Config, log *slog.Logger, patience time.Duration) (*Gateway, error) {
	c, err := connect(config, settings.Namespace, patience)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	checked, err := connect(config, settings.Namespace, 0)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	return &Gateway{settings: settings, cluster: c, checked: checked, log: log, measures: newMeasures(), pace: time.Second, wake: make(chan struct{}, 1)}, nil
}

// Run makes passes until ctx ends. Only passes create pods.
func (g *Gateway) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := g.pass(ctx)
		g.mu.Lock()
		if err == nil {
			g.passed = time.Now()
		} else if ctx.Err() == nil && (g.last == nil || g.last.Error() != err.Error()) {
			g.log.Error("pass failed", "error", oneLine(err.Error()))
		}
		g.last = err
		g.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-g.wake:
		case <-time.After(g.pace):
		}
	}
}

// stir starts the next pass at once.
func (g *Gateway) stir() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Healthy returns why the gateway does not do its work; nil if it does.
func (g *Gateway) Healthy() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch age := time.Since(g.passed); {
	case age < time.Minute:
		return nil
	case g.last != nil:
		return fmt.Errorf("no pass for a minute: %w", g.last)
	default:
		return errors.New("no pass for a minute")
	}
}

// scene is what a pass has read. Objects are read before groups, so an object without a group
// belongs to none.
type scene struct {
	pods, templates, provisions map[string][]*unstructured.Unstructured // by group
	groups                      []*group
}

// look reads all objects of the gateway.
func (g *Gateway) look(ctx context.Context) (s scene, err error) {
	if s.pods, err = g.byGroup(ctx, pods); err != nil {
		return s, err
	}
	if s.templates, err = g.byGroup(ctx, podTemplates); err != nil {
		return s, err
	}
	if g.anyPool(func(p Pool) bool { return p.Queue == "" }) {
		if s.provisions, err = g.byGroup(ctx, provisioning); err != nil {
			return s, err
		}
	}
	s.groups, err = g.groups(ctx)
	return s, err
}

// byGroup reads all objects of a kind.
func (g *Gateway) byGroup(ctx context.Context, kind schema.GroupVersionResource) (map[string][]*unstructured.Unstructured, error) {
	list, err := g.cluster.list(ctx, kind)
	all := map[string][]*unstructured.Unstructured{}
	for i := range list {
		name := list[i].GetLabels()[groupLabel]
		all[name] = append(all[name], &list[i])
	}
	return all, err
}

func (g *Gateway) anyPool(is func(Pool) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(g.settings.Pools)), is)
}

// groups reads all groups.
func (g *Gateway) groups(ctx context.Context) (all []*group, err error) {
	list, err := g.cluster.list(ctx, configMaps)
	if err != nil {
		return nil, err
	}
	for i := range list {
		of, err := parseGroup(&list[i])
		if err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	return all, nil
}

// pass takes each group a step further. An error of one group does not stop the others.
func (g *Gateway) pass(ctx context.Context) error {
	g.changing.Lock()
	defer g.changing.Unlock()
	begun := time.Now()
	s, err := g.look(ctx)
	if err != nil {
		return err
	}
	var errs []error
	live := 0
	known := map[string]bool{}
	for _, of := range s.groups {
		known[of.name] = true
		if of.deleting {
			errs = append(errs, g.remove(ctx, of, s))
			continue
		}
		for _, r := range of.inOrder() {
			switch r.Ended {
			case "":
				live++
				errs = append(errs, g.advance(ctx, of, r, s))
			case succeeded:
			default:
				errs = append(errs, g.clear(ctx, of, r, s))
			}
		}
		errs = append(errs, g.release(ctx, s.pods[of.name]))
	}
	for _, objects := range []map[string][]*unstructured.Unstructured{s.pods, s.templates, s.provisions} {
		for name := range objects {
			if !known[name] { // an admin has deleted the ConfigMap
				errs = append(errs, g.remove(ctx, &group{name: name}, s))
			}
		}
	}
	g.measures.pass(time.Since(begun), live, len(s.groups))
	return errors.Join(errs...)
}

// ofRequest returns those objects of a group that belong to a request.
func ofRequest(objects []*unstructured.Unstructured, r *request) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetLabels()[requestLabel] != r.Name })
}

// advance takes a live request a step further, and notes in its record what became of it.
func (g *Gateway) advance(ctx context.Context, of *group, r *request, s scene) error {
	next := *r
	err := g.step(ctx, of, &next, s)
	if err != nil {
		why := refusalOf(err)
		next.Trouble = &trouble{codes[why.reason], why.message}
		if codes[why.reason] == "" {
			return err // it may pass: the next pass repeats the step
		}
		if why.lasting() {
			next.Ended = failed
		}
	}
	if next.Ended == r.Ended && (next.Trouble == r.Trouble || next.Trouble != nil && r.Trouble != nil && *next.Trouble == *r.Trouble) {
		return nil
	}
	g.log.Info("request", "group", of.name, "request", r.Name, "state", next.state(of), "trouble", next.Trouble)
	return g.change(ctx, of.name, func(now *group) (map[string]string, error) {
		if n := now.requests[r.Name]; n == nil || n.Ended != "" || now.deleting {
			return nil, nil
		}
		return next.note(), nil
	})
}

// codes maps the reasons of refusals to the codes of requests.
var codes = map[string]string{
	"alreadyExists": "RESOURCE_NOT_READY", // an earlier pod of that name still exists
	"quotaExceeded": "QUOTA_EXCEEDED", "insufficientPermissions": "PERMISSION_DENIED", "invalid": "INVALID_ARGUMENT", "notFound": "INVALID_ARGUMENT",
}

// step creates what a live request lacks next. It sets the request's end and its trouble.
func (g *Gateway) step(ctx context.Context, of *group, r *request, s scene) error {
	pool, ok := g.settings.Pools[of.pool]
	if !ok {
		return &refusal{400, "invalid", fmt.Sprintf("the gateway's configuration has no pool %q any more", of.pool)}
	}
	if pool.wrong != nil {
		return &refusal{400, "invalid", pool.wrong.Error()}
	}
	if g.allBound(of, r, s) {
		r.Ended, r.Trouble = succeeded, nil
		return nil
	}
	ended := false
	var nodeLabels map[string]string
	if pool.Queue == "" {
		provisions := ofRequest(s.provisions[of.name], r)
		if len(provisions) == 0 {
			template, provision, err := pool.asking(of, r)
			if err == nil {
				err = g.cluster.create(ctx, podTemplates, template)
			}
			if err == nil {
				err = g.cluster.create(ctx, provisioning, provision)
			}
			return err
		}
		if r.Trouble, ended = troubleOf(provisions[0]); ended {
			r.Ended = failed
			return nil
		}
		if conditionsOf(provisions[0])["Provisioned"].Status != "True" {
			return nil
		}
		nodeLabels = labelsOfNodes(provisions[0])
	} else {
		workload, err := g.cluster.get(ctx, workloads, r.set(of))
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err != nil {
			workload = nil // Kueue has not made it yet
		}
		if r.Trouble, ended = troubleInQueue(pool.Queue, workload); ended {
			r.Ended = failed
			return nil
		}
	}
	return g.createPods(ctx, of, r, pool, nodeLabels, s)
}

// createPods creates the pods that a request lacks, for nodes with these labels.
func (g *Gateway) createPods(ctx context.Context, of *group, r *request, pool Pool, nodeLabels map[string]string, s scene) error {
	var there []string
	for _, p := range ofRequest(s.pods[of.name], r) {
		there = append(there, p.GetName())
	}
	for _, name := range r.Instances {
		if slices.Contains(there, name) {
			continue
		}
		p, err := pool.machinePod(of, r, name, nodeLabels)
		if err == nil {
			_, err = g.cluster.of(pods).Create(ctx, p, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
		g.log.Info("pod created", "pod", name, "group", of.name)
	}
	return nil
}

// allBound reports whether every machine of a request has its node.
func (g *Gateway) allBound(of *group, r *request, s scene) bool {
	bound := 0
	for _, p := range ofRequest(s.pods[of.name], r) {
		if nodeOf(p) != "" && slices.Contains(r.Instances, p.GetName()) {
			bound++
		}
	}
	return bound == len(r.Instances)
}

// nodeOf returns the name of a pod's node; empty: the pod is not bound.
func nodeOf(pod *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	return name
}

// leaving reports whether the object is being deleted.
func leaving(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil }

// release lets pods end that are being deleted: Kueue keeps them by a finalizer while their Workload
// exists, even if slurmflex has deleted the record of their request.
func (g *Gateway) release(ctx context.Context, all []*unstructured.Unstructured) error {
	staying, ending := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		if set := p.GetLabels()[podGroup]; leaving(p) && set != "" {
			ending[set] = true
		} else {
			staying[set] = true
		}
	}
	var errs []error
	for set := range ending {
		if !staying[set] {
			errs = append(errs, g.cluster.delete(ctx, workloads, set))
		}
	}
	return errors.Join(errs...)
}

// clear deletes the objects of a failed or cancelled request.
func (g *Gateway) clear(ctx context.Context, of *group, r *request, s scene) error {
	var errs []error
	for kind, objects := range map[schema.GroupVersionResource][]*unstructured.Unstructured{
		provisioning: s.provisions[of.name], podTemplates: s.templates[of.name], pods: s.pods[of.name],
	} {
		for _, o := range ofRequest(objects, r) {
			if o.GetLabels()[podGroup] != "" {
				errs = append(errs, g.cluster.delete(ctx, workloads, r.set(of)))
			}
			if !leaving(o) {
				errs = append(errs, g.cluster.delete(ctx, kind, o.GetName()))
			}
		}
	}
	return errors.Join(errs...)
}

// remove deletes the objects of a group, and at last its ConfigMap.
func (g *Gateway) remove(ctx context.Context, of *group, s scene) error {
	all := map[string]*request{}
	for _, objects := range [][]*unstructured.Unstructured{s.pods[of.name], s.templates[of.name], s.provisions[of.name]} {
		for _, o := range objects { // also of requests without a record
			name := o.GetLabels()[requestLabel]
			all[name] = &request{Name: name}
		}
	}
	var errs []error
	for _, r := range all {
		errs = append(errs, g.clear(ctx, of, r, s))
	}
	if len(all) == 0 && of.object != nil {
		g.log.Info("group deleted", "group", of.name)
		errs = append(errs, g.cluster.delete(ctx, configMaps, of.name))
	}
	return errors.Join(errs...)
}
