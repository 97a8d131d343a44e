package setup

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

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
func (w *world) observeAddresses(ctx context.Context, cfg *config.Config, names resolver) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	var side reads
	side.SetLimit(sideBySide)
	for _, n := range w.Nodes.Is {
		if cfg.FlexSetOf(n.Name) != nil && isUp(n.State) && n.Addr != "" {
			read(&side, &w.Addresses, n.Name, func() ([]string, error) { return names.LookupHost(ctx, n.Addr) })
		}
	}
	_ = side.Wait() // the world has the errors
}

// isUp reports whether slurmctld sends messages to a node that it powers up and down.
func isUp(s slurm.State) bool {
	return s.Has(slurm.Cloud) && s.Flags&(slurm.PoweredDown|slurm.PoweringDown|slurm.PoweringUp) == 0
}

// addresses checks whether this host resolves the addresses of a nodeset's nodes.
func (j *judge) addresses(set *config.NodeSet, nodes []string) {
	var unknown, silent []string
	var notFound, failed error
	for _, name := range nodes {
		switch err := j.world.Addresses[name].Err; {
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
}

func isNotFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
