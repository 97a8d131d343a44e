//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// gke is a cluster with the partition flex on GKE, with stand-ins for
// GKE's autoscaler and the kubelets. Pods start slurmds on this host.
type gke struct {
	t       *testing.T
	l       *lab.Lab
	kube    string      // the address of Kubernetes' API for an admin, and of /fake
	queue   string      // of Kueue; empty: without Kueue
	real    *kubernetes // nil: a stand-in
	gateway *program
	config  string // the gateway's file
}

// eachQueue runs a scenario without and with Kueue. If E2E_KUBERNETES names the folder of
// scripts/setup-kubernetes, it runs on the real API server, scheduler and Kueue, otherwise on a stand-in.
func eachQueue(t *testing.T, scenario func(t *testing.T, queue string)) {
	t.Parallel()
	for name, queue := range map[string]string{"ProvisioningRequest": "", "Kueue": "dws-local-queue"} {
		t.Run(name, func(t *testing.T) { scenario(t, queue) })
	}
}

// onGKE runs a scenario on clusters with leases for a job's time limit, without and with Kueue.
func onGKE(t *testing.T, scenario func(t *testing.T, g *gke)) {
	eachQueue(t, func(t *testing.T, queue string) {
		scenario(t, newGKE(t, queue, lab.NodeSet{FlexKeys: "use_job_duration: true"}))
	})
}

// newGKE starts a cluster with a nodeset, which gets its name, region and machine type here.
func newGKE(t *testing.T, queue string, set lab.NodeSet) *gke {
	t.Helper()
	t.Parallel()
	choose(t)
	g, stage := &gke{t: t, queue: queue}, os.Getenv("E2E_STAGE")
	dir := t.TempDir()
	fake := []string{filepath.Join(stage, "slurmflex-fakegke"), "--programs", filepath.Join(dir, "programs"), "--queue", queue}
	if folder := os.Getenv("E2E_KUBERNETES"); folder != "" {
		g.real = newKubernetes(t, folder, queue != "")
		fake = append(fake, "--kubeconfig", g.real.admin)
	}
	g.kube = launch(t, dir, "slurmflex-fakegke", fake...).endpoint()
	program := filepath.Join(stage, "slurmflex-gke")
	args, err := lab.WriteGateway(dir, program, g.kube, queue)
	require.NoError(t, err)
	if g.real != nil {
		args = append(args, "--kubeconfig", g.real.gateway)
	}
	g.config = filepath.Join(dir, "gke.yaml")
	g.gateway = launch(t, dir, "slurmflex-gke", append([]string{program, "--listen", "127.0.0.1:0"}, args...)...)
	g.gateway.args[2] = strings.TrimPrefix(g.gateway.endpoint(), "http://") // it keeps the port when it starts again
	suspend := 0
	if set.Shared {
		suspend = 20 // Slurm ends idle machines of a shared partition after this time
	}
	g.l = counted(t, lab.Options{Daemon: true, SuspendTime: suspend, Keys: lab.GKEEndpoint(g.gateway.endpoint()), NodeSets: []lab.NodeSet{lab.GKENodeSet(set)}})
	require.NoError(t, os.Symlink(filepath.Join(g.l.Dir, "bin"), filepath.Join(dir, "programs")))
	return g
}

// client calls Kubernetes' API. A call of a dead API server must not block its scenario.
var client = &http.Client{Timeout: 20 * time.Second}

// call calls Kubernetes' API, or /fake.
func (g *gke) call(verb, path string, body any) (status int, answer map[string]any) {
	g.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(g.t, err)
	req, err := http.NewRequest(verb, g.kube+path, bytes.NewReader(text))
	require.NoError(g.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	require.NoError(g.t, err)
	defer resp.Body.Close()
	if text, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil
	}
	_ = json.Unmarshal(text, &answer) // /fake answers nothing
	return resp.StatusCode, answer
}

func (g *gke) capacity(machines int) {
	g.call("PUT", fmt.Sprint("/fake/capacity?machines=", machines), nil)
}

func (g *gke) refuse(reason string) { g.call("PUT", "/fake/refuse?ended=true&reason="+reason, nil) }

// collection returns the path of the objects of a kind.
func collection(kind string) string {
	switch kind {
	case "nodes":
		return "/api/v1/nodes"
	case "clusterqueues":
		return "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
	case "workloads":
		return "/apis/kueue.x-k8s.io/v1beta2/namespaces/slurm/workloads"
	case "provisioningrequests":
		return "/apis/autoscaling.x-k8s.io/v1/namespaces/slurm/provisioningrequests"
	}
	return "/api/v1/namespaces/slurm/" + kind
}

// object is an object of Kubernetes, as far as scenarios read it.
type object struct {
	Metadata struct{ Name, UID string }
	Spec     struct {
		NodeName   string
		Parameters map[string]string
	}
	Status struct {
		Phase      string
		Conditions []struct{ Type, Status string }
	}
}

// list returns the objects of a kind; none if the cluster does not know it. It waits for a dead API server.
func (g *gke) list(kind string) (all []object) {
	g.t.Helper()
	var answer map[string]any
	await(g.t, time.Minute, "the API server to answer", func() bool {
		var status int
		status, answer = g.call("GET", collection(kind), nil)
		return status == http.StatusOK || status == http.StatusNotFound
	})
	text, err := json.Marshal(answer["items"])
	require.NoError(g.t, err)
	require.NoError(g.t, json.Unmarshal(text, &all))
	return all
}

// edit changes an object.
func (g *gke) edit(kind, name string, do func(o map[string]any)) {
	g.t.Helper()
	await(g.t, 20*time.Second, "to change "+name, func() bool { // another writer may be in between
		_, o := g.call("GET", collection(kind)+"/"+name, nil)
		do(o)
		status, _ := g.call("PUT", collection(kind)+"/"+name, o)
		return status == http.StatusOK
	})
}

// quota sets the GPUs that Kueue admits.
func (g *gke) quota(gpus string) {
	g.edit("clusterqueues", "dws-cluster-queue", func(o map[string]any) {
		group := o["spec"].(map[string]any)["resourceGroups"].([]any)[0].(map[string]any)
		flavor := group["flavors"].([]any)[0].(map[string]any)
		flavor["resources"].([]any)[0].(map[string]any)["nominalQuota"] = gpus
	})
}

// pods returns the uids of the pods that run, by name.
func (g *gke) pods() map[string]string {
	all := map[string]string{}
	for _, p := range g.list("pods") {
		if p.Status.Phase == "Running" {
			all[p.Metadata.Name] = p.Metadata.UID
		}
	}
	return all
}

// submit submits a job that runs until it is cancelled or, with a script, to its end.
func (g *gke) submit(script string, options ...string) string {
	return submitScript(g.t, g.l, script, append([]string{"-p", "flex", "--time=15"}, options...)...)
}

// awaitLease waits until GKE is asked for machines for so many seconds.
func (g *gke) awaitLease(seconds string) {
	g.t.Helper()
	awaitShown(g.t, time.Minute, "machines to be requested", func() (string, bool) {
		all := g.list("provisioningrequests")
		return fmt.Sprint(all), len(all) == 1 && all[0].Spec.Parameters["maxRunDurationSeconds"] == seconds
	})
}

func (g *gke) awaitRunning(id string) { awaitJob(g.t, g.l, 3*time.Minute, id, "JobState", "RUNNING") }

// awaitClean waits until nothing is left on GKE.
func (g *gke) awaitClean() {
	g.t.Helper()
	awaitShown(g.t, 2*time.Minute, "nothing to be left on GKE", func() (string, bool) {
		var left []string
		for _, kind := range []string{"pods", "configmaps", "podtemplates", "provisioningrequests", "workloads", "nodes"} {
			for _, o := range g.list(kind) {
				left = append(left, kind+"/"+o.Metadata.Name)
			}
		}
		return strings.Join(left, " "), len(left) == 0
	})
}

// cancel cancels a job, and waits until nothing is left of it.
func (g *gke) cancel(id string) {
	g.t.Helper()
	cancel(g.t, g.l, id)
	g.awaitClean()
}

func TestJobOnGKEOutlivesItsGateway(t *testing.T) {
	onGKE(t, func(t *testing.T, g *gke) {
		waits := g.submit("sleep 600", "-N1")
		awaitWhy(t, g.l, waits, "not enough resources available")
		g.awaitLease("1500")
		assertPending(t, g.l, waits)
		g.cancel(waits)

		runs := g.submit("srun hostname; sleep 20", "-N2")
		g.awaitLease("1500")
		g.capacity(2)
		g.awaitRunning(runs)
		g.gateway.kill()
		time.Sleep(8 * time.Second) // passes without the gateway
		g.gateway.start()
		awaitCompleted(t, g.l, runs)
		assertNotRequeued(t, g.l, runs)
		g.awaitClean()
	})
}

func TestQuotaOnGKEIsNamedAndTriedAgain(t *testing.T) {
	onGKE(t, func(t *testing.T, g *gke) {
		g.capacity(2)
		says := "QuotaExceeded"
		if g.queue == "" {
			g.refuse("QuotaExceeded")
		} else {
			g.quota("8")
			says = "LocalQueue dws-local-queue"
		}
		id := g.submit("srun hostname", "-N2")
		awaitWhy(t, g.l, id, says)
		assertPending(t, g.l, id)
		if g.queue == "" {
			g.refuse("")
		} else {
			g.quota("16")
		}
		awaitCompleted(t, g.l, id)
		g.awaitClean()
	})
}

// loseAPod runs a job of some nodes, deletes one of its pods, and awaits that the job runs again. It
// returns the pods of both runs.
func (g *gke) loseAPod(nodes int) (id string, first, again map[string]string) {
	g.t.Helper()
	g.capacity(4)
	id = g.submit("sleep 600", fmt.Sprint("-N", nodes))
	g.awaitRunning(id)
	first = g.pods()
	g.call("DELETE", collection("pods")+"/alpha-flex-1", nil)
	awaitJob(g.t, g.l, 2*time.Minute, id, "Restarts", "1")
	update(g.t, g.l, "jobid="+id, "starttime=now")
	g.awaitRunning(id)
	again = g.pods()
	assert.Len(g.t, again, nodes)
	return id, first, again
}

func TestJobOnGKEThatLosesAPodRunsAgain(t *testing.T) {
	onGKE(t, func(t *testing.T, g *gke) {
		id, first, again := g.loseAPod(2)
		for name, uid := range again {
			assert.NotEqual(t, first[name], uid, name)
		}
		g.cancel(id)
	})
}

// Kueue keeps the name of a lost pod until the whole pod group has ended.
func TestJobOnGKEKeepsItsPodsAfterALoss(t *testing.T) {
	g := newGKE(t, "", lab.NodeSet{FlexKeys: "max_run_duration: 7200, salvage: true, salvage_timeout: 600"})
	id, first, again := g.loseAPod(3)
	kept := 0
	for name, uid := range again {
		if first[name] == uid {
			kept++
		}
	}
	assert.Equal(t, 2, kept)
	g.cancel(id)
}

func TestNextJobOnGKERunsOnTheSamePod(t *testing.T) {
	g := newGKE(t, "", lab.NodeSet{Shared: true, FlexKeys: "max_run_duration: 3600"})
	g.capacity(1)
	first := g.submit("sleep 600", "-n1")
	g.awaitRunning(first)
	pods := g.pods()
	next := g.submit("srun hostname", "-n1")
	awaitCompleted(t, g.l, next)
	assert.Equal(t, "alpha-flex-0", jobField(t, g.l, next, "NodeList"))
	assert.Equal(t, pods, g.pods())
	g.cancel(first)
}

func TestPodsLeaseEndsWhenGKESaysSo(t *testing.T) {
	g := newGKE(t, "", lab.NodeSet{FlexKeys: "max_run_duration: 3600"})
	g.capacity(1)
	id := g.submit("sleep 600", "-N1")
	g.awaitRunning(id)
	end := time.Now().Add(50 * time.Second)
	g.edit("nodes", g.list("pods")[0].Spec.NodeName, func(o map[string]any) {
		o["metadata"].(map[string]any)["annotations"].(map[string]any)["node.gke.io/machine-termination-datetime"] = end.UTC().Format(time.RFC3339)
	})
	awaitReservedFrom(t, g.l, jobField(t, g.l, id, "NodeList"), end)
	awaitJob(t, g.l, 2*time.Minute, id, "Restarts", "1")
	g.cancel(id)
}

func TestJobWaitsOnGKEAndInComputeAtOnce(t *testing.T) {
	g := newGKE(t, "", lab.NodeSet{FlexKeys: "use_job_duration: true"})
	shut(t, g.l)
	id := submit(t, g.l, "-p", "train,flex", "-N1", "--time=15")
	awaitRequest(t, g.l, "alpha-a3-job-"+id)
	g.awaitLease("1500")
	g.capacity(1)
	awaitCompleted(t, g.l, id)
	assert.Equal(t, "flex", jobField(t, g.l, id, "Partition"))
	g.awaitClean()
	awaitNothingLeft(t, g.l)
}

// mortal is a program, or several, that a scenario kills and starts again.
type mortal interface {
	kill()
	start()
}

// Each program is killed while a job waits, as soon as its nodes exist, while it runs, and while its
// machines are deleted.
func TestNoJobOnGKEIsLostAndNothingLeftAfterKills(t *testing.T) {
	eachQueue(t, func(t *testing.T, queue string) {
		victims := map[string]func(*gke) mortal{"gateway": func(g *gke) mortal { return g.gateway }}
		if os.Getenv("E2E_KUBERNETES") != "" { // the stand-in has all objects in its memory
			victims["apiserver"] = func(g *gke) mortal { return g.real }
			if queue != "" {
				victims["kueue"] = func(g *gke) mortal { return g.real.kueue }
			}
		}
		for name, victim := range victims {
			t.Run(name, func(t *testing.T) {
				g := newGKE(t, queue, lab.NodeSet{FlexKeys: "use_job_duration: true"})
				kill := func() {
					victim(g).kill()
					time.Sleep(6 * time.Second) // passes without it
					victim(g).start()
				}
				waiting := g.submit("srun hostname", "-N2")
				g.awaitLease("1500")
				kill()
				g.capacity(2)
				awaitCompleted(t, g.l, waiting)
				g.awaitClean()

				g.capacity(0)
				provisioned := g.submit("srun hostname", "-N2")
				g.awaitLease("1500")
				g.capacity(2)
				await(t, time.Minute, "nodes", func() bool {
					all := g.list("provisioningrequests")
					return len(all) == 1 && slices.ContainsFunc(all[0].Status.Conditions, func(c struct{ Type, Status string }) bool { return c.Type == "Provisioned" && c.Status == "True" })
				})
				kill()
				awaitCompleted(t, g.l, provisioned)
				g.awaitClean()

				running := g.submit("sleep 20", "-N2")
				g.awaitRunning(running)
				kill()
				awaitCompleted(t, g.l, running)
				assertNotRequeued(t, g.l, running)
				g.awaitClean()

				ending := g.submit("sleep 600", "-N2")
				g.awaitRunning(ending)
				cancel(t, g.l, ending)
				kill()
				g.awaitClean()

				g.capacity(0)
				cancelled := g.submit("sleep 600", "-N2")
				g.awaitLease("1500")
				cancel(t, g.l, cancelled)
				kill()
				g.awaitClean()
			})
		}
	})
}

func TestConfigCheckNamesWhatGKELacks(t *testing.T) {
	onGKE(t, func(t *testing.T, g *gke) {
		right := readFile(g.config)
		finds := func(want string) { // in one line
			t.Helper()
			_, err := g.l.Flex(t.Context(), "config", "check", "--live")
			require.Error(t, err)
			assert.Regexp(t, `config.yaml:\d+: .*`+regexp.QuoteMeta(want), err.Error())
		}
		with := func(old, text string) {
			t.Helper()
			require.Contains(t, right, old)
			require.NoError(t, os.WriteFile(g.config, []byte(strings.Replace(right, old, text, 1)), 0o600))
			g.gateway.kill()
			g.gateway.start()
		}
		_, err := g.l.Flex(t.Context(), "config", "check", "--live")
		require.NoError(t, err)
		with("flex:", "other:")
		finds("instanceTemplates/flex' was not found")
		with("gpus: 8", "gpus: 4")
		finds("the containers ask for 8 GPUs, and a a3-megagpu-8g has 4")
		if g.queue == "" {
			with(`queue: ""`, "queue: q")
			finds("the cluster has no LocalQueue of kueue.x-k8s.io/v1beta2; install Kueue 0.15 or later, or remove the pool's queue")
		} else {
			with("dws-local-queue", "q")
			finds("namespace slurm has no LocalQueue q; create it, or correct the pool's queue")
		}
		with("flex:", "flex:")
		if g.real == nil {
			return // the stand-in has neither permissions nor definitions
		}
		g.real.remove("/apis/rbac.authorization.k8s.io/v1/namespaces/slurm/rolebindings/slurmflex")
		finds(`is forbidden: User "system:serviceaccount:slurm:slurmflex" cannot`)
		g.real.apply(staged("gke-rbac.yaml"))
		if g.queue == "" {
			g.real.remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/provisioningrequests.autoscaling.x-k8s.io")
			finds("the cluster has no ProvisioningRequest of autoscaling.x-k8s.io/v1; use GKE 1.31 or later with a node pool with queued provisioning")
		}
	})
}

func TestGatewayToGKEConformsAndPassesATrial(t *testing.T) {
	onGKE(t, func(t *testing.T, g *gke) {
		g.capacity(1)
		for command, says := range map[string]string{
			"provider --template flex --endpoint " + g.gateway.endpoint():   ` 0 failed, 0 skipped\n$`,
			"slurmflex-trial --nodeset flex --yes --config " + g.l.Config(): `\ntrial: \d+ checks passed, 0 failed; left behind: nothing\n$`,
		} {
			args := append(strings.Fields(command), "--wait", "1m")
			out, err := exec.Command(filepath.Join(g.l.Build, args[0]), args[1:]...).CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Regexp(t, says, string(out))
			g.awaitClean()
		}
	})
}
