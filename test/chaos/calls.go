package chaos

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// calls counts the program's calls of Compute.
type calls struct {
	mu sync.Mutex
	toll
}

// toll counts the program's actions.
type toll struct {
	passes  int
	wakeUps int // events that trigger extra passes: hooks, starts of a daemon, cron commands
	reads   int // read-only calls, including operations.wait
	changes int // calls that change something
	struck  int // calls struck by a fault
	due     int // pages that the passes had to read
}

func (t toll) minus(u toll) toll {
	return toll{
		t.passes - u.passes, t.wakeUps - u.wakeUps, t.reads - u.reads, t.changes - u.changes, t.struck - u.struck, t.due - u.due,
	}
}

// pass counts a pass that starts to read the cloud. Compute returns at most limit items per
// page.
func (c *calls) pass(st fakegce.State, limit int) {
	visible := func(name string) bool { return strings.HasPrefix(name, cluster+"-") }
	pages := func(items int) int {
		if limit == 0 {
			return 1
		}
		return max(1, (items+limit-1)/limit)
	}
	groups := map[string]int{}
	due := 2 // the templates, which are read from time to time
	for _, g := range st.Groups {
		if visible(g.Name) {
			groups[g.Region]++
			due += pages(len(g.Requests))
		}
	}
	machines := 0
	for _, in := range st.Instances {
		if visible(in.Name) {
			machines++
		}
	}
	due += pages(groups[us]) + pages(groups[europe]) + pages(machines) + 2*pages(len(st.Policies))
	defer locked(&c.mu)()
	c.passes++
	c.due += due
}

func (c *calls) wakeUp() {
	defer locked(&c.mu)()
	c.wakeUps++
}

func (c *calls) api(call apiCall, wrong bool) {
	defer locked(&c.mu)()
	if call.changes() {
		c.changes++
	} else {
		c.reads++
	}
	if wrong {
		c.struck++
	}
}

// soFar returns the present toll.
func (c *calls) soFar() toll {
	defer locked(&c.mu)()
	return c.toll
}

// excess returns a description of what was done too often, or "". The limits: while something
// is expected, one pass every ten seconds, plus half a dozen quick passes per wake-up. Each
// pass reads everything once, and may reread what is created meanwhile, so at most twice. Each
// change may be polled with one or two calls while its operation runs. A failed call is
// repeated.
func (t toll) excess(while time.Duration) string {
	if most := 10 + int(while/(8*time.Second)) + 8*t.wakeUps; t.passes > most {
		return fmt.Sprintf("%d passes in %v with %d wake-ups, and %d would do", t.passes, while, t.wakeUps, most)
	}
	if most := 2*t.due + 4*t.changes + t.struck; t.reads > most {
		return fmt.Sprintf("%d calls that only look in %d passes, and %d would do", t.reads, t.passes, most)
	}
	return ""
}

// idle returns a description of what was done too often at rest, or "". The limits: passes run
// at their interval, and only the leases of static nodes change. Each lease takes a dozen
// calls and some passes.
func (t toll) idle(while, interval time.Duration, static int) string {
	const renewal = 12
	if most := 2*int(while/interval) + 10 + 30*static; t.passes > most {
		return fmt.Sprintf("%d passes in %v of rest, and %d would do", t.passes, while, most)
	}
	if t.changes > renewal*static {
		return fmt.Sprintf("%d changes in %v of rest, and %d would do", t.changes, while, renewal*static)
	}
	return t.excess(while)
}

// saw records a pass.
func (p *process) saw(s *scene.Scene, does plan.Plan) {
	p.w.check.passed()
	p.w.check.sights(p, s.Seen)
	if p.name != "cron" { // cron's plan is only a part of one
		p.w.check.named(p.runsWith.Load(), s, does)
	}
}

// named fails if a job waits for a node that the plan neither acts on nor explains: by a
// request, the time of the next attempt, or an obstacle.
func (c *check) named(cfg *config.Config, s *scene.Scene, does plan.Plan) {
	snap := s.Seen
	named := map[string]bool{}
	for _, wait := range does.Waits {
		for _, name := range wait.Nodes {
			named[name] = wait.Request != "" || wait.Obstacle != "" || !wait.Next.IsZero()
		}
	}
	given := map[uint32]bool{} // jobs returned to Slurm, which take their nodes out of their claims in this pass
	for _, a := range does.Actions {
		if back, ok := a.(action.ReturnNodes); ok {
			given[back.Job] = true
		}
		for _, name := range action.About(a).Nodes {
			named[name] = true
		}
	}
	for _, in := range s.Recalled.Machines {
		named[in.Name] = named[in.Name] || in.Belongs
	}
	for _, n := range snap.Nodes { // these nodes are up, or are powering down
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
				c.fail(lostJob, "job %d waits for %s for no stated reason", j.ID, name)
			}
		}
	}
}

// longest is the maximum time without a pass while slurmctld answers and a daemon runs. It covers the
// longest wait after a failure, and then the observation of a cloud that does not answer.
const longest = 12 * time.Minute

// passed records the time of a pass.
func (c *check) passed() {
	defer locked(&c.mu)()
	c.saw = time.Now()
}

// stalled fails if there has been no pass for longest. Neither a list's content nor Compute's
// behaviour excuses that.
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
