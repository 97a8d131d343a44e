package plan

import (
	"fmt"
	"slices"
	"strconv"

	"slurmflex/config"
	"slurmflex/mig"
)

// countActive counts a live request, or one that is as good as made.
func (w *world) countActive(region, nodeset string) {
	w.active[region]++
	w.activeOf[nodeset]++
}

// takesTurn counts the live requests of the cohort's region, this one included,
// and reports whether there is room for it under max_active_requests. Cohorts
// come in the order of their jobs' importance. A nodeset takes no second place that
// another nodeset of the region, which has none, could need: requests that cannot be
// had would hold all of them. At most a quarter of all places is kept so.
func (w *world) takesTurn(c *cohort) bool {
	region, most := c.set.Region, w.cfg.Options.MaxActiveRequests
	none := w.activeOf[c.set.Name] == 0
	if free := most - w.active[region]; free > 0 && (none || free > min(w.idleSets(c.set), most/4)) {
		w.countActive(region, c.set.Name)
		return true
	}
	w.queue[region]++
	c.obstacle = fmt.Sprintf(toldWaiting+"for its turn: place %s in %s, where %d requests are active at most",
		roughPlace(w.queue[region]), region, most)
	if none && !w.ousts[c.set] {
		w.oust(c)
	}
	return false
}

// idleSets counts the other nodesets of the region that ask for nodes when jobs want
// them, and have no live request.
func (w *world) idleSets(set *config.NodeSet) (n int) {
	for _, other := range w.cfg.FlexSets() {
		if other != set && other.Region == set.Region && !other.Flex.UseBulkInsert && other.Size() > other.Static && w.activeOf[other.Name] == 0 {
			n++
		}
	}
	return n
}

// oust cancels the least important request of a nodeset that has others, for a cohort
// that is more important and whose nodeset has none. That can be only where all places
// were taken before they were kept for it: when the nodeset is new, or the limit was
// lowered. From then on its place is kept, so it happens once.
func (w *world) oust(c *cohort) {
	for _, other := range slices.Backward(w.all) {
		r := other.live
		if r == nil || r.request.State != mig.Accepted || r.group.Region != c.set.Region || w.activeOf[r.group.Stamp.NodeSet] < 2 || byRank(c, other) >= 0 {
			continue
		}
		w.ousts[c.set] = true
		w.activeOf[r.group.Stamp.NodeSet]--
		w.add(CancelRequest{
			Region: r.group.Region, Group: r.group.Name, Request: r.request.Name, Job: r.group.Stamp.Job,
			Why: Why(fmt.Sprintf("all %d requests of %s are active, and nodeset %s has none, for which a more important job waits",
				w.cfg.Options.MaxActiveRequests, c.set.Region, c.set.Name)),
		})
		w.expect(fmt.Sprintf("request %s/%s to be cancelled", r.group.Name, r.request.Name))
		return
	}
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
