package gke

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"slurmflex/mig/gke/standin"
)

const template = `
spec:
  containers:
  - name: slurmd
    image: slurmd
    resources: {limits: {nvidia.com/gpu: 8}}
`

// world is a gateway to a stand-in for a GKE cluster.
type world struct {
	t       *testing.T
	cluster *standin.Cluster
	kube    *httptest.Server
	gateway *Gateway
	api     *httptest.Server
	stop    func()

	patience time.Duration // of the next gateway
}

// settingsOf writes a configuration with the pool flex, and loads it.
func settingsOf(t *testing.T, queue, pod string) *Settings {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pod.yaml"), []byte(pod), 0o600))
	text := fmt.Sprintf(`
region: gke-us-central1
zones: [a]
pools:
  flex:
    machine: {type: a3-highgpu-8g, cpus: 208, memory_mb: 1916928, gpu: nvidia-h100-80gb, gpus: 8}
    queue: %q
    pod_template: pod.yaml
`, queue)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gke.yaml"), []byte(text), 0o600))
	s, err := Load(filepath.Join(dir, "gke.yaml"))
	require.NoError(t, err)
	return s
}

// newWorld starts a stand-in and a gateway to it.
func newWorld(t *testing.T, o standin.Options) *world {
	t.Helper()
	o.Pace = 10 * time.Millisecond
	w := &world{t: t, cluster: standin.New(o), patience: 200 * time.Millisecond}
	w.kube = httptest.NewServer(w.cluster)
	t.Cleanup(w.kube.Close)
	go w.cluster.Run(t.Context())
	w.start(settingsOf(t, o.Queue, template), nil)
	return w
}

// start starts a gateway; wrap is around the transport of its calls to Kubernetes.
func (w *world) start(s *Settings, wrap func(http.RoundTripper) http.RoundTripper) {
	w.t.Helper()
	config := &rest.Config{Host: w.kube.URL, WrapTransport: wrap}
	g, err := newGateway(s, config, slog.New(slog.DiscardHandler), w.patience)
	require.NoError(w.t, err)
	g.pace = 50 * time.Millisecond
	ctx, end := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Run(ctx)
	}()
	w.gateway, w.api = g, httptest.NewServer(g.Handler(""))
	api := w.api
	w.stop = func() {
		end()
		<-ended
		api.Close()
	}
	w.t.Cleanup(w.stop)
}

// call calls the gateway below the project.
func (w *world) call(verb, path string, body any) (int, obj) {
	w.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(w.t, err)
	req, err := http.NewRequestWithContext(w.t.Context(), verb, w.api.URL+"/compute/v1/projects/demo/"+path, bytes.NewReader(text))
	require.NoError(w.t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil { // the gateway was killed
		return 0, nil
	}
	defer resp.Body.Close()
	var answer obj
	require.NoError(w.t, json.NewDecoder(resp.Body).Decode(&answer))
	return resp.StatusCode, answer
}

// refused returns the reason and the message of a refused call.
func (w *world) refused(verb, path string, body any) string {
	w.t.Helper()
	status, answer := w.call(verb, path, body)
	failure, _ := answer["error"].(obj)
	list, _ := failure["errors"].([]any)
	if status < 400 || len(list) == 0 {
		return ""
	}
	return fmt.Sprint(list[0].(obj)["reason"], ": ", failure["message"])
}

const groupsPath = "regions/gke-us-central1/instanceGroupManagers"

// request creates the group of job 7 and a request for machines.
func (w *world) request(name string, machines ...string) int {
	w.t.Helper()
	w.call("POST", groupsPath, obj{
		"name": "alpha-flex-job-7", "description": "stamp", "versions": []obj{{"instanceTemplate": "projects/demo/regions/gke-us-central1/instanceTemplates/flex"}},
	})
	var named []obj
	for _, m := range machines {
		named = append(named, obj{"name": m})
	}
	status, _ := w.call("POST", groupsPath+"/alpha-flex-job-7/resizeRequests", obj{
		"name": name, "instances": named, "requestedRunDuration": obj{"seconds": "900"},
	})
	return status
}

// requests returns the state and the trouble of the group's requests, by name.
func (w *world) requests() map[string]string {
	w.t.Helper()
	_, answer := w.call("GET", groupsPath+"/alpha-flex-job-7/resizeRequests", nil)
	all := map[string]string{}
	items, _ := answer["items"].([]any)
	for _, of := range items {
		r := of.(obj)
		text := fmt.Sprint(r["state"])
		status, _ := r["status"].(obj)
		if last, ok := status["lastAttempt"].(obj); ok {
			status = last
		}
		if failure, ok := status["error"].(obj); ok {
			first := failure["errors"].([]any)[0].(obj)
			text += fmt.Sprint(" ", first["code"], " ", first["message"])
		}
		all[fmt.Sprint(r["name"])] = text
	}
	return all
}

// machines returns the status of the listed machines by name.
func (w *world) machines() map[string]string {
	w.t.Helper()
	_, answer := w.call("GET", "zones/gke-us-central1-a/instances", nil)
	all := map[string]string{}
	items, _ := answer["items"].([]any)
	for _, of := range items {
		all[fmt.Sprint(of.(obj)["name"])] = fmt.Sprint(of.(obj)["status"])
	}
	return all
}

// size returns the group's target size.
func (w *world) size() any {
	_, answer := w.call("GET", groupsPath+"/alpha-flex-job-7", nil)
	return answer["targetSize"]
}

// eventually waits until what becomes true.
func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	require.Eventually(w.t, is, 20*time.Second, 20*time.Millisecond, what)
}

// nothingLeft waits until the cluster lacks objects of slurmflex.
func (w *world) nothingLeft() {
	w.t.Helper()
	w.eventually("nothing is left", func() bool {
		for _, resource := range []string{"configmaps", "pods", "podtemplates", "provisioningrequests", "workloads", "nodes"} {
			if len(w.cluster.Names(resource)) > 0 {
				return false
			}
		}
		return true
	})
}
