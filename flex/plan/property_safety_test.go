package plan_test

import (
	"fmt"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// sight is a snapshot indexed by the names that a plan uses.
type sight struct {
	cfg       *config.Config
	snap      scene.Snapshot
	nodes     map[string]slurm.Node
	jobs      map[string][]slurm.Job    // by the nodes in their rows, whatever the job's state
	groups    map[string]mig.Group      // groups of ours, by region/name
	instances map[string][]mig.Instance // by name
	// Live requests of ours, as region/group/request, by the nodes that they name.
	live map[string][]string
}

func sightOf(cfg *config.Config, snap scene.Snapshot) *sight {
	s := &sight{
		cfg: cfg, snap: snap, nodes: map[string]slurm.Node{}, jobs: map[string][]slurm.Job{}, groups: map[string]mig.Group{},
		instances: map[string][]mig.Instance{}, live: map[string][]string{},
	}
	for _, n := range snap.Nodes {
		s.nodes[n.Name] = n
	}
	for _, j := range snap.Jobs {
		for _, n := range j.Nodes {
			s.jobs[n] = append(s.jobs[n], j)
		}
	}
	for _, in := range snap.Instances {
		s.instances[in.Name] = append(s.instances[in.Name], in)
	}
	for _, g := range snap.Groups {
		if g.Stamp.Cluster != cluster {
			continue
		}
		s.groups[g.Region+"/"+g.Name] = g
		for _, r := range g.Live() {
			for _, n := range r.Instances {
				s.live[n] = append(s.live[n], g.Region+"/"+g.Name+"/"+r.Name)
			}
		}
	}
	return s
}

// rule returns what a plan does although no plan may; nil if the plan keeps the rule.
type rule func(s *sight, p plan.Plan) []string

// rules are the rules for every plan.
var rules = map[string]rule{
	"spares what a job runs on":           sparesWhatAJobRunsOn,
	"changes no node twice":               changesNoNodeTwice,
	"leaves unseen regions alone":         leavesUnseenRegions,
	"asks for no node twice":              asksForNoNodeTwice,
	"makes doors where Slurm has planned": makesDoorsWhereSlurmHasPlanned,
	"asks for none without a door":        asksForNothingWithoutADoor,
	"says why":                            saysWhy,
	"comments first, then acts":           commentsFirst,
}

// broken returns all rules that a plan breaks, and how.
func broken(s *sight, p plan.Plan) (all []string) {
	for name, r := range rules {
		for _, wrong := range r(s, p) {
			all = append(all, name+": "+wrong)
		}
	}
	return all
}

// atWork reports whether a job in that state runs on its nodes: it has nodes and does not wait for
// them. An unknown state counts as running.
func atWork(state slurm.JobState) bool {
	switch state {
	case slurm.JobConfiguring, slurm.JobPowerUpNode:
		return false
	}
	return holdsNodes(state)
}

// holdsNodes reports whether a job in that state still has its nodes.
func holdsNodes(state slurm.JobState) bool {
	switch state {
	case slurm.JobPending, slurm.JobCompleted, slurm.JobCancelled, slurm.JobFailed, slurm.JobTimeout, slurm.JobNodeFail,
		slurm.JobPreempted, slurm.JobBootFail, slurm.JobDeadline, slurm.JobOutOfMemory, slurm.JobRequeued,
		slurm.JobRequeueHold, slurm.JobSpecialExit, slurm.JobRevoked:
		return false
	}
	return true
}

// busy reports whether the node has a job with a state that passes the test.
func (s *sight) busy(node string, test func(slurm.JobState) bool) bool {
	return slices.ContainsFunc(s.jobs[node], func(j slurm.Job) bool { return test(j.State) })
}

// changesNoNodeTwice: no change of nodes depends on another change in the plan, so that a refused
// change does not stop any other.
func changesNoNodeTwice(_ *sight, p plan.Plan) (wrong []string) {
	by := map[string]action.Action{}
	for _, a := range p.Actions {
		var nodes []string
		switch a := a.(type) {
		case action.SetNodes:
			nodes = a.Nodes
		case action.ReturnNodes:
			nodes = a.Nodes
		}
		for _, n := range nodes {
			if by[n] != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %s, and %s", n, by[n], action.About(a).Text))
			}
			by[n] = a
		}
	}
	return wrong
}

// sparesWhatAJobRunsOn: no machine of a node that a job runs on is deleted unless the machine has
// stopped, and no such node is powered down or returned.
func sparesWhatAJobRunsOn(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		var nodes []string
		switch a := a.(type) {
		case action.DeleteInstances:
			nodes = s.atWork(running(a.Instances))
		case action.DeleteVMs:
			nodes = s.atWork(running(a.Instances))
		case action.SetNodes:
			if a.State != "" && a.State != "power_down" && a.State != "power_up" && a.State != "down" {
				nodes = s.atWork(a.Nodes)
			}
		case action.ReturnNodes:
			nodes = s.atWork(a.Nodes)
		}
		if len(nodes) > 0 {
			wrong = append(wrong, fmt.Sprintf("a job has %s: %s, because %s", slurm.Fold(nodes), action.About(a).Text, a.Because()))
		}
	}
	return wrong
}

// running returns the names of the instances that have not stopped for good.
func running(instances []mig.Instance) []string {
	return mig.Names(slices.DeleteFunc(slices.Clone(instances), mig.Instance.Stopped))
}

// atWork returns those of the nodes that a job runs on.
func (s *sight) atWork(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !s.works(n) })
}

// works reports whether a job runs on the node. A completing job shows all nodes that it had,
// including those that another job waits for.
func (s *sight) works(node string) bool {
	waits := s.busy(node, func(state slurm.JobState) bool { return holdsNodes(state) && !atWork(state) })
	return s.busy(node, func(state slurm.JobState) bool { return atWork(state) && (state != slurm.JobCompleting || !waits) })
}
