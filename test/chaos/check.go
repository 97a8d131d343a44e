package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"slurmflex/flex/apply"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// check compares what the product does with the invariants. The first violation ends the day.
type check struct {
	w *world

	mu        sync.Mutex
	found     []violation
	unasked   map[string]int       // by process: how many machines the present pass deletes without a request from Slurm
	counted   map[string]time.Time // by process and machine: when it was last counted in unasked
	unwanted  map[string]*unwanted // unneeded requests and nodes
	lost      map[string]time.Time // by node: since when its machine is lost while everything else is well
	preempted map[string]sight     // machines
	inTurn    map[uint32]time.Time // since when jobs wait for a queue position held by a less important job
	looked    time.Time            // last start of an observation by any process
	saw       time.Time            // last pass of any process
}

// unwanted is a live request, or a node that is powering up, without a job.
type unwanted struct {
	since  time.Time
	passes int  // passes started since then while all calls were answered
	ended  bool // it has been cancelled
}

func (c *check) fail(k kind, format string, args ...any) {
	v := violation{k, time.Since(c.w.begun), fmt.Sprintf(format, args...)}
	c.w.journal.note("VIOLATION %v", v)
	defer locked(&c.mu)()
	c.found = append(c.found, v)
}

// first returns the first violation, if any.
func (c *check) first() (violation, bool) {
	defer locked(&c.mu)()
	if len(c.found) == 0 {
		return violation{}, false
	}
	return c.found[0], true
}

// before checks a call that changes the cloud before it takes effect.
func (c *check) before(p *process, call apiCall) {
	if name := call.aim(); isNeighbours(name) {
		c.fail(foreignChange, "%s: %s %s, which is a neighbour's", p.name, call.kind, call.object)
	}
	st := c.w.state()
	switch call.kind {
	case "delete instance":
		if in, there := c.w.stranger(call.aim()); there && strings.Contains(call.object, "/"+in.Zone+"/") {
			c.fail(foreignChange, "%s: %s %s, which is a stranger's", p.name, call.kind, call.object)
		}
		c.deletion(p, st, call.machines(), call.aimedGroup())
	case "delete instances":
		c.deletion(p, st, call.machines(), call.aimedGroup())
	case "delete group":
		if g, there := st.Group(call.aim()); there {
			var names []string
			for _, m := range g.Members {
				names = append(names, m.Name)
			}
			c.deletion(p, st, names, g.Name)
		}
	case "cancel request":
		c.cancelled(p, st, call.request())
		c.mu.Lock()
		if u := c.unwanted["request "+call.request()]; u != nil {
			u.ended = true
		}
		c.mu.Unlock()
	}
}

// cancelled checks the cancellation of a request, which loses the request's queue position. It
// fails if the request's job waits for the same nodes and fits in the lease, unless the
// request may yield, or an admin cancels the requests of its nodeset.
func (c *check) cancelled(p *process, st fakegce.State, request string) {
	for _, g := range c.w.ours(st) {
		for _, r := range g.Requests {
			if g.Name+"/"+r.Name != request || r.State != "ACCEPTED" || c.mayYield(p, st, g.Region, r) {
				continue
			}
			if block, blocked := memo.ParseBlock(c.w.watch.node(r.Instances[0]).Extra); blocked && block.Cancels {
				continue
			}
			job := c.w.watch.waiter(r.Instances[0])
			if job != nil && !c.w.watch.forgiven(*job) && setOf(r.Instances[0]).exclusive && job.given.Before(r.Created) && job.Limit.Duration <= r.Duration &&
				slurm.Fold(job.Nodes) == slurm.Fold(r.Instances) {
				c.fail(lostJob, "%s cancels request %s, while job %d waits for its nodes", p.name, request, job.ID)
			}
		}
	}
}

// deletion checks the deletion of machines.
func (c *check) deletion(p *process, st fakegce.State, names []string, group string) {
	for _, name := range names {
		in, there := st.Instance(name)
		if !there || in.Status == "STOPPING" || in.Group != group {
			continue
		}
		if job := c.w.watch.runner(name); job != nil && in.Status == "RUNNING" {
			c.fail(wrongKill, "%s deletes machine %s under running job %d", p.name, name, job.ID)
		}
		c.spared(p, name, "deletes machine")
		if in.Status != "TERMINATED" { // no job runs on a stopped machine
			c.brake(p, in)
		}
	}
}

// recent is how long ago Slurm may have released a machine that is deleted now: an action may
// take three minutes, after the pass has read Slurm's state.
const recent = 5 * time.Minute

// brake counts a deletion that Slurm has not requested. Slurm has requested it, too, if it has powered
// the node down at any time since the machine was created, and the node has not come up since: its
// region may have been out of reach.
func (c *check) brake(p *process, in fakegce.Instance) {
	name, since := in.Name, time.Now().Add(-recent)
	if !c.w.watch.node(name).State.IsUp() && in.Created.Before(since) {
		since = in.Created
	}
	if c.w.watch.asked(name, since) {
		return
	}
	c.mu.Lock()
	if key := p.name + " " + name; time.Since(c.counted[key]) > apply.Limit { // the same action may repeat a call, beside later passes
		c.counted[key] = time.Now()
		c.unasked[p.name]++
	}
	n, most := c.unasked[p.name], p.runsWith.Load().Options.MaxDeletions
	c.mu.Unlock()
	if n > most {
		c.fail(wrongKill, "%s deletes %d machines in one pass that Slurm did not ask to delete, and may delete %d", p.name, n, most)
	}
}

// after checks the cloud after a change.
func (c *check) after() {
	st := c.w.state()
	c.doubles(st)
	live := map[string]int{}
	for _, g := range c.w.ours(st) {
		for _, r := range g.Requests {
			if alive(r) {
				live[g.Region]++
				c.suits(r)
				c.withinLimit(g, r)
			}
		}
	}
	for region, n := range live {
		if most := c.w.mostActive(); n > most {
			c.fail(overScale, "%d requests live in %s, and %d may", n, region, most)
		}
	}
}

// suits fails if a request has nodes that the pending job with their door cannot start on, or if the job
// waits for another one.
func (c *check) suits(r fakegce.Request) {
	for _, l := range c.behindDoors(r) {
		if l.HetID == 0 && !c.w.watch.isAltered(*l) && !c.w.slurm.Suits(l.ID, r.Instances) {
			c.fail(overScale, "nodes %s are requested for job %d, which cannot start there", slurm.Fold(r.Instances), l.ID)
		}
	}
}

// behindDoors returns the waiting jobs with a door over nodes of the request.
func (c *check) behindDoors(r fakegce.Request) (jobs []*life) {
	for _, name := range c.w.slurm.ReservationsOver(r.Instances) {
		hold := memo.ParseHold(cluster, name)
		waits := func(is func(*life) bool) *life {
			return c.w.watch.queued(func(l *life) bool { return hold.Kind == memo.DoorHold && l.State.Waits() && is(l) })
		}
		l := cmp.Or(waits(func(l *life) bool { return l.Address() == hold.Address }),
			waits(func(l *life) bool { return l.IsTasks() && fmt.Sprint(l.ArrayID) == slurm.WholeOf(hold.Address) }))
		if l == nil {
			continue
		}
		if _, task, found := strings.Cut(hold.Address, "_"); found { // an owner's change may not have reached all tasks
			l.ID = cmp.Or(c.w.slurm.TaskID(l.ArrayID, task), l.ID)
		}
		jobs = append(jobs, l)
	}
	return jobs
}

// doubles fails for nodes that have, or will have, more than one machine.
func (c *check) doubles(st fakegce.State) {
	asked := map[string]string{}
	for _, g := range c.w.ours(st) {
		for _, r := range g.Requests {
			if !alive(r) {
				continue
			}
			for _, name := range r.Instances {
				if other := asked[name]; other != "" {
					c.fail(overScale, "requests %s and %s/%s both ask for %s", other, g.Name, r.Name, name)
				}
				asked[name] = g.Name + "/" + r.Name
			}
		}
	}
	made := map[string]fakegce.Instance{}
	for _, in := range st.Instances {
		if other, double := made[in.Name]; double && !c.mayRepeat(other, in) {
			c.fail(overScale, "node %s has two machines, in %s and %s", in.Name, other.Zone, in.Zone)
		}
		made[in.Name] = in
	}
}

// mayRepeat reports whether two processes may have inserted a static node's machine without a group,
// one shortly after the other: a known limit in docs/dev/design.md.
func (c *check) mayRepeat(one, other fakegce.Instance) bool {
	return c.w.static(one.Name) && one.Group == "" && other.Group == "" && other.Created.Sub(one.Created).Abs() < time.Minute
}

func alive(r fakegce.Request) bool { return r.State == "CREATING" || r.State == "ACCEPTED" }

// pass checks, when a process starts to observe, the results of its earlier passes.
func (c *check) pass(p *process) {
	st := c.w.state()
	c.w.calls.pass(st, c.w.setup.cloud.PageLimit)
	well := c.w.well()
	c.mu.Lock()
	c.unasked[p.name] = 0
	c.looked = time.Now()
	c.mu.Unlock()
	if p.name == "hook" || p.name == "cron" {
		return
	}
	seen := map[string]bool{}
	for _, g := range c.w.ours(st) {
		for _, r := range g.Requests {
			if r.State != "ACCEPTED" || c.stillWanted(g, r) {
				continue
			}
			key := "request " + g.Name + "/" + r.Name
			seen[key] = true
			c.outstay(key, well)
		}
	}
	for _, name := range c.w.watch.forNobody() {
		if _, byHand := c.w.byHand.Load(name); !byHand && !c.w.static(name) && !c.w.lasting("stubborn "+name) {
			seen["node "+name] = true
			c.outstay("node "+name, well)
		}
	}
	defer locked(&c.mu)()
	for key := range c.unwanted {
		if !seen[key] {
			delete(c.unwanted, key)
		}
	}
}

// stillWanted reports whether a job needs the request: a job holds one of its nodes, or waits and
// has a door over them, or the nodes are wanted without a job.
func (c *check) stillWanted(g fakegce.Group, r fakegce.Request) bool {
	stamp, _ := mig.ParseStamp(g.Description)
	return len(c.behindDoors(r)) > 0 || !stamp.ForJobs() || slices.ContainsFunc(r.Instances, c.w.watch.wanted)
}

// outstay counts the passes during which a request, or a node that is powering up, outlives
// its job. It also requires a minute: passes may be half a second apart, and a pass does not
// repeat an action of an earlier pass that is still running.
func (c *check) outstay(key string, well bool) {
	c.mu.Lock()
	u := c.unwanted[key]
	if u == nil || !well {
		c.unwanted[key] = &unwanted{since: time.Now()}
		c.mu.Unlock()
		return
	}
	u.passes++
	late := !u.ended && u.passes > 2 && time.Since(u.since) > time.Minute
	c.mu.Unlock()
	if late {
		c.fail(orphan, "%s waits still, %d passes after its job has gone", key, u.passes)
	}
}

// resumeFailed fails if nodes reach ResumeTimeout while they wait for capacity, because
// slurmflex restarts Slurm's timer after a third of it. Nodes that refuse changes are excused. A node is
// excused, too, if it refused its Comment while it was known to lack a machine, and nothing could be read since.
func (c *check) resumeFailed(nodes []string) {
	for _, name := range nodes {
		freed, refused := c.w.freed.Load(name)
		if c.w.lasting("stubborn "+name) || refused && !c.w.wellFor(time.Since(freed.(time.Time))) {
			c.w.watch.take(name)
		}
	}
	if !c.w.wellFor(c.w.setup.slurm.ResumeTimeout) {
		return
	}
	st := c.w.state()
	for _, name := range nodes {
		if _, there := st.Instance(name); !there && !c.w.lasting("stubborn "+name) {
			c.fail(lostJob, "node %s has met ResumeTimeout while it waited for its machine", name)
		}
	}
}

// update checks a change of nodes.
func (c *check) update(p *process, names []string, change slurm.NodeChange) {
	if strings.HasPrefix(change.State, "power_down") {
		for _, name := range names {
			c.spared(p, name, "powers down")
		}
	}
	if change.State != "power_down_force" && change.State != "down" {
		return
	}
	st := c.w.state()
	for _, name := range names {
		in, there := st.Instance(name)
		if job := c.w.watch.runner(name); job != nil && there && in.Status == "RUNNING" && c.w.machines.of(name).answers {
			c.fail(wrongKill, "%s sets %s %s under running job %d", p.name, name, change.State, job.ID)
		}
		if there {
			c.bootGivenUp(in, change, flexOf(p, name).BootTimeout)
		}
		c.early(p, st, name)
	}
}

// bootGivenUp fails if a machine is considered unable to boot too early. The node's Extra
// records that decision. A machine that has failed its health check counts at once.
func (c *check) bootGivenUp(in fakegce.Instance, change slurm.NodeChange, limit time.Duration) {
	if c.w.watch.node(in.Name).State.Has(slurm.Drain) {
		return
	}
	if age := time.Since(in.Created); change.Extra != nil && *change.Extra != "" && age < limit-wrongClock {
		c.fail(lostJob, "%s is taken for one that does not come up, %v after it was made", in.Name, age.Truncate(time.Second))
	}
}

// wrongClock is how far the daemon's clock may be off unnoticed.
const wrongClock = 5 * time.Minute

// reservation checks a change of an existing reservation.
func (c *check) reservation(name string) {
	if memo.ParseHold(cluster, name).Kind == memo.NoHold && !strings.HasPrefix(name, "slurmflex-"+cluster+"-") {
		c.fail(foreignChange, "reservation %s, which is not ours, is changed", name)
	}
}
