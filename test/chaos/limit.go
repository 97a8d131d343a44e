package chaos

import (
	"context"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// limitedSet is the nodeset whose partition may have a limit on GPU hours a day.
const limitedSet = "gang"

const gpusPerMachine = 8

// raised is the edition of the configuration without a limit, which an admin writes after the storm.
const raised edition = 99

// ledger knows what the machines of the limited nodeset have taken, as the history would.
type ledger struct {
	w    *world
	mu   sync.Mutex
	ends map[string]time.Duration // by scene.LeaseOf: how long ended machines lasted
}

// end records that a machine has ended.
func (l *ledger) end(in fakegce.Instance) {
	lease := scene.LeaseOf(in.Zone, in.Name, in.Created)
	defer locked(&l.mu)()
	if _, ended := l.ends[lease]; !ended && setOf(in.Name).name == limitedSet {
		l.ends[lease] = time.Since(in.Created)
	}
}

// used returns what machines have taken, and up to when it counts those that have not ended.
func (l *ledger) used() (sum scene.Amount, counted map[string]time.Time) {
	counted = map[string]time.Time{}
	for _, in := range l.w.state().Instances {
		if l.w.known[in.Name] && setOf(in.Name).name == limitedSet && in.Status == "RUNNING" {
			sum.GPU += gpusPerMachine * time.Since(in.Created).Seconds()
			counted[scene.LeaseOf(in.Zone, in.Name, in.Created)] = time.Now()
		}
	}
	defer locked(&l.mu)()
	for _, lasted := range l.ends {
		sum.GPU += gpusPerMachine * lasted.Seconds()
	}
	return sum, counted
}

// Spent returns what machines have taken, also those that are idle.
func (l *ledger) Spent(_ context.Context, snap *scene.Snapshot, cfg *config.Config) scene.Spent {
	spent := scene.Spent{Hours: map[string]scene.Amount{limitedSet: {GPU: gpusPerMachine * time.Hour.Seconds()}}}
	used, counted := l.used()
	spent.Counted = counted
	for range cfg.Options.Limits {
		from := snap.Now.Truncate(24 * time.Hour)
		spent.Of = append(spent.Of, scene.Spending{From: from, To: from.Add(24 * time.Hour), Used: used})
	}
	return spent
}

// withinLimit fails if a request is created that may take more than what is left of the limit, while all
// is well.
func (c *check) withinLimit(g fakegce.Group, r fakegce.Request) {
	limits := c.w.config().Options.Limits
	stamp, _ := mig.ParseStamp(g.Description)
	job := c.w.watch.queued(func(l *life) bool { return l.ID == stamp.Job && l.Limit.Kind == slurm.LimitSet })
	if len(limits) == 0 || time.Since(r.Created) >= tick || setOf(r.Instances[0]).name != limitedSet || job == nil || !c.w.well() {
		return
	}
	used, _ := c.w.ledger.used()
	taken := used.GPU + gpusPerMachine*float64(len(r.Instances))*min(r.Duration, job.Limit.Duration).Seconds()
	if hours := taken / time.Hour.Seconds(); hours > float64(limits[0].GPUHours)+1 { // an action may take minutes
		c.fail(overScale, "request %s/%s for job %d makes %.0f GPU hours, and %d are allowed", g.Name, r.Name, job.ID, hours, limits[0].GPUHours)
	}
}
