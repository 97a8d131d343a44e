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
	lines     map[string]*line       // by region
	worth     map[*scene.Live]uint64 // by live request: the priority of the most important job it serves
	firsts    map[*scene.Live]bool   // the live requests that serve a job's first door, or nodes without a door

	open    map[needs]*Verdict   // by needs: the last request that has room for more jobs
	begun   map[mig.GroupID]bool // the groups that this plan creates
	pending map[needs]bool       // the needs of requests that an earlier pass is still creating

	// Before this plan's requests: the active requests, and the jobs that lack one. A user's jobs
	// count only where max_active_requests_per_user applies.
	active Places
	lack   map[demand.UserIn]int
}

// line is who waits for a place in a region.
type line struct {
	length int         // claims that wait for their turn
	users  []string    // the users whose jobs wait for a place, most important job first
	yields *scene.Live // the request that yields its place
	keep   bool        // requests do not yield to the claims that follow
	named  int         // first places that lack a request, some until Slurm shows that their jobs use them
}

// line returns the line of a region.
func (t *turns) line(region string) *line {
	if t.lines[region] == nil {
		t.lines[region] = &line{}
	}
	return t.lines[region]
}

// inTurn allows as many requests as places are free, in the order of their jobs' importance. It
// requests nothing for nodes that this plan takes from a job.
func inTurn(w *demand.Wanted, verdicts []Verdict) {
	now := PlacesNow(w)
	t := turns{
		Wanted: w, now: now, next: now.clone(), lines: map[string]*line{}, worth: map[*scene.Live]uint64{}, firsts: map[*scene.Live]bool{},
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
		if v.Claim.Place() == 0 && (isAsking || v.Do == Waits && v.atDoor && v.Claim.Live == nil) {
			t.line(v.Claim.Set.Region).named++
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
		case v.Claim.Live != nil && v.Claim.Live == t.line(v.Claim.Live.Group.Region).yields:
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
}

func (t *turns) take(c *demand.Claim) {
	t.now.Take(c)
	t.next.Take(c)
}

// turn takes a free place for the claim. Without one, the claim waits for its turn, and if no
// place becomes free in this pass, another request yields its place. The second door of a job leaves
// places to all first doors without a request, because its request would yield to theirs.
func (t *turns) turn(v *Verdict) {
	c, region := v.Claim, v.Claim.Set.Region
	line := t.line(region)
	soon := t.Handed.Later[demand.UserIn{Region: region}] + line.named
	if t.now.hasRoom(c) && (c.Place() == 0 || t.now.inRegion[region]+soon < t.Config.Options.MaxActiveRequests) {
		t.take(c)
		if c.Place() == 0 {
			line.named--
		}
		return
	}
	if c.Place() == 0 && line.yields == nil && !line.keep && !t.next.hasRoom(c) {
		if line.yields = t.yieldsTo(c); line.yields != nil {
			t.next.free(*line.yields)
		} else {
			line.keep = !t.now.isUserFull(c)
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
		line := t.line(region)
		line.length++
		if user := userOf(c).Name; !slices.Contains(line.users, user) {
			line.users = append(line.users, user)
		}
		v.Why = fmt.Sprintf(memo.Waiting+"for its turn: place %s in %s, which has at most %s",
			roughPlace(line.length), region, action.Amount(t.Config.Options.MaxActiveRequests, "active request"))
	}
	if v.Yields != nil || c.Job != nil && memo.Has(t.Seen.Told[c.Job.ID], memo.Yielded) {
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
	case !t.OnlyWaits(r), t.AnyDoubted(r.Request.Instances):
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
