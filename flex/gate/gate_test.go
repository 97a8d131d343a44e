package gate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// waiting is job 7 on two nodes since noon.
func waiting() Waiting {
	return Waiting{Job: 7, Nodes: []string{"alpha-a3-0", "alpha-a3-1"}, Since: noon, Near: true}
}

// nodes are those of job 7 in these states, and one of nobody.
func nodes(states ...string) []slurm.Node {
	all := []slurm.Node{{Name: "alpha-a3-9", State: slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")}}
	for i, state := range states {
		all = append(all, slurm.Node{Name: []string{"alpha-a3-0", "alpha-a3-1"}[i], State: slurm.ParseState(state)})
	}
	return all
}

// The states that real slurmctlds show.
const (
	down    = "ALLOCATED+CLOUD+POWERED_DOWN+POWER_UP"
	booting = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
	up      = "ALLOCATED+CLOUD"
	marked  = "ALLOCATED+CLOUD+POWER_DOWN"
)

func TestAGateIsHeldByAPass(t *testing.T) {
	snapshot := func(change ...func(*scene.Snapshot)) scene.Snapshot {
		snap := scene.Snapshot{
			Begun: noon.Add(time.Second), Nodes: nodes(up, booting),
			Jobs:      []slurm.Job{{ID: 6, State: slurm.JobRunning}, {ID: 7, State: slurm.JobConfiguring}},
			Instances: []mig.Instance{{Name: "alpha-a3-1"}},
		}
		for _, c := range change {
			c(&snap)
		}
		return snap
	}
	job := func(state slurm.JobState) func(*scene.Snapshot) {
		return func(s *scene.Snapshot) { s.Jobs[1].State = state }
	}
	are := func(states ...string) func(*scene.Snapshot) {
		return func(s *scene.Snapshot) { s.Nodes = nodes(states...) }
	}
	for name, c := range map[string]struct {
		snap    scene.Snapshot
		actions []plan.Action
		want    Outcome
		near    bool
	}{
		"while a node boots": {snap: snapshot(), near: true},
		"while a node has no machine, and its nodes are not looked at then": {snap: snapshot(func(s *scene.Snapshot) { s.Instances = nil })},
		"while a node's machine is the last one, that leaves":               {snap: snapshot(func(s *scene.Snapshot) { s.Instances[0].Status = "STOPPING" })},
		"while a node is yet to power up":                                   {snap: snapshot(are(down, down))},
		"until all nodes are up":                                            {snap: snapshot(are(up, up)), want: Up, near: true},
		"and not by a mark to power down after the job":                     {snap: snapshot(are(marked, up)), want: Up, near: true},
		"and not by nodes that are not shown":                               {snap: snapshot(are()), want: Up, near: true},
		"even if what was read is older, and shows no job": {snap: snapshot(func(s *scene.Snapshot) {
			s.Begun, s.Jobs = noon, nil
		}), near: true},
		"until the job is requeued":          {snap: snapshot(job(slurm.JobPending)), want: Left, near: true},
		"until the job runs":                 {snap: snapshot(job(slurm.JobRunning)), want: Left, near: true},
		"until the job ends":                 {snap: snapshot(job(slurm.JobCancelled)), want: Left, near: true},
		"until there is no such job":         {snap: snapshot(func(s *scene.Snapshot) { s.Jobs = s.Jobs[:1] }), want: Left, near: true},
		"until its job is returned to Slurm": {snap: snapshot(), actions: []plan.Action{plan.ReturnNodes{OfJob: plan.OfJob{Job: 7}}}, want: Left, near: true},
		"until its nodes are, for another":   {snap: snapshot(), actions: []plan.Action{plan.ReturnNodes{Nodes: []string{"alpha-a3-1"}}}, want: Left, near: true},
		"until a node is taken by force":     {snap: snapshot(), actions: []plan.Action{plan.SetNodes{State: "power_down_force", Nodes: []string{"alpha-a3-1"}}}, want: Left, near: true},
		"while others lose theirs": {snap: snapshot(), near: true, actions: []plan.Action{
			plan.ReturnNodes{OfJob: plan.OfJob{Job: 8}, Nodes: []string{"alpha-a3-9"}},
			plan.SetNodes{State: "power_down_force", Nodes: []string{"alpha-a3-9"}},
			plan.SetNodes{State: "power_down", Nodes: []string{"alpha-a3-0", "alpha-a3-1"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, why := judge(waiting(), scene.Of(alpha(), c.snap), c.actions)
			assert.Equal(t, c.want, why)
			assert.Equal(t, c.near, w.Near)
		})
	}
}

// The script of a heterogeneous job is in its first component, and its time counts for
// each component from the end of its own gate.
func TestTheGatesOfAHeterogeneousJobOpenTogether(t *testing.T) {
	snap := scene.Snapshot{
		Begun: noon.Add(time.Second), Nodes: nodes(up, booting), Instances: []mig.Instance{{Name: "alpha-a3-1"}},
		Jobs: []slurm.Job{
			{ID: 7, HetID: 7, State: slurm.JobConfiguring, Nodes: []string{"alpha-a3-0"}},
			{ID: 8, HetID: 7, State: slurm.JobConfiguring, Nodes: []string{"alpha-a3-1"}},
		},
	}
	first := Waiting{Job: 7, Het: 7, Nodes: []string{"alpha-a3-0"}, Since: noon}
	first, why := judge(first, scene.Of(alpha(), snap), nil)
	assert.Empty(t, why)
	assert.True(t, first.Near)
	_, why = look(first, nodes(up, up))
	assert.Equal(t, Up, why)
}

func TestAGateHadToWaitIfANodeWasSeenThatWasNotUp(t *testing.T) {
	w, why := look(waiting(), nodes(up, booting))
	assert.Empty(t, why)
	assert.True(t, w.Cold)
	w, why = look(w, nodes(up, up))
	assert.Equal(t, Up, why)
	assert.True(t, w.Cold)
	w, _ = look(waiting(), nodes(up, up))
	assert.False(t, w.Cold)
}
