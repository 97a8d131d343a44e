package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// holder is a wait that a live request serves.
type holder struct {
	demand.Wait
	request mig.Request
	jobs    []slurm.Job // the jobs that wait for one of the request's nodes
}

// holders returns the requests of the readable regions, each with the first wait that names it: the
// wait of the most important job.
func (s *sight) holders(p plan.Plan) map[string]holder {
	all := map[string]holder{}
	for _, w := range p.Waits {
		key := w.Region + "/" + w.Group + "/" + w.Request
		if _, known := all[key]; known || w.Request == "" || s.snap.Unseen[w.Region] != nil {
			continue
		}
		h := holder{Wait: w}
		for _, r := range s.groups[w.Region+"/"+w.Group].Requests {
			if r.Name == w.Request {
				h.request = r
			}
		}
		for _, j := range s.snap.Jobs {
			if j.State != slurm.JobCompleting && holdsNodes(j.State) && slices.ContainsFunc(h.request.Instances, func(name string) bool { return slices.Contains(j.Nodes, name) }) {
				h.jobs = append(h.jobs, j)
			}
		}
		all[key] = h
	}
	return all
}

func (s *sight) job(id uint32) slurm.Job {
	at := slices.IndexFunc(s.snap.Jobs, func(j slurm.Job) bool { return j.ID == id })
	if at < 0 {
		return slurm.Job{}
	}
	return s.snap.Jobs[at]
}

// yieldsTo reports whether a request has held its place for yield_after and all its jobs are less
// important than the wait's job. A request of a second place yields at once.
func (s *sight) yieldsTo(h holder, w demand.Wait) bool {
	held := s.cfg.Options.YieldAfter
	if s.isFurther(h) {
		return h.Region == w.Region
	}
	return held > 0 && s.snap.Now.Sub(h.request.Created) >= held && h.Region == w.Region && h.Job != 0 && h.request.State == mig.Accepted &&
		!slices.ContainsFunc(h.request.Instances, func(name string) bool { return len(s.instances[name]) > 0 }) &&
		(w.Job == 0 || !slices.ContainsFunc(h.jobs, func(j slurm.Job) bool { return j.Priority >= s.job(w.Job).Priority }))
}

// isFurther reports whether the request is behind another door than the first one of its job.
func (s *sight) isFurther(h holder) bool {
	var doors []slurm.Reservation
	for _, r := range s.snap.Reservations {
		if hold := memo.ParseHold(cluster, r.Name); hold.Kind == memo.DoorHold && hold.Address == s.job(h.Job).Address() {
			doors = append(doors, r)
		}
	}
	slices.SortFunc(doors, func(a, b slurm.Reservation) int { return strings.Compare(a.Name, b.Name) })
	return len(doors) > 1 && !slices.Contains(doors[0].Nodes, h.request.Instances[0])
}

// waitsForTurn reports whether a wait is for a place, and whether it is for one of its user's
// places.
func waitsForTurn(w demand.Wait) (waits, ofUser bool) {
	text, waits := strings.CutPrefix(w.Obstacle, memo.Waiting+"for its turn: ")
	return waits, strings.HasPrefix(text, "its user")
}

// freesPlacesForTheImportant: no job waits for its turn while a less important job has held a place
// for yield_after, unless a place becomes free in this pass or the job with the place leaves it.
func freesPlacesForTheImportant(s *sight, p plan.Plan) (wrong []string) {
	frees, leaves := map[string]bool{}, map[uint32]bool{}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.CancelRequest:
			frees[a.Group.Region] = true
		case action.ReturnNodes:
			for _, id := range append(a.Others, a.Job) {
				leaves[id] = true
			}
		}
	}
	for _, w := range p.Waits {
		waits, ofUser := waitsForTurn(w)
		if !waits || frees[w.Region] {
			continue
		}
		for key, h := range s.holders(p) {
			leaving := slices.ContainsFunc(h.jobs, func(j slurm.Job) bool { return leaves[j.ID] || j.HetID != 0 })
			if s.yieldsTo(h, w) && !leaving && (!ofUser || s.job(h.Job).User == s.job(w.Job).User) {
				wrong = append(wrong, fmt.Sprintf("job %d waits for its turn while %s has a place for job %d since %s", w.Job, key, h.Job, h.request.Created))
			}
		}
	}
	return wrong
}

// freesOnlyWhatWasHeldLong: a request yields its place only to a more important job that waits for
// its turn, after yield_after, once per pass and region, and never while the request creates
// machines. The job's owner is notified first.
func freesOnlyWhatWasHeldLong(s *sight, p plan.Plan) (wrong []string) {
	told, yields := map[uint32]bool{}, map[string]int{}
	for _, a := range p.Actions {
		if c, ok := a.(action.CommentJob); ok && strings.Contains(c.Text, memo.Yielded) {
			told[c.Job] = c.Before != ""
		}
		c, ok := a.(action.CancelRequest)
		if !ok || c.Because() != "a more important request waits for its place" {
			continue
		}
		yields[c.Group.Region]++
		h := s.holders(p)[c.Group.String()+"/"+c.Request]
		if yields[c.Group.Region] > 1 || !slices.ContainsFunc(p.Waits, func(w demand.Wait) bool { waits, _ := waitsForTurn(w); return waits && s.yieldsTo(h, w) }) {
			wrong = append(wrong, fmt.Sprintf("%s, made %s for job %d", c, h.request.Created, h.Job))
		}
		for _, j := range h.jobs {
			if j.State == slurm.JobConfiguring && !told[j.ID] && !memo.HasYielded(s.snap.Told[j.ID]) {
				wrong = append(wrong, fmt.Sprintf("%s before job %d is told", c, j.ID))
			}
		}
	}
	return wrong
}

// keepsToMaxActivePerUser: no request exceeds the limit of its user in its region. A request for jobs
// of several users, which slurmflex never makes, counts for none of them.
func keepsToMaxActivePerUser(s *sight, p plan.Plan) (wrong []string) {
	most := s.cfg.Options.MaxActivePerUser
	if most == 0 {
		return nil
	}
	active, holders := map[[2]string]int{}, s.holders(p)
	for id, g := range s.groups {
		for _, r := range g.Live() {
			user := s.job(g.Stamp.Job).User
			for _, j := range s.snap.Jobs {
				if g.Stamp.Shared() && g.Stamp.IsFor(j.ID, j.Array(), j.User) {
					user = j.User
				}
			}
			if h, serves := holders[id+"/"+r.Name]; serves {
				user = s.job(h.Job).User
				if slices.ContainsFunc(h.jobs, func(j slurm.Job) bool { return j.User != user }) {
					continue
				}
			}
			active[[2]string{g.Region, user}]++
		}
	}
	for _, a := range p.Actions {
		a, ok := a.(action.CreateRequest)
		if !ok {
			continue
		}
		at := slices.IndexFunc(p.Waits, func(w demand.Wait) bool { return slices.Contains(w.Nodes, a.Spec.Instances[0]) })
		if at < 0 || p.Waits[at].Job == 0 {
			continue
		}
		user := s.job(p.Waits[at].Job).User
		active[[2]string{a.Group.Region, user}]++
		if n := active[[2]string{a.Group.Region, user}]; n > most && user != "" {
			wrong = append(wrong, fmt.Sprintf("active request no. %d of %s: %s", n, user, a))
		}
	}
	return wrong
}

// TestEveryPlanKeepsRulesIfPlacesAreScarce draws worlds where jobs of one or two nodes wait, some
// of them with requests.
func TestEveryPlanKeepsRulesIfPlacesAreScarce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := emptyWorld(drawConfig(t))
		for _, set := range w.flexSets() {
			set.Flex.ProvisionTimeout = 0
			if !set.Flex.UseBulkInsert {
				w.drawQueue(t, set)
			}
		}
		w.drawUsers(t)
		breaksNoRule(t, w)
	})
}

// drawQueue makes jobs wait for the nodeset's dynamic nodes.
func (w *world) drawQueue(t *rapid.T, set *config.NodeSet) {
	names := w.nodesOf(set)[set.Static:]
	for len(names) > 0 {
		n := min(1+upTo(t, "nodes - 1", 1), len(names))
		if set.Flex.Provisioning == config.NodeByNode {
			n = 1
		}
		id, nodes := uint32(len(w.jobs)+1), names[:n]
		names = names[n:]
		for _, name := range nodes {
			w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")}
		}
		w.jobs[id] = slurm.Job{
			ID: id, ArrayID: id, Nodes: nodes, State: slurm.JobConfiguring, Partition: "train", Start: noon.Add(-6 * time.Hour),
			Limit: slurm.ParseLimit("12:00:00"), Priority: uint64(upTo(t, "priority", 3)),
		}
		state := pick(t, "request", "", "", mig.Accepted, mig.Accepted, mig.Creating)
		if state == "" {
			continue
		}
		g := mig.Group{
			Name: memo.JobGroup(cluster, set.Name, id, 0), Region: set.Region, Created: noon.Add(-6 * time.Hour),
			Stamp: mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: set.Name, Job: id},
		}
		if n == 1 && set.Flex.Provisioning == config.NodeByNode {
			_, i, _ := w.cfg.Find(nodes[0])
			g.Name, g.Stamp.Node = memo.NodeGroup(cluster, set.Name, i), nodes[0]
		}
		g.Requests = []mig.Request{{Name: "a1", State: state, Instances: nodes, Duration: mig.MaxDuration, Created: drawAge(t)}}
		w.groups[g.Region+"/"+g.Name] = g
	}
}
