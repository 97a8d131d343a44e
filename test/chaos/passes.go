package chaos

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// passes is told what the passes of a process see and do.
type passes struct{ *process }

// Saw notes that a pass has been made.
func (p passes) Saw(snap plan.Snapshot, does plan.Plan) {
	p.w.check.passed()
	if p.name != "cron" { // whose plan is a part of one
		p.w.check.named(p.runsWith.Load(), snap, does)
	}
}

// Did does nothing: what is done shows in Slurm and the cloud.
func (p passes) Did(plan.Action, time.Time, time.Duration, error) {}

// Stood does nothing.
func (p passes) Stood(error) {}

// named judges that a plan does something about each node that a job waits for, or
// names what that waits for: a request, the time of the next attempt, or an obstacle.
func (c *check) named(cfg *config.Config, snap plan.Snapshot, does plan.Plan) {
	named := map[string]bool{}
	for _, wait := range does.Waits {
		for _, name := range wait.Nodes {
			named[name] = wait.Request != "" || wait.Obstacle != "" || !wait.Next.IsZero()
		}
	}
	given := map[uint32]bool{} // back to Slurm, which takes its nodes out of their cohorts for this pass
	for _, a := range does.Actions {
		if back, ok := a.(plan.ReturnNodes); ok {
			given[back.Job] = true
		}
		for _, name := range a.About().Nodes {
			named[name] = true
		}
	}
	for _, in := range snap.Recalled().Ours(cluster) {
		named[in.Name] = true
	}
	for _, n := range snap.Nodes { // they have come, or go
		rises := n.State.Has(slurm.PoweringUp)
		named[n.Name] = named[n.Name] || !rises
	}
	for _, j := range snap.Jobs {
		for _, name := range j.Nodes {
			named[name] = named[name] || given[j.ID]
		}
	}
	for _, j := range snap.Jobs {
		for _, name := range j.Nodes {
			if set, _, ours := cfg.Find(name); j.State == slurm.JobConfiguring && ours && set.Flex != nil && !named[name] {
				c.fail(lostJob, "job %d waits for %s, and nothing says what for", j.ID, name)
			}
		}
	}
}

// longest is how long no pass may be made while slurmctld answers and a daemon
// runs: the interval at its longest, and a look at a cloud that does not answer.
const longest = 10 * time.Minute

// passed notes that a pass has been made.
func (c *check) passed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saw = time.Now()
}

// stalled judges that no pass has been made for long. Whatever is in a list, and
// however Compute behaves, is no reason for none.
func (c *check) stalled() {
	c.mu.Lock()
	begun, late := !c.saw.IsZero(), time.Since(c.saw)
	c.mu.Unlock()
	w := c.w
	if begun && late > longest && !w.main.away() && !w.lasting(slurmAway) &&
		w.faults.well(time.Now().Add(-longest), controller, program) {
		c.fail(stall, "no pass has been made for %v", late.Truncate(time.Second))
	}
}
