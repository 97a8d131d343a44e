package gke

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// The kinds of objects that the gateway reads or writes.
var (
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	podTemplates = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}
	nodes        = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	provisioning = schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1", Resource: "provisioningrequests"}
	workloads    = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}
	localQueues  = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "localqueues"}
)

const (
	callTime = 20 * time.Second // for one call of Kubernetes
	pageSize = 500              // objects in one page of a list
)

// cluster reads and writes Kubernetes objects of one namespace.
type cluster struct {
	client    dynamic.Interface
	namespace string
}

// connect returns the cluster that config leads to. patience is how long it takes a refusal for a
// passing one.
func connect(config *rest.Config, namespace string, patience time.Duration) (cluster, error) {
	c := rest.CopyConfig(config)
	c.UserAgent, c.Timeout = "slurmflex-gke", callTime
	c.QPS, c.Burst = 50, 200 // client-go's default of 5 a second would take a minute for a job of 300 nodes
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &patient{next: next, patience: patience, refused: map[string]span{}}
	})
	client, err := dynamic.NewForConfig(c)
	return cluster{client, namespace}, err
}

func (c cluster) of(kind schema.GroupVersionResource) dynamic.ResourceInterface {
	if kind == nodes {
		return c.client.Resource(kind)
	}
	return c.client.Resource(kind).Namespace(c.namespace)
}

// list reads all objects of a kind with the label of the gateway or, for nodes, all.
func (c cluster) list(ctx context.Context, kind schema.GroupVersionResource) (all []unstructured.Unstructured, err error) {
	o := metav1.ListOptions{Limit: pageSize}
	if kind != nodes {
		o.LabelSelector = groupLabel
	}
	for {
		page, err := c.of(kind).List(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return all, nil
		}
	}
}

func (c cluster) get(ctx context.Context, kind schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	return c.of(kind).Get(ctx, name, metav1.GetOptions{})
}

// create creates an object. An existing one is left as it is.
func (c cluster) create(ctx context.Context, kind schema.GroupVersionResource, o *unstructured.Unstructured) error {
	_, err := c.of(kind).Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// delete deletes an object, if it exists.
func (c cluster) delete(ctx context.Context, kind schema.GroupVersionResource, name string) error {
	err := c.of(kind).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// refusal is an answer to slurmflex that is not a success.
type refusal struct {
	status          int
	reason, message string
}

func (r *refusal) Error() string { return r.message }

// notFound reports a missing object of Compute in Compute's words, which slurmflex reads.
func notFound(format string, args ...any) *refusal {
	return &refusal{http.StatusNotFound, "notFound", "The resource 'projects/gke/" + fmt.Sprintf(format, args...) + "' was not found"}
}

// usedUp stands before the name of a ResourceQuota that has no room.
const usedUp = "exceeded quota: "

// refusalOf returns the answer for an error of Kubernetes, with the reason that Compute would give.
// Unknown errors count as transient.
func refusalOf(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	text := oneLine(err.Error())
	switch {
	case strings.Contains(text, usedUp):
		_, quota, _ := strings.Cut(text, usedUp)
		quota, _, _ = strings.Cut(quota, ",")
		return &refusal{http.StatusForbidden, "quotaExceeded", quotaText("ResourceQuota "+quota, text)}
	case apierrors.IsForbidden(err):
		return &refusal{http.StatusForbidden, "insufficientPermissions", "Kubernetes: " + text}
	case apierrors.IsUnauthorized(err):
		return &refusal{http.StatusUnauthorized, "authError", "Kubernetes rejected the gateway's credentials: " + text}
	case apierrors.IsNotFound(err):
		return &refusal{http.StatusNotFound, "notFound", "Kubernetes: " + text}
	case apierrors.IsAlreadyExists(err):
		return &refusal{http.StatusConflict, "alreadyExists", "Kubernetes: " + text}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &refusal{http.StatusBadRequest, "invalid", "Kubernetes: " + text}
	}
	return &refusal{http.StatusServiceUnavailable, "backendError", "Kubernetes: " + text}
}

// quotaText names a quota in the form that slurmflex parses.
func quotaText(quota, text string) string { return fmt.Sprintf("Quota '%s' exceeded. %s", quota, text) }

// lasting reports whether the error lasts until an admin changes something.
func (r *refusal) lasting() bool {
	return r.status == http.StatusBadRequest || r.status == http.StatusNotFound || r.reason == "insufficientPermissions"
}
