package notify

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/plan/sweeps"
	"slurmflex/slurm"
)

// fact is what a pass has found. It becomes an event when it is new.
type fact struct {
	kind   string
	job    *slurm.Job // nil: the fact is about a nodeset
	set    *config.NodeSet
	nodes  []string
	text   string // empty: the kind and the nodes say it
	key    key    // identifies the fact; a loss has one for each of its nodes
	region string // whose machines show it; empty: Slurm shows it
	recurs bool   // it may end and happen again with the same keys
}

// key identifies a fact.
type key struct {
	kind  string
	job   uint32
	about string // the nodeset, or the lost node
	at    int64  // Unix time; distinguishes the runs of a job
}

// soon is how long before a lease ends the event is due, unless lease_end_warning is longer.
const soon = 10 * time.Minute

// find passes on each fact that a pass has found.
func find(s *scene.Scene, p plan.Plan, found func(fact)) {
	for i := range s.Seen.Jobs {
		if j := &s.Seen.Jobs[i]; j.State.HoldsNodes() && j.State != slurm.JobCompleting {
			findOn(s, j, found)
		}
	}
	for _, d := range s.Doors() {
		if d.Taker != nil { // it waits PENDING
			findOn(s, d.Taker, found)
		}
	}
	for _, j := range scene.HeldJobs(s) {
		f := about(j, config.JobHeld, "is held: "+memo.Text(s.Seen.Told[j.ID]), time.Time{})
		f.recurs = true
		found(f)
	}
	for _, problem := range p.Problems {
		if set := s.Config.FlexSet(problem.About); problem.Key == config.NodeSetBlocked && set != nil {
			k := key{kind: problem.Key, about: set.Name}
			found(fact{kind: problem.Key, set: set, text: problem.Text, key: k, region: set.Region, recurs: true})
		}
	}
	findLeaseEnds(s, found)
	findLost(s, p.Losses, found)
}

// findOn finds facts about a job's nodes.
func findOn(s *scene.Scene, j *slurm.Job, found func(fact)) {
	if at := lastMade(s, j); !at.IsZero() {
		found(about(j, config.MachinesGranted, "", at).on(s, j.Nodes...))
	}
	if f := about(j, config.JobRunning, "", j.Start).on(s, j.Nodes...); j.State == slurm.JobRunning && !j.Start.IsZero() && f.set != nil {
		f.region = ""
		found(f)
	}
}

// about returns a fact about a job.
func about(j *slurm.Job, kind, text string, at time.Time) fact {
	return fact{kind: kind, job: j, text: text, key: key{kind: kind, job: j.ID, at: at.Unix()}}
}

// on adds nodes to a fact. The first flex node determines its nodeset and region.
func (f fact) on(s *scene.Scene, nodes ...string) fact {
	f.nodes = nodes
	for _, name := range nodes {
		if set := s.Config.FlexSetOf(name); set != nil {
			f.set, f.region = set, set.Region
			break
		}
	}
	return f
}

// lastMade returns when the last of the machines was created that were created for the job. It is
// zero if there are none, or if a flex node of the job has no machine.
func lastMade(s *scene.Scene, j *slurm.Job) (last time.Time) {
	for _, name := range j.Nodes {
		m := s.Node(name)
		if m == nil {
			continue
		}
		if !s.HasMachine(name) {
			return time.Time{}
		}
		for _, in := range m.Machines {
			forNode := !in.Origin().ForJobs() && !j.State.AtWork() && !in.Created.Before(j.Start)
			if s.Ours(in) && (scene.IsFor(in.Origin(), j) || forNode) {
				last = scene.Later(last, in.Created)
			}
		}
	}
	return last
}

// findLeaseEnds finds running jobs with nodes that end soon, before the job does.
func findLeaseEnds(s *scene.Scene, found func(fact)) {
	for _, e := range sweeps.LeaseEnds(s) {
		left := e.At.Sub(s.Seen.Now)
		if left > 0 && left <= max(soon, e.Flex.LeaseEndWarning) && s.Seen.Skew <= scene.MaxSkew {
			f := about(e.Job, config.LeaseEnds, e.String(), e.At).on(s, e.Node)
			f.nodes = e.Job.Nodes
			found(f)
		}
	}
}

// findLost finds jobs that have certainly lost machines. A later run of the job may lose the same
// node again.
func findLost(s *scene.Scene, losses []scene.Loss, found func(fact)) {
	for _, l := range losses {
		for _, id := range l.Jobs {
			if j := s.Job(id); l.Certain && j != nil {
				found(about(j, config.MachineLost, l.String(), j.Start).on(s, l.Nodes...))
			}
		}
	}
}
