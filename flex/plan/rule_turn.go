package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
)

// turns counts the live requests, those of this plan included.
type turns struct {
	*wanted
	active   map[string]int           // by region
	activeOf map[string]int           // by nodeset
	queue    map[string]int           // by region: cohorts that wait for their turn
	ousts    map[*config.NodeSet]bool // the nodesets for which another's request is cancelled
	shared   sharing
}

// inTurn lets as many requests be made as max_active_requests has room for. Cohorts come
// in the order of their jobs' importance. Nothing is requested for nodes that this plan
// takes from a job.
func inTurn(w *wanted, verdicts []verdict) []verdict {
	t := turns{w, maps.Clone(w.active), maps.Clone(w.activeOf), map[string]int{}, map[*config.NodeSet]bool{}, newSharing()}
	taken := map[string]bool{}
	for _, v := range verdicts {
		if v.pending && t.shared.isFirst(v.cohort) { // its request is as good as made
			t.count(v.cohort)
		}
		if v.do == goesBack {
			for _, name := range v.back.Nodes {
				taken[name] = true
			}
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case v.do != requests:
		case v.gone, slices.ContainsFunc(v.cohort.missing, func(name string) bool { return taken[name] }):
			v.do = waits
		case v.cohort.shares():
			t.share(v)
		case !v.cohort.set.Flex.UseBulkInsert:
			t.take(v)
		}
	}
	return verdicts
}

func (t *turns) count(c *cohort) {
	t.active[c.set.Region]++
	t.activeOf[c.set.Name]++
}

// take counts the cohort's request if there is room for it. A nodeset takes no second
// place that another nodeset of the region, which has none, could need: requests that
// cannot be had would hold all of them. At most a quarter of all places is kept so.
func (t *turns) take(v *verdict) {
	c, most := v.cohort, t.cfg.Options.MaxActiveRequests
	region, none := c.set.Region, t.activeOf[c.set.Name] == 0
	if t.hasRoom(c, 0) {
		t.count(c)
		return
	}
	t.queue[region]++
	v.do, v.quiet = waits, false
	v.why = fmt.Sprintf(memo.Waiting+"for its turn: place %s in %s, where %d requests are active at most",
		roughPlace(t.queue[region]), region, most)
	if none && !t.ousts[c.set] {
		v.ousts = t.oust(c)
	}
}

// hasRoom reports whether a request for the cohort would find a place once own of its
// nodeset have given theirs up.
func (t *turns) hasRoom(c *cohort, own int) bool {
	most := t.cfg.Options.MaxActiveRequests
	places := most - t.active[c.set.Region] + own
	return places > 0 && (t.activeOf[c.set.Name] == own || places > min(t.idleSets(c.set), most/4))
}

// idleSets counts the other nodesets of the region that request nodes when jobs want
// them, and have no live request.
func (t *turns) idleSets(set *config.NodeSet) (n int) {
	for _, other := range t.cfg.FlexSets() {
		if other != set && other.Region == set.Region && !other.Flex.UseBulkInsert && other.Size() > other.Static && t.activeOf[other.Name] == 0 {
			n++
		}
	}
	return n
}

// oust finds the least important request of a nodeset that has others, to be cancelled
// for a cohort that is more important and whose nodeset has none. That can be only where
// all places were taken before they were kept for it: when the nodeset is new, or the
// limit was lowered. From then on its place is kept, so it happens once.
func (t *turns) oust(c *cohort) *ref {
	for _, other := range slices.Backward(t.cohorts) {
		r := other.live
		if r == nil || t.servesBetter(r, c) || r.request.State != mig.Accepted || r.group.Region != c.set.Region || t.activeOf[r.group.Stamp.NodeSet] < 2 || byRank(c, other) >= 0 {
			continue
		}
		t.ousts[c.set] = true
		t.activeOf[r.group.Stamp.NodeSet]--
		return r
	}
	return nil
}

// roughPlace gives a place in a queue, from 10 on in its first digit only: each
// job of thousands moves up with every one that leaves, and is told of it.
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
