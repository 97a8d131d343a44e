package check

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/slurm"
)

// resolver resolves host names as slurmctld does, from the hosts file and DNS. net.Resolver is one.
type resolver interface {
	LookupHost(ctx context.Context, name string) ([]string, error)
}

// lookupLimit bounds all lookups together: a name server that does not answer costs seconds per
// name.
const lookupLimit = 10 * time.Second

// observeAddresses resolves the addresses of the flex nodes that are up. Other nodes have no machine,
// so Compute's DNS does not know their names.
func (w *World) observeAddresses(ctx context.Context, cfg *config.Config, names resolver) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	var mu sync.Mutex
	var side errgroup.Group
	side.SetLimit(sideBySide)
	for _, n := range w.Nodes.Is {
		set, _, ours := cfg.Find(n.Name)
		if !ours || set.Flex == nil || !isUp(n.State) || n.Addr == "" {
			continue
		}
		side.Go(func() error {
			if _, err := names.LookupHost(ctx, n.Addr); err != nil {
				mu.Lock()
				defer mu.Unlock()
				w.Unresolved[n.Name] = err
			}
			return nil
		})
	}
	_ = side.Wait() // the world has the errors
}

// isUp reports whether slurmctld sends messages to a node that it powers up and down.
func isUp(s slurm.State) bool {
	return s.Has(slurm.Cloud) && s.Flags&(slurm.PoweredDown|slurm.PoweringDown|slurm.PoweringUp) == 0
}

// addresses checks whether this host resolves the addresses of a nodeset's nodes, and whether the
// nodes answer slurmctld.
func (j *judge) addresses(set *config.NodeSet, nodes []string, there map[string]slurm.Node) {
	var unknown, silent, mute []string
	var notFound, failed error
	for _, name := range nodes {
		switch err := j.world.Unresolved[name]; {
		case err == nil && isUp(there[name].State) && there[name].State.Has(slurm.NotResponding):
			mute = append(mute, name)
		case err == nil:
		case isNotFound(err):
			unknown, notFound = append(unknown, name), err
		default:
			silent, failed = append(silent, name), err
		}
	}
	if len(unknown) > 0 {
		var domains []string
		for _, zone := range set.Zones {
			domains = append(domains, zone+".c."+j.cfg.Project+".internal")
		}
		j.say(Fault, "nodeset."+set.Name, "this host does not resolve the addresses of %s, so slurmctld cannot reach these nodes: %v; forward c.%s.internal to Compute's DNS, and add %s to the DNS search list",
			slurm.Fold(unknown), notFound, j.cfg.Project, strings.Join(domains, " and "))
	}
	if len(silent) > 0 {
		j.say(Unread, "nodeset."+set.Name, "addresses of %s: %v; check the name servers in /etc/resolv.conf", slurm.Fold(silent), failed)
	}
	if len(mute) > 0 {
		j.say(Advice, "nodeset."+set.Name, "slurmctld has no answer from %s; check that slurmd runs there, and that firewalls and the VPN pass SlurmdPort from this host and SlurmctldPort from the nodes",
			slurm.Fold(mute))
	}
}

func isNotFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
