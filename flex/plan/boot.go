package plan

import (
	"fmt"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Boot is what became of an instance that was to boot.
type Boot struct {
	Set     string // the nodeset
	Node    string
	Created time.Time // of the instance, which together with the node is its identity
	Up      bool      // its slurmd has registered; else it has not within boot_timeout
}

// boots judges the instances of ours: those whose node is up, and those that
// have run for boot_timeout without. The latter's nodes are powered down.
func (w *world) boots() {
	for _, m := range w.sorted() {
		for _, in := range w.instances[m.Name] {
			if !w.ours(in) || in.Leaving() || in.Created.IsZero() {
				continue
			}
			age, limit := w.snap.Now.Sub(in.Created), m.set.Flex.BootTimeout
			switch {
			case m.power == up && !m.State.Has(slurm.NotResponding):
				w.plan.Boots = append(w.plan.Boots, Boot{m.set.Name, m.Name, in.Created, true})
			case limit > 0 && m.power == rising && m.State.Base != slurm.Down && age >= limit:
				w.plan.Boots = append(w.plan.Boots, Boot{m.set.Name, m.Name, in.Created, false})
				why := fmt.Sprintf("instance %s was made %s ago and its slurmd has not registered (boot_timeout %s)",
					in.Name, clock(age), clock(limit))
				w.setNodes(SetNodes{
					Nodes: []string{m.Name}, State: "power_down_force", Reason: ReasonPrefix + why, Why: Why(why),
				})
				w.problem(why)
			}
		}
	}
}

// blocked reports whether the breaker of a nodeset is open, and says so.
func (w *world) blocked(c *cohort, set *config.NodeSet) bool {
	n := w.snap.Blocked[set.Name]
	if n == 0 {
		return false
	}
	c.obstacle = fmt.Sprintf("nodeset %s is blocked, for %d instances in a row did not come up; an admin lifts that with: slurmflex unblock %s",
		set.Name, n, set.Name)
	w.problem(c.group + ": " + c.obstacle)
	return true
}
