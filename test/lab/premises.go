package lab

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"slurmflex/test/must"
)

// premises is the network of a controller outside Compute Engine. slurmctld, the hooks and
// slurmflex run there. A link (a pair of veth interfaces) leads to the nodes and to Compute, which
// has an address of its own and speaks HTTPS. Names are those in a hosts file; there is no name
// server and no metadata server.
type premises struct {
	lab     *Lab
	holder  *exec.Cmd // a process that keeps the namespaces
	hold    io.Closer // the holder ends when this is closed
	compute *httptest.Server
}

// computeName is a name in the certificate of httptest's servers.
const computeName = "compute.example.com"

// The hosts on the link.
const (
	nodesHost = iota + 1
	controllerHost
	computeHost
)

// address returns the address of a host on the lab's link, in the range for tests of networks (RFC
// 2544). Each lab has a link of its own, as it has ports.
func (l *Lab) address(host int) string {
	return fmt.Sprintf("198.18.%d.%d", (l.port-firstPort)/portWindow, host)
}

// Controller returns the address of slurmctld.
func (l *Lab) Controller() string {
	if l.Premises {
		return l.address(controllerHost)
	}
	return "127.0.0.1"
}

// ComputeEndpoint returns the Compute API's address for slurmflex.
func (l *Lab) ComputeEndpoint() string {
	if l.premises == nil {
		return l.Endpoint
	}
	return "https://" + net.JoinHostPort(computeName, strconv.Itoa(l.premises.compute.Listener.Addr().(*net.TCPAddr).Port))
}

// writeHosts writes the hosts file of the nodes, and that of the controller with the same names. They
// are mounted on the host's own file, which a new Debian lacks.
func (l *Lab) writeHosts() {
	own := must.Get(os.OpenFile("/etc/hosts", os.O_RDONLY|os.O_CREATE, 0o644))
	must.Do(own.Close())
	var text strings.Builder
	fmt.Fprintln(&text, "127.0.0.1 localhost")
	fmt.Fprintln(&text, l.address(computeHost), computeName)
	names := map[string]int{"a3": 8, "g2": 4, "st": l.Static}
	for _, set := range l.NodeSets {
		names[set.Name] = set.Size
	}
	for set, size := range names {
		for i := range size {
			fmt.Fprintf(&text, "%s alpha-%s-%d\n", l.address(nodesHost), set, i)
		}
	}
	for _, file := range []string{l.hosts("nodes"), l.hosts("controller")} {
		must.Do(os.WriteFile(file, []byte(text.String()), 0o644))
	}
}

func (l *Lab) hosts(side string) string { return l.path("etc/hosts-" + side) }

// Forget makes the controller resolve no names with this part any more, such as "alpha-a3-", and
// returns a function that undoes it.
func (l *Lab) Forget(part string) (undo func() error, err error) {
	file := l.hosts("controller")
	all, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var left strings.Builder
	for line := range strings.Lines(string(all)) {
		if !strings.Contains(line, part) {
			left.WriteString(line)
		}
	}
	// The file keeps its inode, because it is mounted.
	return func() error { return os.WriteFile(file, all, 0o644) }, os.WriteFile(file, []byte(left.String()), 0o644)
}

// CutCompute takes the controller's route to Compute away, and returns a function that gives it back.
func (l *Lab) CutCompute(ctx context.Context) (undo func() error, err error) {
	route := func(verb string) error {
		_, err := l.run(ctx, nil, ipProgram, "route", verb, "unreachable", l.address(computeHost)+"/32")
		return err
	}
	return func() error { return route("del") }, route("add")
}

const ipProgram = "/usr/sbin/ip"

// fakeProgram returns the program of the fake Compute API. In a lab with premises it and the nodes'
// slurmds have the nodes' hosts file.
func (l *Lab) fakeProgram() string {
	program := filepath.Join(l.Build, "slurmflex-fakegce")
	if !l.Premises {
		return program
	}
	inside := l.path("bin/fakegce")
	must.Do(os.WriteFile(inside, fmt.Appendf(nil, `#!/bin/sh
exec /usr/bin/unshare --mount /bin/sh -c '/usr/bin/mount --bind %s /etc/hosts && exec %s "$@"' fakegce "$@"
`, l.hosts("nodes"), program), 0o755))
	return inside
}

// startPremises sets up the controller's network. The namespaces end with the test's process at the
// latest.
func (l *Lab) startPremises(ctx context.Context) {
	p := &premises{lab: l}
	order := l.path("etc/nsswitch.conf") // without DNS
	must.Do(os.WriteFile(order, []byte("passwd: files\ngroup: files\nhosts: files\n"), 0o644))
	p.holder = exec.Command("/usr/bin/unshare", "--net", "--mount", "/bin/sh", "-c",
		"mount --bind "+l.hosts("controller")+" /etc/hosts && mount --bind "+order+" /etc/nsswitch.conf && echo && exec cat >/dev/null")
	p.holder.Dir = "/"
	p.holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.hold = must.Get(p.holder.StdinPipe())
	says := must.Get(p.holder.StdoutPipe())
	p.holder.Stderr = os.Stderr
	must.Do(p.holder.Start())
	if _, err := says.Read(make([]byte, 1)); err != nil {
		must.Do(&UnavailableError{"no namespaces and bind mounts for a controller with a network of its own", err.Error()})
	}
	l.premises = p
	for _, side := range []struct {
		inside bool
		args   string
	}{
		{false, fmt.Sprintf("link add %s type veth peer name up0 netns %d", p.link(), p.holder.Process.Pid)},
		{false, fmt.Sprintf("address add %s/29 dev %s", l.address(nodesHost), p.link())},
		{false, fmt.Sprintf("address add %s/29 dev %s", l.address(computeHost), p.link())},
		{false, fmt.Sprintf("link set %s up", p.link())},
		{true, fmt.Sprintf("address add %s/29 dev up0", l.address(controllerHost))},
		{true, "link set up0 up"},
		{true, "link set lo up"},
	} {
		name, args := ipProgram, strings.Fields(side.args)
		if side.inside {
			name, args = p.nsenter(name, args)
		}
		if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
			must.Do(&UnavailableError{"ip " + side.args, fmt.Sprintf("%v: %s", err, out)})
		}
	}
	p.startCompute(ctx)
}

// startCompute serves the fake Compute API by HTTPS at its address on the link, and lets the key of
// the service account fetch its tokens there.
func (p *premises) startCompute(ctx context.Context) {
	l := p.lab
	fake := must.Get(url.Parse(l.Endpoint))
	p.compute = httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(fake))
	p.compute.Listener.Close()
	p.compute.Listener = must.Get((&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(l.address(computeHost), "0")))
	p.compute.StartTLS()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.compute.Certificate().Raw})
	must.Do(os.WriteFile(p.authority(), authority, 0o644))
	key := strings.ReplaceAll(string(must.Get(os.ReadFile(l.key()))), l.Endpoint, l.ComputeEndpoint())
	must.Do(os.WriteFile(l.key(), []byte(key), 0o600))
}

// link returns the name of the link's interface outside the premises.
func (p *premises) link() string { return fmt.Sprint("flex", p.lab.port) }

// authority returns the file of the certificate that slurmflex trusts.
func (p *premises) authority() string { return p.lab.path("etc/authority.pem") }

// enter returns a command that runs at the controller. Slurm's clients run at a login node, in the
// nodes' network.
func (p *premises) enter(name string, args, env []string) (string, []string, []string) {
	switch filepath.Base(name) {
	case "slurmctld", "slurmflex", "ip":
		name, args = p.nsenter(name, args)
		env = append(env, "SSL_CERT_FILE="+p.authority())
	}
	return name, args, env
}

func (p *premises) nsenter(name string, args []string) (string, []string) {
	target := strconv.Itoa(p.holder.Process.Pid)
	return "/usr/bin/nsenter", append([]string{"--target", target, "--net", "--mount", "--root", "--wd", "--", name}, args...)
}

// stop ends the namespaces, and the link with them.
func (p *premises) stop() {
	if p.compute != nil {
		p.compute.CloseClientConnections()
		p.compute.Close()
	}
	_ = p.hold.Close()
	_ = p.holder.Wait()
	_ = Until(context.Background(), 10*time.Second, "the end of the link", func() (bool, error) {
		_, err := net.InterfaceByName(p.link())
		return err != nil, nil
	})
}
