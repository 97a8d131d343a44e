package rules

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// bootLate returns the nodes of a job if their instances have run for boot_timeout without
// registering. It counts these failures in the nodes' Extra.
func bootLate(w *demand.Wanted, c *demand.Claim) Ruling {
	b := w.Sets[c.Set]
	if len(b.Late) == 0 || c.Job == nil || !slices.ContainsFunc(c.Nodes, func(name string) bool { return slices.Contains(b.Late, name) }) {
		return Ruling{}
	}
	nodes := slices.DeleteFunc(slices.Clone(b.Late), func(name string) bool { return w.Node(name).Owner != c.Job })
	v := Ruling{Do: Noted, Quiet: true, Why: BootText(c.Set)}
	v.returnNodes(w, c, true, action.ReturnNodes{Nodes: nodes, Extra: FailedBoots(w, nodes), Reason: v.Why, Then: action.Requeue})
	return v
}

// BootText describes machines of the nodeset that did not boot in time.
func BootText(set *config.NodeSet) string {
	return fmt.Sprintf("the machine did not join Slurm within boot_timeout %s", slurm.Clock(set.Flex.BootTimeout))
}

// HealthText describes a machine that failed its health check.
func HealthText(node, why string) string {
	if strings.HasPrefix(why, scene.LessThanConfigured) {
		return fmt.Sprintf("the machine of %s %s", node, why)
	}
	return fmt.Sprintf("the machine of %s failed its health check: %s", node, why)
}

// FailedBoots returns, by node, the records after one more failed boot. It leaves an Extra that
// slurmflex did not write unchanged.
func FailedBoots(w *demand.Wanted, nodes []string) map[string]string {
	records := map[string]string{}
	for _, name := range nodes {
		m := w.Node(name)
		b := w.Sets[m.Set]
		if (m.Extra == "" || memo.IsBoots(m.Extra)) && !b.LastMade(m).IsZero() {
			records[name] = memo.Boots{Failed: b.Records[name].Failed + 1, Last: b.LastMade(m)}.String()
		}
	}
	return records
}
