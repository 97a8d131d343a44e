package plan

import "time"

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

// nameWaits says what each cohort waits for that has not got all its machines.
func (w *world) nameWaits(cohorts []*cohort) {
	for _, c := range cohorts {
		nodes := w.withoutMachine(c.nodes)
		if len(nodes) == 0 {
			continue
		}
		wait := Wait{
			NodeSet: c.set.Name, Region: c.set.Region, Group: c.group, Nodes: nodes, Lease: c.lease,
			Since: waitsSince(c), Obstacle: c.obstacle, Failed: c.failed, Next: c.next,
		}
		if c.job != nil {
			wait.Job = c.job.ID
		}
		if c.live != nil {
			wait.Request, wait.Lease = c.live.request.Name, c.live.request.Duration
			if wait.Since.IsZero() {
				wait.Since = c.live.request.Created
			}
		}
		if !c.lostAt.IsZero() {
			wait.Obstacle, wait.Until, wait.Then = c.loss, c.lostAt, Lose
		} else {
			wait.Until, wait.Then = w.waitEnds(c)
		}
		w.plan.Waits = append(w.plan.Waits, wait)
	}
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

// withoutMachine returns the nodes that have no machine that stays.
func (w *world) withoutMachine(nodes []string) []string {
	var names []string
	for _, name := range nodes {
		if stays, _ := w.machine(name); !stays {
			names = append(names, name)
		}
	}
	return names
}
