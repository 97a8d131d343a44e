package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Wait is nodes that must arrive together and have no machine yet: what they
// wait for, for those who ask.
type Wait struct {
	Job     uint32 // that waits for them; 0 for a static node or one that was powered up by hand
	NodeSet string
	Region  string
	Group   string        // their managed instance group, made or to be made
	Nodes   []string      // those without a machine
	Lease   time.Duration // that is asked for, or will be

	Request string    // the live request that is to bring them; empty if there is none
	Since   time.Time // when they began to wait; zero if that is not known

	Obstacle string    // why nothing is asked for now; empty if nothing stands in the way
	Failed   int       // attempts in a row that have failed, where that is the obstacle
	Next     time.Time // when the next attempt comes, where that is known

	Until time.Time // when provision_timeout ends the wait, or its job is lost; zero: never
	Then  Then      // what becomes of the job then
}

// Block is a nodeset of which too many instances in a row did not come up.
type Block struct {
	NodeSet string
	Failed  int       // instances in a row
	Until   time.Time // when they count no longer
}

// nameWaits says what each cohort waits for that has not got all its machines, and
// what each node waits for that a job was given and that is not powering up.
func (w *world) nameWaits(cohorts []*cohort) {
	for _, c := range cohorts {
		var asked, rest []string
		for _, name := range w.withoutMachine(c.nodes) {
			if c.live != nil && c.live.request.Names(name) {
				asked = append(asked, name)
			} else {
				rest = append(rest, name)
			}
		}
		wait := Wait{NodeSet: c.set.Name, Region: c.set.Region, Group: c.group, Lease: c.lease, Since: waitsSince(c)}
		if c.job != nil {
			wait.Job = c.job.ID
		}
		wait.Until, wait.Then = w.waitEnds(c)
		if len(asked) > 0 {
			w.plan.Waits = append(w.plan.Waits, wait.inQueue(asked, *c.live))
		}
		if len(rest) > 0 {
			w.plan.Waits = append(w.plan.Waits, wait.heldUp(rest, c))
		}
	}
	w.nameUnready()
	w.nameUnshown()
}

// inQueue is the wait of nodes that a request is to bring.
func (n Wait) inQueue(nodes []string, live ref) Wait {
	n.Nodes, n.Region, n.Group = nodes, live.group.Region, live.group.Name
	n.Request, n.Lease = live.request.Name, live.request.Duration
	if n.Since.IsZero() {
		n.Since = live.request.Created
	}
	return n
}

// heldUp is the wait of the cohort's nodes that nothing is requested for.
func (n Wait) heldUp(nodes []string, c *cohort) Wait {
	n.Nodes, n.Obstacle, n.Failed, n.Next = nodes, cmp.Or(c.obstacle, c.pause), c.failed, c.next
	if !c.lostAt.IsZero() {
		n.Obstacle, n.Until, n.Then = c.loss, c.lostAt, Lose
	}
	return n
}

// nameUnready says what the nodes wait for that a job has been given and that Slurm
// does not power up: nothing is requested before.
func (w *world) nameUnready() {
	for _, m := range w.members {
		job := m.owner()
		if job == nil || atWork(job.State) || m.power != down && m.power != unclear || w.hasMachine(m.Name) {
			continue
		}
		obstacle := "Slurm is powering it down, and powers it up again after that"
		if m.power == unclear {
			obstacle = fmt.Sprintf("Slurm shows it as %s, which slurmflex does not understand", m.State)
		}
		w.plan.Waits = append(w.plan.Waits, Wait{
			Job: job.ID, NodeSet: m.set.Name, Region: m.set.Region, Nodes: []string{m.Name}, Since: job.Start, Obstacle: obstacle,
		})
	}
}

// recallWaits are the waits as they are, and of regions that could not be read as
// they were last known: of what was not requested then nothing is requested now.
func recallWaits(snap Snapshot, now, known []Wait) []Wait {
	recalled := func(n Wait) bool { _, ok := snap.LastKnown[n.Region]; return ok }
	waits := slices.DeleteFunc(now, recalled)
	for _, n := range known {
		if !recalled(n) {
			continue
		}
		if n.Request == "" {
			n.Obstacle, n.Failed, n.Next = unreadText(n.Region, snap.Unseen[n.Region]), 0, time.Time{}
		}
		if !n.Until.After(snap.Now) {
			n.Until, n.Then = time.Time{}, ""
		}
		waits = append(waits, n)
	}
	return waits
}

func unreadText(region string, err error) string {
	return fmt.Sprintf("region %s could not be read: %v", region, err)
}

// waitEnds tells when provision_timeout ends a cohort's wait, and what becomes of
// its job then. It is never where the job would be lost, and its owner was told.
func (w *world) waitEnds(c *cohort) (at time.Time, then Then) {
	limit, then := c.set.Flex.ProvisionTimeout, Then(c.set.Flex.OnProvisionTimeout)
	since := w.lacksSince(c)
	if limit == 0 || c.job == nil || since.IsZero() || then != Cancel && w.keeps(c) {
		return time.Time{}, ""
	}
	return since.Add(limit), then
}

// withoutMachine returns the nodes that have no machine of ours that stays.
func (w *world) withoutMachine(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), w.hasMachine)
}
