//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// serve starts a program of the stage, and returns the address that it prints.
func serve(t *testing.T, name string, args ...string) (endpoint string, p *exec.Cmd) {
	t.Helper()
	p = exec.Command(filepath.Join(os.Getenv("E2E_STAGE"), name), args...)
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, endpoint, _ = strings.Cut(strings.TrimSpace(line), " at ")
	return endpoint, p
}

// objects returns the names of the objects of a kind in the stand-in for GKE.
func objects(t *testing.T, kube, kind string) (names []string) {
	t.Helper()
	resp, err := http.Get(kube + "/api/v1/namespaces/slurm/" + kind)
	require.NoError(t, err)
	defer resp.Body.Close()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
	for _, o := range list.Items {
		names = append(names, o.Metadata.Name)
	}
	return names
}

// The pods of the stand-in start slurmds on this host.
func TestJobOnGKEOutlivesItsGateway(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	programs := filepath.Join(dir, "programs")
	kube, _ := serve(t, "slurmflex-fakegke", "--programs", programs)
	write("pod.yaml", "spec: {containers: [{name: slurmd, image: slurmd, resources: {limits: {nvidia.com/gpu: 8}}}]}")
	args := []string{
		"--watch", "", "--kubeconfig", write("kubeconfig", "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: '"+kube+"'}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}]}"),
		"--config", write("gke.yaml", "{region: gke-us-central1, zones: [a], pools: {flex: {pod_template: pod.yaml, machine: {type: a3-megagpu-8g, cpus: 208, memory_mb: 1916928, gpu: nvidia-h100-mega-80gb, gpus: 8}}}}"),
	}
	gateway, process := serve(t, "slurmflex-gke", append(args, "--listen", "127.0.0.1:0")...)
	l := cluster(t, lab.Options{
		Daemon: true, Keys: "regions: {gke-us-central1: {endpoint: '" + gateway + "'}}",
		NodeSets: []lab.NodeSet{{Name: "flex", Region: "gke-us-central1", Machine: "a3-megagpu-8g", Size: 2, FlexKeys: "use_job_duration: true"}},
	})
	require.NoError(t, os.Symlink(filepath.Join(l.Dir, "bin"), programs))
	machines := func(n int) {
		req, err := http.NewRequest(http.MethodPut, fmt.Sprintf("%s/fake/capacity?machines=%d", kube, n), nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
	}
	clean := func() {
		t.Helper()
		awaitShown(t, 2*time.Minute, "nothing to be left on GKE", func() (string, bool) {
			left := append(objects(t, kube, "pods"), objects(t, kube, "configmaps")...)
			return strings.Join(left, " "), len(left) == 0
		})
	}

	waits := submit(t, l, "-p", "flex", "-N1", "--time=15")
	awaitWhy(t, l, waits, "ResourcePoolExhausted")
	assert.Equal(t, "PENDING", jobField(t, l, waits, "JobState"))
	cancel(t, l, waits)
	clean()

	runs := submitScript(t, l, "srun hostname; sleep 20", "-p", "flex", "-N2", "--time=15")
	await(t, time.Minute, "its group", func() bool { return len(objects(t, kube, "configmaps")) == 1 })
	machines(2)
	awaitJob(t, l, 2*time.Minute, runs, "JobState", "RUNNING")
	require.NoError(t, process.Process.Kill())
	_ = process.Wait()
	time.Sleep(8 * time.Second) // passes without the gateway
	serve(t, "slurmflex-gke", append(args, "--listen", strings.TrimPrefix(gateway, "http://"))...)
	awaitCompleted(t, l, runs)
	assert.Equal(t, "0", jobField(t, l, runs, "Restarts"))
	clean()
}
