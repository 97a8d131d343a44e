package fakeslurm

import (
	"context"
	"errors"
	"slices"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// UpdateNodes acts like scontrol update nodename=…: it changes every known node that can take
// the state, even if it refuses others.
func (c *Cluster) UpdateNodes(ctx context.Context, list []string, change slurm.NodeChange) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if change == (slurm.NodeChange{}) {
		return errors.New("update nodes: nothing to change")
	}
	call := "scontrol update nodename=" + slurm.Fold(list)
	if change.State != "" {
		call += " state=" + change.State
		if c.transition(change.State) == nil {
			return refuse(call, "Invalid input: state="+change.State, nil)
		}
	}
	change.Reason = plain(change.Reason)
	if change.Reason == "" && (change.State == "down" || change.State == "drain") {
		return refuse(call, "You must specify a reason when DOWNING or DRAINING a node. Request denied", nil)
	}
	var err error
	nodes, unknown := c.known(list)
	if unknown {
		err = refuse(call, "Invalid node name specified", scontrol.ErrUnknownNode)
	}
	now := time.Now()
	for _, n := range nodes {
		if n.frozen || !c.change(n, change, now) {
			err = refuse(call, "Invalid node state specified", nil)
		}
	}
	c.stirred = true
	return err
}

// Freeze makes slurmctld refuse every change of a node, or ends that.
func (c *Cluster) Freeze(name string, frozen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.byName[name]; n != nil {
		n.frozen = frozen
	}
}

// change changes a node and reports whether the node could take the wanted state. A reason
// without a state is kept only on releases that do not clear reasons.
func (c *Cluster) change(n *node, change slurm.NodeChange, now time.Time) bool {
	if change.Comment != nil {
		n.comment = plain(*change.Comment)
	}
	if change.Extra != nil {
		n.extra = plain(*change.Extra)
	}
	if change.Reason != "" && (change.State != "" || !c.habits.clearsReasons) {
		n.reason, n.reasonBy = change.Reason, slurmUser
	}
	return change.State == "" || c.transition(change.State)(n, now)
}

// transition returns the function that moves a node to the state named by word, or nil for an
// unknown word. The function reports whether the node could take the state.
func (c *Cluster) transition(word string) func(n *node, now time.Time) bool {
	switch word {
	case "power_up":
		return c.powerUp
	case "power_down":
		return c.powerDown
	case "power_down_asap":
		return func(n *node, now time.Time) bool {
			n.set(slurm.Drain)
			return c.powerDown(n, now)
		}
	case "power_down_force":
		return c.powerDownNow
	case "resume":
		return c.resumeNode
	case "idle":
		return c.idle
	case "drain":
		return c.drain
	case "down":
		return c.setDown
	}
	return nil
}

// powerUp requests a powered-down node, or once more a node that is powering up. It does
// nothing for all other nodes, including a node that is powering down and a node that has lost
// its machine.
func (c *Cluster) powerUp(n *node, _ time.Time) bool {
	if n.hasAny(slurm.PoweredDown | slurm.PoweringUp) {
		n.set(slurm.PowerUp | slurm.PoweredDown)
	}
	return true
}

// powerDown marks a node to be powered down when idle. It does not affect a node that is
// powering up, unless the node is DOWN.
func (c *Cluster) powerDown(n *node, now time.Time) bool {
	if n.down {
		return c.powerDownNow(n, now)
	}
	if !n.has(slurm.PoweringDown) {
		n.set(slurm.PowerDown)
		if c.habits.marksNoLongerDown {
			n.clear(slurm.PoweredDown)
		}
	}
	return true
}

// powerDownNow removes the node's jobs and powers it down in any state.
func (c *Cluster) powerDownNow(n *node, now time.Time) bool {
	if n.has(slurm.PoweringDown) {
		return true
	}
	c.fail(n, now)
	c.complete(n)
	n.clear(slurm.PoweringUp | slurm.PowerUp)
	n.set(slurm.PowerDown)
	n.hidden = true
	if c.habits.marksNoLongerDown {
		n.clear(slurm.PoweredDown)
	}
	return true
}

// resumeNode returns a node to service. A node that is powering down becomes powered down at
// once. A node that is already in service is refused.
func (c *Cluster) resumeNode(n *node, now time.Time) bool {
	outOfService := n.down || n.has(slurm.Drain)
	if !outOfService && !n.has(slurm.PoweringDown) {
		return false
	}
	if n.has(slurm.PoweringDown) {
		c.powerOff(n)
		n.hidden = false
	}
	if outOfService {
		c.askAgain(n, now)
	}
	c.serve(n, now)
	return true
}

// idle returns a DOWN or drained node to service and opens it to backfill. It keeps the power
// state. A node with a job is refused.
func (c *Cluster) idle(n *node, now time.Time) bool {
	if len(n.jobs) > 0 {
		return false
	}
	if n.down && n.up() {
		c.askAgain(n, now)
	}
	n.hidden = false
	c.serve(n, now)
	return true
}

// serve makes a node neither DOWN nor drained.
func (c *Cluster) serve(n *node, now time.Time) {
	n.down = false
	n.clear(slurm.Drain)
	c.clearReason(n)
	if !n.has(slurm.PoweredDown) {
		n.busy = now
	}
}

// askAgain makes slurmctld wait for a new registration of the node's slurmd.
func (c *Cluster) askAgain(n *node, now time.Time) {
	if n.has(slurm.PoweredDown) && !c.habits.expectsPoweredDown {
		return
	}
	n.set(slurm.NotResponding)
	n.slurmd.heard = n.slurmd.heard && !n.up()
	n.slurmd.lost = now
}

// drain lets the node's jobs end, but no others start. A configuring job is requeued.
func (c *Cluster) drain(n *node, now time.Time) bool {
	n.set(slurm.Drain)
	for _, j := range slices.Clone(n.jobs) {
		if j.state == slurm.JobConfiguring {
			c.loseNode(j, now)
		}
	}
	return true
}

// setDown removes the node's jobs and sets it DOWN.
func (c *Cluster) setDown(n *node, now time.Time) bool {
	n.down = true
	c.fail(n, now)
	return true
}
