package setup

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
)

// names resolves every name without an error here, and records what it was asked.
type names struct {
	errs map[string]error
	mu   sync.Mutex
	of   []string
}

func (n *names) LookupHost(_ context.Context, name string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of = append(n.of, name)
	return []string{"10.0.0.2"}, n.errs[name]
}

func TestUnreachableNodesAreReported(t *testing.T) {
	node := func(name, state string) slurm.Node {
		return slurm.Node{Name: name, Addr: name, State: slurm.ParseState(state)}
	}
	site := controller{nodes: []slurm.Node{
		node("alpha-a3-0", "IDLE+CLOUD"), node("alpha-a3-1", "DOWN+CLOUD+NOT_RESPONDING"), node("alpha-a3-2", "IDLE+CLOUD"),
		node("alpha-a3-3", "IDLE+CLOUD+POWERED_DOWN"), node("alpha-a3-4", "ALLOCATED+CLOUD+POWERING_UP"),
		node("login1", "IDLE"), node("alpha-cpu-0", "IDLE+CLOUD"), node("alpha-a3-5", "IDLE+CLOUD+POWERING_UP+NOT_RESPONDING"),
	}}
	cfg := changed(t, "project", "project")
	findings := func(errs map[string]error) (Findings, []string) {
		n := &names{errs: errs}
		found := compare(cfg, observe(t.Context(), cfg, site, &cloud{}, n))
		return found, n.of
	}

	found, asked := findings(nil)
	assert.ElementsMatch(t, []string{"alpha-a3-0", "alpha-a3-1", "alpha-a3-2"}, asked, "only flex nodes that are up")
	assert.NotContains(t, found.problems().Error(), "resolv")

	missing := &net.DNSError{Err: "no such host", Name: "alpha-a3-1", IsNotFound: true}
	found, _ = findings(map[string]error{"alpha-a3-0": missing, "alpha-a3-1": missing, "alpha-a3-2": errors.New("i/o timeout")})
	assert.Contains(t, found.of(Fault).problems().Error(), "nodeset.a3: this host does not resolve the addresses of alpha-a3-[0-1], so slurmctld cannot reach these nodes: lookup alpha-a3-1: no such host; "+
		"forward c.demo.internal to Compute's DNS, and add us-central1-a.c.demo.internal to the DNS search list")
	assert.Contains(t, found.of(Unread).problems().Error(), "nodeset.a3: not checked: addresses of alpha-a3-2: i/o timeout; check the name servers in /etc/resolv.conf")
}
