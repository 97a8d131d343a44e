package gke

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig/gke/standin"
)

// both runs a test without Kueue and with it.
func both(t *testing.T, run func(t *testing.T, o standin.Options)) {
	for name, queue := range map[string]string{"ProvisioningRequest": "", "Kueue": "dws-local-queue"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, standin.Options{Queue: queue})
		})
	}
}

func TestGatewayConforms(t *testing.T) {
	t.Parallel()
	suite := filepath.Join(t.TempDir(), "provider")
	build := exec.Command("go", "build", "-C", "../..", "-o", suite, "./test/provider")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	both(t, func(t *testing.T, o standin.Options) {
		for machines, skipped := range map[int]string{0: "6 skipped", 1: "0 skipped"} {
			o.Capacity = machines
			w := newWorld(t, o)
			out, err := exec.CommandContext(t.Context(), suite, "--endpoint", w.api.URL, "--template", "flex", "--wait", "5s").CombinedOutput()
			assert.NoError(t, err, string(out))
			assert.Contains(t, string(out), " 0 failed, "+skipped)
			w.nothingLeft()
		}
	})
}

func TestRequestAsksForTheLeaseOfItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{})
	require.Equal(t, http.StatusOK, w.request("a1", "alpha-flex-0", "alpha-flex-1"))
	w.eventually("it is asked for", func() bool { return len(w.cluster.Names("provisioningrequests")) == 1 })
	spec := w.cluster.Get("provisioningrequests", "alpha-flex-job-7-a1")["spec"].(obj)
	assert.Equal(t, "queued-provisioning.gke.io", spec["provisioningClassName"])
	assert.Equal(t, "900", spec["parameters"].(obj)["maxRunDurationSeconds"])
	assert.Equal(t, 2.0, spec["podSets"].([]any)[0].(obj)["count"])

	w = newWorld(t, standin.Options{Queue: "dws-local-queue"})
	require.Equal(t, http.StatusOK, w.request("a1", "alpha-flex-0", "alpha-flex-1"))
	w.eventually("its pods wait", func() bool { return len(w.cluster.Names("pods")) == 2 })
	meta := w.cluster.Get("pods", "alpha-flex-0")["metadata"].(obj)
	assert.Equal(t, "900", meta["annotations"].(obj)["provreq.kueue.x-k8s.io/maxRunDurationSeconds"])
	assert.Equal(t, "dws-local-queue", meta["labels"].(obj)["kueue.x-k8s.io/queue-name"])
}

func TestPodsRunOnTheNodesOfTheirRequest(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o standin.Options) {
		w := newWorld(t, o)
		w.request("a2", "alpha-flex-0") // both wait until there is capacity for both
		w.request("a1", "alpha-flex-1")
		w.eventually("both wait", func() bool {
			return strings.Contains(w.requests()["a1"], "not enough resources") && strings.Contains(w.requests()["a2"], "not enough resources")
		})
		assert.Contains(t, w.requests()["a1"], "ACCEPTED RESOURCE_POOL_EXHAUSTED")
		w.cluster.SetCapacity(2)
		w.eventually("both machines run", func() bool { return len(w.machines()) == 2 })
		for pod, request := range map[string]string{"alpha-flex-0": "a2", "alpha-flex-1": "a1"} {
			node, _ := w.cluster.Get("pods", pod)["spec"].(obj)["nodeName"].(string)
			var made string
			for _, name := range w.cluster.Names("provisioningrequests") {
				if strings.Contains(name, "-"+request) {
					made = w.cluster.Get("provisioningrequests", name)["status"].(obj)["provisioningClassDetails"].(obj)["ResizeRequestName"].(string)
				}
			}
			assert.Equal(t, made, w.cluster.Get("nodes", node)["metadata"].(obj)["labels"].(obj)["autoscaling.gke.io/provisioning-request"])
		}
	})
}

func TestRepeatedCallChangesNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{})
	group := obj{"name": "alpha-flex-job-7", "versions": []obj{{"instanceTemplate": "regions/x/instanceTemplates/flex"}}}
	asked := obj{"name": "a1", "instances": []obj{{"name": "alpha-flex-0"}}, "requestedRunDuration": obj{"seconds": 600}}
	for path, body := range map[string]obj{groupsPath: group, groupsPath + "/alpha-flex-job-7/resizeRequests": asked} {
		w.call("POST", groupsPath+"?requestId=1", group)
		_, first := w.call("POST", path+"?requestId=1", body)
		_, again := w.call("POST", path+"?requestId=1", body)
		assert.NotEmpty(t, first["name"])
		assert.Equal(t, first["name"], again["name"])
		assert.Contains(t, w.refused("POST", path+"?requestId=2", body), "alreadyExists: ")
		assert.Contains(t, w.refused("POST", path, body), "alreadyExists: ")
	}
}

func TestMembersThatARequestLacksAreBeingCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{})
	w.request("a1", "alpha-flex-0")
	_, answer := w.call("POST", groupsPath+"/alpha-flex-job-7/listManagedInstances", obj{})
	assert.Equal(t, []any{obj{"name": "alpha-flex-0", "currentAction": "CREATING"}}, answer["managedInstances"])
	w.call("POST", groupsPath+"/alpha-flex-job-7/resizeRequests/a1/cancel", nil)
	_, answer = w.call("POST", groupsPath+"/alpha-flex-job-7/listManagedInstances", obj{})
	assert.Empty(t, answer["managedInstances"])
}

func TestCancelledRequestLeavesNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o standin.Options) {
		w := newWorld(t, o)
		w.request("a1", "alpha-flex-0")
		status, _ := w.call("POST", groupsPath+"/alpha-flex-job-7/resizeRequests/a1/cancel", nil)
		require.Equal(t, http.StatusOK, status)
		assert.Equal(t, cancelled, w.requests()["a1"])
		assert.Equal(t, 0.0, w.size())
		w.eventually("its objects are gone", func() bool {
			return len(w.cluster.Names("pods"))+len(w.cluster.Names("provisioningrequests"))+len(w.cluster.Names("podtemplates"))+len(w.cluster.Names("workloads")) == 0
		})
	})
}

func TestReasonsOfGKEReachTheRequest(t *testing.T) {
	t.Parallel()
	for reason, code := range map[string]string{
		"QuotaExceeded": "QUOTA_EXCEEDED", "ResourcePoolExhausted": "RESOURCE_POOL_EXHAUSTED", "PermissionsError": "PERMISSION_DENIED",
		"NoQueuedNodepoolAvailable": "INVALID_ARGUMENT", "SomethingNew": "RESOURCE_POOL_EXHAUSTED",
	} {
		w := newWorld(t, standin.Options{Capacity: 1})
		w.cluster.Refuse(reason, false)
		w.request("a1", "alpha-flex-0")
		w.eventually(reason, func() bool { return w.requests()["a1"] == "ACCEPTED "+code+" "+reason+": refused by the test" })
		w.cluster.Refuse(reason, true)
		w.eventually("the request fails", func() bool { return w.requests()["a1"] == "FAILED "+code+" "+reason+": refused by the test" })
		w.cluster.Refuse("", false)
		require.Equal(t, http.StatusOK, w.request("a2", "alpha-flex-0"))
		w.eventually("the next attempt succeeds", func() bool { return w.requests()["a2"] == succeeded })
		w.stop()
	}
}

func TestQuotaOfAQueueIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{Queue: "dws-local-queue", Capacity: 2})
	w.cluster.SetQuota(8)
	w.request("a1", "alpha-flex-0", "alpha-flex-1")
	w.eventually("the quota is named", func() bool {
		return strings.HasPrefix(w.requests()["a1"], "ACCEPTED QUOTA_EXCEEDED Quota 'LocalQueue dws-local-queue' exceeded. Kueue: couldn't assign flavors")
	})
	w.cluster.SetQuota(16)
	w.eventually("it runs", func() bool { return w.requests()["a1"] == succeeded })
}

func TestResourceQuotaIsNamedAndNotFinal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{Capacity: 1})
	w.cluster.Fail(standin.Fault{Verb: "POST", Resource: "pods", Status: 403, Reason: "Forbidden", Message: `pods "x" is forbidden: exceeded quota: gpus, requested: nvidia.com/gpu=8, used: 8, limited: 8`})
	w.request("a1", "alpha-flex-0")
	w.eventually("the quota is named", func() bool {
		return strings.HasPrefix(w.requests()["a1"], "ACCEPTED QUOTA_EXCEEDED Quota 'ResourceQuota gpus' exceeded.")
	})
	w.cluster.Fail()
	w.eventually("it runs", func() bool { return w.requests()["a1"] == succeeded })
}

func TestLeaseEndsWhenGKESaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{Capacity: 1})
	w.request("a1", "alpha-flex-0")
	w.eventually("it runs", func() bool { return w.machines()["alpha-flex-0"] == "RUNNING" })
	end := func() string {
		_, answer := w.call("GET", "zones/gke-us-central1-a/instances", nil)
		return answer["items"].([]any)[0].(obj)["resourceStatus"].(obj)["scheduling"].(obj)["terminationTimestamp"].(string)
	}
	soon := time.Now().UTC().Add(50 * time.Second).Format(time.RFC3339)
	node := w.cluster.Names("nodes")[0]
	w.cluster.Edit("nodes", node, func(o obj) { o["metadata"].(obj)["annotations"] = obj{leaseEnd: soon} })
	assert.Equal(t, soon, end())
	w.cluster.Edit("nodes", node, func(o obj) { delete(o["metadata"].(obj), "annotations") })
	at, err := time.Parse(time.RFC3339, end())
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(900*time.Second), at, 30*time.Second, "without an annotation, the request's duration counts")
	w.cluster.Edit("nodes", node, func(o obj) { o["metadata"].(obj)["annotations"] = obj{leaseEnd: time.Now().UTC().Format(time.RFC3339)} })
	w.eventually("the machine is gone", func() bool { return len(w.machines()) == 0 })
}

// killed fails all calls after a number of them, as if the gateway had died.
type killed struct {
	next http.RoundTripper
	left *atomic.Int64
}

var errKilled = errors.New("the gateway was killed")

func (k killed) RoundTrip(req *http.Request) (*http.Response, error) {
	if k.left.Add(-1) < 0 {
		return nil, errKilled
	}
	return k.next.RoundTrip(req)
}

func TestGatewayKilledAfterAnyCallLosesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o standin.Options) {
		o.Capacity = 2
		w := newWorld(t, o)
		settings := w.gateway.settings
		for after := int64(1); after < 40; after += 2 {
			w.stop()
			left := &atomic.Int64{}
			left.Store(after)
			w.start(settings, func(next http.RoundTripper) http.RoundTripper { return killed{next, left} })
			accepted := w.request("a1", "alpha-flex-0", "alpha-flex-1") == http.StatusOK
			w.eventually("it is dead, or has done its work", func() bool { return left.Load() < 0 || len(w.machines()) == 2 })
			w.stop()
			w.start(settings, nil)
			if !accepted { // slurmflex repeats what was not answered
				w.request("a1", "alpha-flex-0", "alpha-flex-1")
			}
			w.eventually("both machines run", func() bool { return w.requests()["a1"] == succeeded && len(w.machines()) == 2 })
			w.stop()
			left = &atomic.Int64{}
			left.Store(after)
			w.start(settings, func(next http.RoundTripper) http.RoundTripper { return killed{next, left} })
			deleted, _ := w.call("DELETE", groupsPath+"/alpha-flex-job-7", nil)
			w.eventually("it is dead, or has done its work", func() bool { return left.Load() < 0 || len(w.cluster.Names("configmaps")) == 0 })
			w.stop()
			w.start(settings, nil)
			if deleted != http.StatusOK {
				w.call("DELETE", groupsPath+"/alpha-flex-job-7", nil)
			}
			w.nothingLeft()
		}
	})
}

func TestObjectsOfADeletedConfigMapAreDeleted(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o standin.Options) {
		o.Capacity = 1
		w := newWorld(t, o)
		w.request("a1", "alpha-flex-0")
		w.eventually("it runs", func() bool { return w.machines()["alpha-flex-0"] == "RUNNING" })
		w.cluster.Delete("configmaps", "alpha-flex-job-7")
		w.nothingLeft()
	})
}

func TestUnreadableClusterIsNotEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{Capacity: 1})
	w.request("a1", "alpha-flex-0")
	w.eventually("it runs", func() bool { return w.machines()["alpha-flex-0"] == "RUNNING" })
	for _, resource := range []string{"pods", "nodes", "configmaps"} {
		w.cluster.Fail(standin.Fault{Verb: "GET", Resource: resource, Status: 503, Reason: "ServiceUnavailable", Message: "etcd is away"})
		path := "zones/gke-us-central1-a/instances"
		if resource == "configmaps" {
			path = groupsPath
		}
		assert.Equal(t, "backendError: Kubernetes: etcd is away", w.refused("GET", path, nil), resource)
	}
	time.Sleep(3 * w.gateway.pace) // passes
	w.cluster.Fail()
	assert.Equal(t, "RUNNING", w.machines()["alpha-flex-0"])
	w.eventually("it is healthy", func() bool { return w.gateway.Healthy() == nil })
}

func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{Capacity: 5, PageSize: 2})
	w.request("a1", "alpha-flex-0", "alpha-flex-1", "alpha-flex-2", "alpha-flex-3", "alpha-flex-4")
	w.eventually("all run", func() bool { return len(w.machines()) == 5 })
}

func TestMistakesAreNamedInOneLine(t *testing.T) {
	t.Parallel()
	const path = "regions/gke-us-central1/instanceTemplates/flex"
	forbidden := func(verb, resource, message string) func(*world) {
		return func(w *world) {
			w.cluster.Fail(standin.Fault{Verb: verb, Resource: resource, Status: 403, Reason: "Forbidden", Message: message})
		}
	}
	for name, c := range map[string]struct {
		options standin.Options
		queue   string
		pod     string
		plant   func(*world)
		path    string
		want    string
	}{
		"all is well":  {want: ""},
		"with a queue": {options: standin.Options{Queue: "q"}, queue: "q"},
		"no such pool": {path: "regions/gke-us-central1/instanceTemplates/none", want: "notFound: The resource 'projects/gke/regions/gke-us-central1/instanceTemplates/none' was not found"},
		"no ProvisioningRequest": {
			options: standin.Options{NoGKE: true},
			want:    "invalid: the cluster has no ProvisioningRequest of autoscaling.x-k8s.io/v1; use GKE 1.31 or later with a node pool with queued provisioning, or set the pool's queue",
		},
		"no Kueue":      {queue: "q", want: "invalid: the cluster has no LocalQueue of kueue.x-k8s.io/v1beta2; install Kueue 0.15 or later, or remove the pool's queue"},
		"no LocalQueue": {options: standin.Options{Queue: "other"}, queue: "q", want: "invalid: namespace slurm has no LocalQueue q; create it, or correct the pool's queue"},
		"no permission to create pods": {
			plant: forbidden("POST", "pods", `pods is forbidden: User "flex" cannot create resource "pods" in API group "" in the namespace "slurm"`),
			want:  `insufficientPermissions: Kubernetes: pods is forbidden: User "flex" cannot create resource "pods" in API group "" in the namespace "slurm"`,
		},
		"no permission to read requests": {
			plant: forbidden("GET", "provisioningrequests", `provisioningrequests is forbidden`),
			want:  `insufficientPermissions: Kubernetes: provisioningrequests is forbidden`,
		},
		"a pod for a part of the machine": {
			pod: strings.Replace(template, "8", "4", 1), want: "the containers ask for 4 GPUs, and a a3-highgpu-8g has 8; set limits: {nvidia.com/gpu: 8}, because a machine has one pod",
		},
		"a pod without image":     {pod: DefaultTemplate, want: "container slurmd has no image; set an image with slurmd"},
		"a pod with a wrong key":  {pod: "spec: {containers: [{nam: x}]}", want: `unknown field "nam"`},
		"a pod without container": {pod: "spec: {}", want: "no container; see slurmflex-gke template"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.options)
			w.stop()
			if c.pod == "" {
				c.pod = template
			}
			w.start(settingsOf(t, c.queue, c.pod), nil)
			if c.plant != nil {
				c.plant(w)
			}
			if c.path == "" {
				c.path = path
			}
			got := w.refused("GET", c.path, nil)
			assert.Contains(t, got, c.want)
			assert.Equal(t, c.want == "", got == "")
			assert.NotContains(t, got, "\n")
		})
	}
}

func TestUnsupportedFeaturesAreRefusedWithTheFix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{})
	assert.Equal(t, "notImplemented: slurmflex-gke does not support placement; set enable_placement: false",
		w.refused("POST", "regions/gke-us-central1/resourcePolicies", obj{}))
	for _, path := range []string{"regions/gke-us-central1/instances/bulkInsert", "zones/gke-us-central1-a/instances/bulkInsert"} {
		assert.Equal(t, "notImplemented: slurmflex-gke does not support bulk insert, nor capacity: spot, on_demand or reservation; use dws_flex without use_bulk_insert",
			w.refused("POST", path, obj{}))
	}
	assert.Equal(t, "notImplemented: slurmflex-gke, which serves region gke-us-central1, does not have GET /compute/v1/projects/demo/regions/us-central1",
		w.refused("GET", "regions/us-central1", nil))
}

func TestWrongBodiesAreRefusedAndCreateNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{})
	group := obj{"name": "alpha-flex-job-7", "versions": []obj{{"instanceTemplate": "regions/x/instanceTemplates/flex"}}}
	assert.Contains(t, w.refused("POST", groupsPath, obj{}), `invalid: "" is not the name of a group`)
	assert.Contains(t, w.refused("POST", groupsPath, obj{"name": "g"}), `invalid: the gateway's configuration has no pool ""`)
	assert.Empty(t, w.refused("POST", groupsPath, group))
	const requests = groupsPath + "/alpha-flex-job-7/resizeRequests"
	lease := obj{"seconds": 600}
	for want, body := range map[string]obj{
		"requestedRunDuration is \"599\"": {"name": "a1", "instances": []obj{{"name": "n"}}, "requestedRunDuration": obj{"seconds": 599}},
		"of 0 machines":                   {"name": "a1", "requestedRunDuration": lease},
		`"n" is not the name of one`:      {"name": "a1", "instances": []obj{{"name": "n"}, {"name": "n"}}, "requestedRunDuration": lease},
		`"../x" is not the name`:          {"name": "a1", "instances": []obj{{"name": "../x"}}, "requestedRunDuration": lease},
	} {
		assert.Contains(t, w.refused("POST", requests, body), want)
	}
	assert.Empty(t, w.requests())
	w.cluster.Fail(standin.Fault{Verb: "POST", Resource: "podtemplates", Status: 403, Reason: "Forbidden", Message: "podtemplates is forbidden"})
	good := obj{"name": "a1", "instances": []obj{{"name": "alpha-flex-0"}}, "requestedRunDuration": lease}
	assert.Empty(t, w.refused("POST", requests, good))
	w.eventually("the request fails", func() bool {
		return w.requests()["a1"] == "FAILED PERMISSION_DENIED Kubernetes: podtemplates is forbidden"
	})
}

// An API server that has just started refuses what its roles allow.
func TestRefusalOfAnAPIServerThatHasJustStartedPasses(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o standin.Options) {
		o.Capacity = 1
		w := newWorld(t, o)
		w.stop()
		w.patience = time.Minute
		w.start(settingsOf(t, o.Queue, template), nil)
		group := obj{"name": "alpha-flex-job-7", "versions": []obj{{"instanceTemplate": "regions/x/instanceTemplates/flex"}}}
		refuse := func(resources ...string) {
			var all []standin.Fault
			for _, resource := range resources {
				for _, verb := range []string{"GET", "POST", "PUT", "DELETE"} {
					all = append(all, standin.Fault{Verb: verb, Resource: resource, Status: 403, Reason: "Forbidden", Message: resource + " is forbidden"})
				}
			}
			w.cluster.Fail(all...)
		}
		refuse("configmaps")
		assert.Equal(t, `backendError: Kubernetes: Post "`+w.kube.URL+`/api/v1/namespaces/slurm/configmaps?timeout=20s": `+
			"refused, by an API server that may just have started: configmaps is forbidden", w.refused("POST", groupsPath, group))
		for _, status := range []int{401, 403} {
			w.cluster.Fail(standin.Fault{Verb: "POST", Resource: "configmaps", Status: status, Message: "not yet"})
			assert.Contains(t, w.refused("POST", groupsPath, group), "backendError: ")
		}
		w.cluster.Fail()
		require.Empty(t, w.refused("POST", groupsPath, group))
		refuse("pods", "podtemplates", "provisioningrequests", "workloads", "nodes")
		require.Equal(t, http.StatusOK, w.request("a1", "alpha-flex-0"))
		time.Sleep(5 * w.gateway.pace) // passes
		assert.Equal(t, accepted, w.requests()["a1"])
		w.cluster.Fail()
		w.eventually("it runs", func() bool { return w.requests()["a1"] == succeeded })
	})
}

func TestCallsNeedTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{})
	file := filepath.Join(t.TempDir(), "token")
	handler := w.gateway.Handler(file)
	status := func(token string) int {
		r := httptest.NewRecorder()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/compute/v1/projects/demo/regions/gke-us-central1", nil)
		require.NoError(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		handler.ServeHTTP(r, req)
		return r.Code
	}
	assert.Equal(t, http.StatusUnauthorized, status("secret"), "a missing file lets nobody in")
	require.NoError(t, os.WriteFile(file, []byte("\n"), 0o600))
	assert.Equal(t, http.StatusUnauthorized, status(""), "nor does an empty one")
	require.NoError(t, os.WriteFile(file, []byte("secret\n"), 0o600))
	assert.Equal(t, http.StatusUnauthorized, status("other"))
	assert.Equal(t, http.StatusOK, status("secret"))
}

func TestHealthAndMetricsShowThePasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.Options{})
	w.request("a1", "alpha-flex-0")
	get := func(path string) (int, string) {
		r := httptest.NewRecorder()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		require.NoError(t, err)
		w.gateway.Watch().ServeHTTP(r, req)
		return r.Code, r.Body.String()
	}
	w.eventually("a pass has seen the request", func() bool {
		_, text := get("/metrics")
		return strings.Contains(text, "slurmflex_gke_live_requests 1\n") && strings.Contains(text, `slurmflex_gke_call_seconds_count{method="regionInstanceGroupManagers.insert",status="200"} 1`)
	})
	status, _ := get("/healthz")
	assert.Equal(t, http.StatusOK, status)
	w.stop()
	w.gateway.passed, w.gateway.last = time.Now().Add(-2*time.Minute), errors.New("etcd is away")
	status, text := get("/healthz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "no pass for a minute: etcd is away\n", text)
}

func TestWrongConfigurationsAreNamed(t *testing.T) {
	t.Parallel()
	const machine = "machine: {type: t, cpus: 1, memory_mb: 1}"
	for text, want := range map[string]string{
		"regio: x":    `unknown field "regio"`,
		"{}":          `region: "" is not the name of a region; use the one in slurmflex's regions, such as gke-us-central1`,
		"{region: r}": "zones: missing; set it to the letters of the pools' zones, such as [a]",
		"{region: r, zones: [us-central1-a], pools: {p: {" + machine + "}}}": "zones: \"us-central1-a\" is not the last part of a zone's name; for us-central1-a, set a",
		"{region: r, zones: [a]}":                 "pools: missing; name a node pool with flex-start and queued provisioning",
		"{region: r, zones: [a], pools: {p: {}}}": "pools.p.machine: set type, cpus, memory_mb and, if it has GPUs, gpu and gpus",
		"{region: r, zones: [a], pools: {p: {" + machine + ", pod_template: /none/p.yaml}}}": "pools.p.pod_template: open /none/p.yaml: no such file or directory",
	} {
		file := filepath.Join(t.TempDir(), "gke.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := Load(file)
		require.ErrorContains(t, err, file+": ", text)
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestGatewayHasAtMost1700LinesOfCode(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, pattern := range []string{"*.go", "slurmflex-gke/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
					lines++
				}
			}
		}
	}
	assert.LessOrEqual(t, lines, 1700)
}
