package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// GKERegion is the region that a gateway to GKE serves.
const GKERegion = "gke-us-central1"

// gkeConfig is a gateway's configuration with the pool flex, in a LocalQueue if it is not empty.
const gkeConfig = `
region: ` + GKERegion + `
zones: [a]
pools:
  flex:
    queue: %q
    pod_template: pod.yaml
    machine: {type: a3-megagpu-8g, cpus: 208, memory_mb: 1916928, gpu: nvidia-h100-mega-80gb, gpus: 8}
`

// GKENodeSet returns a nodeset of the pool flex.
func GKENodeSet(set NodeSet) NodeSet {
	set.Name, set.Region, set.Machine = "flex", GKERegion, "a3-megagpu-8g"
	if set.Size == 0 {
		set.Size = 3
	}
	return set
}

// GKEEndpoint returns the key by which slurmflex finds the gateway to GKE.
func GKEEndpoint(address string) string {
	return "regions: {" + GKERegion + ": {endpoint: '" + address + "'}}"
}

// WriteGateway writes the files of a gateway to GKE to a folder, with the pool flex and the default
// pod template of program. It returns the gateway's arguments. kube is the address of Kubernetes' API.
func WriteGateway(dir, program, kube, queue string) (args []string, err error) {
	pod, err := exec.Command(program, "template").Output()
	if err != nil {
		return nil, fmt.Errorf("%s template: %w", program, err)
	}
	for name, text := range map[string]string{
		"pod.yaml": strings.Replace(string(pod), `image: ""`, "image: slurmd", 1),
		"gke.yaml": fmt.Sprintf(gkeConfig, queue),
		"kubeconfig": "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: '" + kube +
			"'}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}]}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"--watch", "", "--config", filepath.Join(dir, "gke.yaml"), "--kubeconfig", filepath.Join(dir, "kubeconfig")}, nil
}
