package chaos

import (
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// place is a live request in a region, with the stamp of its group.
type place struct {
	fakegce.Request
	region string
	stamp  mig.Stamp
}

// places returns the cluster's live requests.
func (c *check) places(st fakegce.State) (all []place) {
	for _, g := range c.w.ours(st) {
		stamp, _ := mig.ParseStamp(g.Description)
		for _, r := range g.Requests {
			if alive(r) {
				all = append(all, place{r, g.Region, stamp})
			}
		}
	}
	return all
}

// mayYield reports whether a request may be cancelled in favour of another. The request must
// be older than yield_after, and a node in its region must wait without a request, for a more
// important job or for no job.
func (c *check) mayYield(p *process, st fakegce.State, region string, r fakegce.Request) bool {
	after := p.runsWith.Load().Options.YieldAfter
	if after == 0 || time.Since(r.Created) < after-wrongClock {
		return false
	}
	requested := map[string]bool{}
	for _, one := range c.places(st) {
		for _, name := range one.Instances {
			requested[name] = true
		}
	}
	most := c.priority(r, 0)
	queue, _ := c.w.watch.all()
	for _, l := range queue {
		behindDoor := memo.ParseHold(cluster, c.w.slurm.Truth(l.ID).Reservation).Kind == memo.DoorHold
		if l.State == slurm.JobPending && l.Priority > most && behindDoor {
			return true
		}
	}
	for name := range c.w.known {
		n := c.w.watch.node(name)
		holders := slices.DeleteFunc(slices.Clone(queue), func(l life) bool { return !slices.Contains(l.Nodes, name) })
		// Slurm powers an allocated node up within a second.
		// slurmctld shows a static node that the process has just powered up a second later.
		rises := n.State.Has(slurm.PoweringUp) || n.State.Has(slurm.PowerUp) || n.State.Has(slurm.PoweredDown) && (len(holders) > 0 || c.w.static(name))
		if requested[name] || setOf(name).region != region || !rises {
			continue
		}
		if len(holders) == 0 || slices.ContainsFunc(holders, func(l life) bool { return l.Priority > most }) {
			return true
		}
	}
	return false
}

// priority returns the highest priority of the jobs that wait for the request: jobs on its
// nodes, or the pending job that it was made for.
func (c *check) priority(r fakegce.Request, job uint32) (most uint64) {
	queue, _ := c.w.watch.all()
	for _, l := range queue {
		onIts := slices.ContainsFunc(r.Instances, func(name string) bool { return slices.Contains(l.Nodes, name) })
		if onIts && l.State != slurm.JobCompleting || l.State == slurm.JobPending && l.ID == job {
			most = max(most, l.Priority)
		}
	}
	return most
}

// turns fails if a job waits for its turn although a less important job has held a queue
// position in the region for much longer than yield_after.
func (c *check) turns() {
	const slack = 20 * time.Minute
	after := c.w.config().Options.YieldAfter
	queue, _ := c.w.watch.all()
	waits := slices.DeleteFunc(queue, func(l life) bool {
		return l.State != slurm.JobConfiguring || !strings.Contains(c.w.slurm.Truth(l.ID).AdminComment, "waiting for its turn: place")
	})
	var all []place
	if after > 0 && len(waits) > 0 && c.w.wellFor(slack) {
		all = c.places(c.w.state())
	}
	seen := map[uint32]time.Time{}
	defer func() { c.inTurn = seen }()
	for _, l := range waits {
		for _, r := range all {
			if r.State != "ACCEPTED" || r.region != setOf(l.Nodes[0]).region || time.Since(r.Created) < after || r.stamp.Job == 0 || c.priority(r.Request, r.stamp.Job) >= l.Priority {
				continue
			}
			if seen[l.ID] = c.inTurn[l.ID]; seen[l.ID].IsZero() {
				seen[l.ID] = time.Now()
			}
			if time.Since(seen[l.ID]) > slack {
				c.fail(lostJob, "job %d waits for its turn, and %v ago less important job %d got a place", l.ID, time.Since(r.Created).Truncate(time.Second), r.stamp.Job)
			}
			break
		}
	}
}
