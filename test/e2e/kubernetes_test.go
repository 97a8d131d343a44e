//go:build e2e

package e2e

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/test/must"
)

// program is a process that a scenario can kill and start again.
type program struct {
	t    *testing.T
	log  string
	args []string
	cmd  *exec.Cmd
}

// launch starts a program with a log in a folder.
func launch(t *testing.T, dir, name string, args ...string) *program {
	t.Helper()
	p := &program{t: t, log: filepath.Join(dir, name+".log"), args: args}
	p.start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- %s.log\n%s", name, tail(readFile(p.log), 40))
		}
		p.kill()
	})
	return p
}

func (p *program) start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(p.t, err)
	defer log.Close()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	require.NoError(p.t, p.cmd.Start())
}

// kill kills the program with SIGKILL.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// endpoint returns the address that the program prints.
func (p *program) endpoint() (address string) {
	p.t.Helper()
	await(p.t, 30*time.Second, p.log+" to name an address", func() bool {
		if found := regexp.MustCompile(` serves at (http://\S+)`).FindStringSubmatch(readFile(p.log)); found != nil {
			address = found[1]
		}
		return address != ""
	})
	return address
}

// kubernetes is a real control plane on this host, without kubelets.
type kubernetes struct {
	t              *testing.T
	bin, dir, api  string // folders of the programs and of all files, and the address of the API server
	client         *http.Client
	apiserver      *program
	followers      []*program // watch objects of the API server
	kueue          *program   // one of the followers; nil: without Kueue
	admin, gateway string     // kubeconfigs
}

// newKubernetes starts etcd, the API server and the scheduler with the objects of docs/gke.md.
func newKubernetes(t *testing.T, bin string, withKueue bool) *kubernetes {
	t.Helper()
	k := &kubernetes{t: t, bin: bin, dir: t.TempDir()}
	ports := freePorts(t, 3)
	at := func(i int) string { return fmt.Sprint("127.0.0.1:", ports[i]) }
	k.api = "https://" + at(2)
	k.certify()
	k.write("tokens.csv", "admin,admin,1,system:masters\ngateway,system:serviceaccount:slurm:slurmflex,2,system:serviceaccounts\n"+
		"kueue,system:serviceaccount:kueue-system:kueue-controller-manager,3,system:serviceaccounts\n")
	k.admin, k.gateway = k.kubeconfig("admin"), k.kubeconfig("gateway")
	launch(t, k.dir, "etcd", filepath.Join(bin, "etcd"), "--data-dir", k.path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", "http://"+at(0), "--advertise-client-urls", "http://"+at(0),
		"--listen-peer-urls", "http://"+at(1), "--initial-advertise-peer-urls", "http://"+at(1), "--initial-cluster", "default=http://"+at(1))
	k.apiserver = launch(t, k.dir, "kube-apiserver", filepath.Join(bin, "kube-apiserver"), "--etcd-servers", "http://"+at(0),
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(ports[2]), "--endpoint-reconciler-type", "none",
		"--tls-cert-file", k.path("cert.pem"), "--tls-private-key-file", k.path("key.pem"),
		"--token-auth-file", k.path("tokens.csv"), "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", k.path("key.pem"),
		"--service-account-signing-key-file", k.path("key.pem"), "--service-cluster-ip-range", "10.96.0.0/24",
		// The cluster lacks tokens of service accounts, and kubelets to remove the taint.
		"--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition", "--allow-privileged")
	k.awaitReady()
	k.follow("kube-scheduler", "--kubeconfig", k.admin, "--leader-elect=false", "--secure-port", "0")
	k.apply(staged("gke-rbac.yaml"))
	k.applyFiles("provisioningrequest")
	if withKueue {
		k.startKueue()
	}
	return k
}

// follow starts a program that watches objects of the API server.
func (k *kubernetes) follow(name string, args ...string) *program {
	k.t.Helper()
	p := launch(k.t, k.dir, name, append([]string{filepath.Join(k.bin, name)}, args...)...)
	k.followers = append(k.followers, p)
	return p
}

// kill kills the API server and its followers, as the end of the control plane's machine does. A
// follower that outlived several ends of the API server would wait for up to a minute before each of
// its watches (client-go's back-off), and meanwhile bind no pod to a new node.
func (k *kubernetes) kill() {
	k.apiserver.kill()
	for _, p := range k.followers {
		p.kill()
	}
}

func (k *kubernetes) start() {
	k.apiserver.start()
	k.awaitReady()
	for _, p := range k.followers {
		p.start()
	}
}

func (k *kubernetes) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kubernetes) write(name, text string) string {
	k.t.Helper()
	require.NoError(k.t, os.WriteFile(k.path(name), []byte(text), 0o600))
	return k.path(name)
}

// kubeconfig writes credentials with a token.
func (k *kubernetes) kubeconfig(token string) string {
	return k.write(token+".kubeconfig", "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: '"+k.api+"', certificate-authority: "+k.path("cert.pem")+
		"}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: "+token+"}}]}")
}

// certify writes the key and the certificate of Go's test server, which is for 127.0.0.1 and its own
// authority.
func (k *kubernetes) certify() {
	k.t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	k.client = server.Client()
	k.client.Timeout = 20 * time.Second
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(k.t, err)
	k.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	k.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// call calls the API server as an admin.
func (k *kubernetes) call(verb, path, body string) (int, string, error) {
	req, err := http.NewRequest(verb, k.api+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer admin")
	req.Header.Set("Content-Type", "application/json")
	resp, err := k.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func (k *kubernetes) awaitReady() {
	k.t.Helper()
	awaitShown(k.t, 3*time.Minute, "the API server to be ready", func() (string, bool) {
		status, text, err := k.call("GET", "/readyz", "")
		return fmt.Sprint(text, err), status == http.StatusOK
	})
}

// apply creates the objects of a YAML text, apart from those of some kinds. It repeats what a starting
// API server does not accept yet.
func (k *kubernetes) apply(text string, without ...any) {
	k.t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o map[string]any
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(k.t, err)
		if o == nil || slices.Contains(without, o["kind"]) {
			continue
		}
		path := fmt.Sprint("/apis/", o["apiVersion"])
		if o["apiVersion"] == "v1" {
			path = "/api/v1"
		}
		if namespace := o["metadata"].(map[string]any)["namespace"]; namespace != nil {
			path += fmt.Sprint("/namespaces/", namespace)
		}
		path += "/" + strings.ToLower(fmt.Sprint(o["kind"], "s"))
		body, err := json.Marshal(o)
		require.NoError(k.t, err)
		awaitShown(k.t, time.Minute, path+" to accept an object", func() (string, bool) {
			status, text, err := k.call("POST", path, string(body))
			return fmt.Sprint(status, text, err), status == http.StatusCreated || status == http.StatusConflict
		})
	}
}

// remove deletes an object, and waits until it is gone.
func (k *kubernetes) remove(path string) {
	k.t.Helper()
	awaitShown(k.t, time.Minute, path+" to be gone", func() (string, bool) {
		status, text, err := k.call("DELETE", path, "")
		return fmt.Sprint(status, text, err), status == http.StatusNotFound
	})
}

// applyFiles creates the objects of all files in a folder beside the programs.
func (k *kubernetes) applyFiles(folder string) {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.bin, folder, "*.yaml"))
	require.NoError(k.t, err)
	require.NotEmpty(k.t, files)
	for _, file := range files {
		k.apply(readFile(file))
	}
}

// staged returns a file that scripts/e2e has put beside the programs.
func staged(name string) string { return readFile(filepath.Join(os.Getenv("E2E_STAGE"), name)) }
