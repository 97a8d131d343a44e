package standin

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Remote are the objects of a real API server, in one namespace.
type Remote struct {
	client    dynamic.Interface
	namespace string
}

// Connect returns the objects that config leads to.
func Connect(config *rest.Config, namespace string) (*Remote, error) {
	limited := rest.CopyConfig(config)
	limited.Timeout = 20 * time.Second // a dead API server must not stop the kubelets
	client, err := dynamic.NewForConfig(limited)
	return &Remote{client, namespace}, err
}

func (r *Remote) of(resource string) dynamic.ResourceInterface {
	kind := schema.GroupVersionResource{Version: "v1", Resource: resource}
	if resource == "provisioningrequests" {
		kind.Group = "autoscaling.x-k8s.io"
	}
	if resource == "nodes" {
		return r.client.Resource(kind)
	}
	return r.client.Resource(kind).Namespace(r.namespace)
}

// List implements Objects.
func (r *Remote) List(resource string) (all []map[string]any, err error) {
	list, err := r.of(resource).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, o := range list.Items {
		all = append(all, o.Object)
	}
	return all, nil
}

// Create implements Objects. It does not change an existing object.
func (r *Remote) Create(resource string, o obj) error {
	_, err := r.of(resource).Create(context.Background(), plain(o), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// SetStatus implements Objects.
func (r *Remote) SetStatus(resource string, o obj) error {
	stored, err := r.of(resource).UpdateStatus(context.Background(), plain(o), metav1.UpdateOptions{})
	if err == nil {
		at(o, "metadata")["resourceVersion"] = stored.GetResourceVersion()
	}
	return err
}

// Remove implements Objects.
func (r *Remote) Remove(resource, name string) error {
	at := int64(0)
	err := r.of(resource).Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &at})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// plain returns a copy of an object, with only the types that unstructured objects may have.
func plain(o obj) *unstructured.Unstructured { return &unstructured.Unstructured{Object: copied(o)} }
