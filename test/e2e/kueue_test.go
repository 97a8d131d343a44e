//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/stretchr/testify/require"
)

// webhookService leads to Kueue's webhooks on this host.
const webhookService = `
apiVersion: v1
kind: Service
metadata: {name: kueue-webhook-service, namespace: kueue-system}
spec: {type: ExternalName, externalName: localhost}
`

// kueueConfig is Kueue's configuration, with the ports of its health address and of its webhooks.
const kueueConfig = `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
integrations: {frameworks: [pod]}
featureGates: {VisibilityOnDemand: false}
`

// webhookPath matches the path of a webhook in Kueue's manifests.
var webhookPath = regexp.MustCompile(`(?m)^( +)path: /(convert|mutate|validate)`)

// startKueue starts Kueue with its own manifests, and what collects the objects of its deleted
// Workloads. Kueue manages the certificate of its webhooks.
func (k *kubernetes) startKueue() {
	k.t.Helper()
	ports, certs := freePorts(k.t, 2), k.path("kueue-certs")
	require.NoError(k.t, os.Mkdir(certs, 0o700))
	manifests := webhookPath.ReplaceAllString(readFile(filepath.Join(k.bin, "kueue.yaml")), fmt.Sprintf("${1}port: %d\n${0}", ports[1]))
	// Kueue runs without a pod, and its list of waiting Workloads is not served.
	k.apply(manifests, "Deployment", "Service", "APIService")
	k.kueue = k.follow("kueue", "--kubeconfig", k.kubeconfig("kueue"), "--config",
		k.write("kueue-config.yaml", fmt.Sprintf(kueueConfig, ports[0], ports[1], certs)))
	var secret struct{ Data map[string]string }
	awaitShown(k.t, time.Minute, "Kueue to make its certificate", func() (string, bool) {
		status, text, err := k.call("GET", "/api/v1/namespaces/kueue-system/secrets/kueue-webhook-server-cert", "")
		return fmt.Sprint(text, err), status == http.StatusOK && json.Unmarshal([]byte(text), &secret) == nil && secret.Data["tls.crt"] != ""
	})
	for _, name := range []string{"tls.key", "tls.crt"} { // a kubelet would mount the secret
		text, err := base64.StdEncoding.DecodeString(secret.Data[name])
		require.NoError(k.t, err)
		require.NoError(k.t, os.WriteFile(filepath.Join(certs, name), text, 0o600))
	}
	k.apply(webhookService)
	k.apply(staged("gke-kueue.yaml"))
	k.follow("garbage-collector", "--kubeconfig", k.admin)
}
