package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// turns assigns the places under max_active_requests and max_active_requests_per_user.
type turns struct {
	*demand.Wanted
	now, next Places                 // places taken now, and after this plan's actions
	queue     map[string]int         // by region: claims that wait for their turn
	users     map[string][]string    // by region: the users whose jobs wait for a place, most important job first
	yields    map[string]*scene.Live // by region: the request that yields its place
	worth     map[*scene.Live]uint64 // by live request: the priority of the most important job it serves
	firsts    map[*scene.Live]bool   // the live requests that serve a job's first door, or nodes without a door
	keep      map[string]bool        // by region: requests do not yield to the claims that follow
	named     map[string]int         // by region: first places that lack a request, some until Slurm shows that their jobs use them

	open    map[needs]*Verdict   // by needs: the last request that has room for more jobs
	begun   map[mig.GroupID]bool // the groups that this plan creates
	pending map[needs]bool       // the needs of requests that an earlier pass is still creating

	// Before this plan's requests: the active requests, and the jobs that lack one. A user's jobs
	// count only where max_active_requests_per_user applies.
	active Places
	lack   map[demand.UserIn]int
}

// inTurn allows as many requests as places are free, in the order of their jobs' importance. It
// requests nothing for nodes that this plan takes from a job.
func inTurn(w *demand.Wanted, verdicts []Verdict) []Verdict {
	now := PlacesNow(w)
	t := turns{
		Wanted: w, now: now, next: now.clone(), queue: map[string]int{}, users: map[string][]string{}, yields: map[string]*scene.Live{},
		worth: map[*scene.Live]uint64{}, firsts: map[*scene.Live]bool{}, keep: map[string]bool{}, named: map[string]int{},
		open: map[needs]*Verdict{}, begun: map[mig.GroupID]bool{}, pending: map[needs]bool{}, lack: map[demand.UserIn]int{},
	}
	taken := map[string]bool{}
	for _, s := range w.Settled {
		if s.Misfit != "" && s.Request.State != mig.Creating {
			t.next.free(s.Live)
		}
	}
	for _, v := range verdicts {
		if v.pending && t.isFirst(v.Claim) { // count its request as created
			t.take(v.Claim)
		}
		isAsking := v.Do == Requests && !v.Claim.Shares() && !v.Claim.Set.Flex.UseBulkInsert
		if v.Claim.Place() == 0 && (isAsking || v.waitsForDoor() && v.Claim.Live == nil) {
			t.named[v.Claim.Set.Region]++
		}
		if v.Do == Returns {
			for _, name := range v.Return.Nodes {
				taken[name] = true
			}
		}
		if r := v.Claim.Live; r != nil {
			t.worth[r], t.firsts[r] = max(t.worth[r], worthOf(v.Claim)), t.firsts[r] || v.Claim.Place() == 0
			if v.Gone || v.Do >= Returns { // its nodes are about to leave it
				t.worth[r] = math.MaxUint64
			}
		}
	}
	t.countLack(verdicts)
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case v.Claim.Live != nil && v.Claim.Live == t.yields[v.Claim.Live.Group.Region]:
			v.Yields = v.Claim.Live
			t.wait(v, t.next)
		case v.Do != Requests:
		case v.Gone, slices.ContainsFunc(v.Claim.Missing, func(name string) bool { return taken[name] }):
			v.Do = Waits
		case t.overspends(v):
		case v.Claim.Shares():
			t.share(v)
		case !v.Claim.Set.Flex.UseBulkInsert:
			t.turn(v)
		}
		if v.Do == Requests {
			t.Budgets.Take(t.Scene, v.Claim)
		}
	}
	return verdicts
}

func (t *turns) take(c *demand.Claim) {
	t.now.Take(c)
	t.next.Take(c)
}

// turn takes a free place for the claim. Without one, the claim waits for its turn, and if no
// place becomes free in this pass, another request yields its place. The second door of a job leaves
// places to all first doors without a request, because its request would yield to theirs.
func (t *turns) turn(v *Verdict) {
	c := v.Claim
	soon := t.Handed.Later[demand.UserIn{Region: c.Set.Region}] + t.named[c.Set.Region]
	if t.now.hasRoom(c) && (c.Place() == 0 || t.now.inRegion[c.Set.Region]+soon < t.Config.Options.MaxActiveRequests) {
		t.take(c)
		if c.Place() == 0 {
			t.named[c.Set.Region]--
		}
		return
	}
	if region := c.Set.Region; c.Place() == 0 && t.yields[region] == nil && !t.keep[region] && !t.next.hasRoom(c) {
		if r := t.yieldsTo(c); r != nil {
			t.yields[region] = r
			t.next.free(*r)
		} else {
			t.keep[region] = !t.now.isUserFull(c)
		}
	}
	t.wait(v, t.now)
	if t.next.hasRoom(c) {
		t.next.Take(c)
	}
}

// wait makes the claim wait for its turn, and writes the reason for its job's owner. If the
// claim's request yielded its place, the reason mentions that until the next request is made.
func (t *turns) wait(v *Verdict, p Places) {
	c, region := v.Claim, v.Claim.Set.Region
	v.Do, v.Quiet = Waits, false
	if p.isUserFull(c) {
		v.Why = fmt.Sprintf(memo.Waiting+"for its turn: its user has %d of at most %d active requests in %s",
			p.ofUser[userOf(c)], t.Config.Options.MaxActivePerUser, region)
	} else {
		t.queue[region]++
		t.noteWaiting(region, userOf(c).Name)
		v.Why = fmt.Sprintf(memo.Waiting+"for its turn: place %s in %s, which has at most %s",
			roughPlace(t.queue[region]), region, action.Amount(t.Config.Options.MaxActiveRequests, "active request"))
	}
	if v.Yields != nil || c.Job != nil && memo.HasYielded(t.Seen.Told[c.Job.ID]) {
		v.Why += memo.Yielded
	}
}

// yieldsTo returns the request that yields its place to the claim, or nil: the least important one
// that may, and the youngest of equals.
func (t *turns) yieldsTo(c *demand.Claim) (least *scene.Live) {
	for _, other := range t.Claims {
		r := other.Live
		if r == nil || !t.mayYield(r, c) {
			continue
		}
		if least == nil || cmp.Or(cmp.Compare(t.worth[r], t.worth[least]), least.Request.Created.Compare(r.Request.Created)) < 0 {
			least = r
		}
	}
	return least
}

// mayYield reports whether a live request may yield its place to the claim: it is less important, and
// has held its place for yield_after or serves only second or later doors. A request keeps its place
// if it creates machines, may serve an unreadable job, or serves a job that is about to leave its
// nodes. If the claim waits because of its user's other jobs, only their requests yield.
func (t *turns) mayYield(r *scene.Live, c *demand.Claim) bool {
	after, own := t.Config.Options.YieldAfter, uint64(math.MaxUint64)
	if c.Job != nil {
		own = c.Job.Priority
	}
	switch {
	case r.Group.Region != c.Set.Region, t.worth[r] >= own:
		return false
	case t.firsts[r] && (after == 0 || !t.IsOld(r.Request.Created, after)):
		return false
	case !demand.OnlyWaits(t.Scene, r), demand.AnyDoubted(t.Scene, r.Request.Instances):
		return false
	}
	return !t.now.isUserFull(c) || t.now.users[r.Request] == userOf(c)
}

// worthOf returns the priority of the most important job that waits for the claim's nodes, and 0 for
// a job's second or later door. Nodes without a job rank above all jobs.
func worthOf(c *demand.Claim) (most uint64) {
	switch {
	case c.Job == nil:
		return math.MaxUint64
	case c.Place() > 0:
		return 0
	}
	for _, j := range c.Holders {
		if j.State != slurm.JobCompleting {
			most = max(most, j.Priority)
		}
	}
	return most
}

// roughPlace keeps only the first digit of a queue position, from 10 on. Otherwise each job that
// leaves a queue of thousands would cause a new AdminComment for every job behind it.
func roughPlace(n int) string {
	step := 1
	for n/step >= 10 {
		step *= 10
	}
	if step == 1 {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(n/step*step) + " or later"
}
