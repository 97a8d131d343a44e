package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// The smallest forms of failures that random worlds have found.

// where returns a world with nodes in one state. A job has the nodes if its state is not empty.
func where(t *testing.T, state string, job slurm.JobState, nodes ...string) *world {
	t.Helper()
	w := emptyWorld(houseConfig(t))
	for _, name := range nodes {
		w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState(state)}
	}
	if job != "" {
		w.jobs[1] = slurm.Job{ID: 1, State: job, Partition: "train", Nodes: nodes, Limit: slurm.ParseLimit("12:00:00")}
	}
	return w
}

// withGroup adds a group of ours, for job 1 or for a node, with its requests.
func (w *world) withGroup(name, region string, stamp mig.Stamp, requests ...mig.Request) *world {
	stamp.Version, stamp.Cluster = mig.StampVersion, cluster
	w.groups[region+"/"+name] = mig.Group{Name: name, Region: region, Stamp: stamp, Created: noon.Add(-time.Hour), Requests: requests}
	return w
}

// withInstance adds an instance that has run for an hour.
func (w *world) withInstance(name, group string) *world {
	w.instances[america+"-a/"+name] = mig.Instance{
		Name: name, Zone: america + "-a", Region: america, Group: group, Status: "RUNNING", Model: mig.FlexStart, Created: noon.Add(-time.Hour),
	}
	return w
}

func asksFor(state mig.RequestState, nodes ...string) mig.Request {
	return mig.Request{Name: "a1", State: state, Instances: nodes, Duration: 12 * time.Hour, Created: noon.Add(-5 * time.Second)}
}

func TestRulesHoldInFoundWorlds(t *testing.T) {
	const powersUp = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
	forJob1 := mig.Stamp{NodeSet: "a3", Job: 1}
	changed := where(t, powersUp, slurm.JobRunning, "alpha-a3-0")
	template := scenetest.FlexTemplate("a4-highgpu-8g")
	template.Model = "STANDARD"
	changed.Templates["projects/demo/global/instanceTemplates/a3"] = template
	refused := where(t, powersUp, slurm.JobConfiguring, "alpha-one-2", "alpha-one-3")
	refused.Refused["alpha-one-node-3"] = scene.Refusal{Cause: mig.CauseConfig, Message: "no", At: noon.Add(-time.Second), Times: 1}
	for name, w := range map[string]*world{
		"a job runs on a node that the configuration has no more": where(t, "ALLOCATED+CLOUD", slurm.JobRunning, "alpha-a3-6").
			withGroup("alpha-a3-job-1", america, forJob1).withInstance("alpha-a3-6", "alpha-a3-job-1"),
		"a job has started since the nodes were read, just before its boot would have failed": where(t, powersUp, slurm.JobRunning, "alpha-a3-0").
			withGroup("alpha-a3-job-1", america, forJob1).withInstance("alpha-a3-0", "alpha-a3-job-1"),
		"a job has started since the nodes were read, and its template was changed": changed,
		"a job has started on a node that showed as powered down": where(t, usual[0], slurm.JobRunning, "alpha-a3-0").
			withGroup("alpha-a3-job-1", america, forJob1, asksFor(mig.Accepted, "alpha-a3-0")),
		"a node of a job is refused for good after another has been asked for": refused,
	} {
		t.Run(name, func(t *testing.T) {
			snap := w.snapshot()
			assert.Empty(t, broken(sightOf(w.cfg, snap), plan.Compute(scene.Of(w.cfg, snap))))
		})
	}
}

// A machine stays where it is when its nodeset moves to another region.
func TestJobEndsInTimeWhereItsMachineIsInAnotherUnreadRegion(t *testing.T) {
	w := where(t, "ALLOCATED+CLOUD", slurm.JobRunning, "alpha-a3-0").withGroup("alpha-a3-job-1", europe, mig.Stamp{NodeSet: "a3", Job: 1})
	w.Unseen[europe], w.recalled = errors.New("503"), []string{europe}
	w.instances[europe+"-a/alpha-a3-0"] = mig.Instance{
		Name: "alpha-a3-0", Zone: europe + "-a", Region: europe, Group: "alpha-a3-job-1", Status: "RUNNING", Model: mig.FlexStart,
		Created: noon.Add(-time.Hour), Terminates: noon.Add(2 * time.Minute),
	}
	w.Reservations = []slurm.Reservation{{Name: memo.Reservation(cluster, noon.Add(2*time.Minute)), Nodes: []string{"alpha-a3-0"}, Start: noon.Add(2 * time.Minute)}}
	j := w.jobs[1]
	j.Limit = slurm.Limit{Kind: slurm.Unlimited}
	w.jobs[1] = j
	for _, set := range w.flexSets() {
		set.Flex.OnLeaseEnd = config.RequeueFirst
	}
	snap := w.snapshot()
	p := plan.Compute(scene.Of(w.cfg, snap))
	require.True(t, slices.ContainsFunc(p.Actions, func(a action.Action) bool { _, ends := a.(action.RequeueJob); return ends }), "%v", p.Actions)
	assert.Empty(t, endsJobsInTime(sightOf(w.cfg, snap), p))
}

func TestPlanDoesNotDependOnOrderInFoundWorlds(t *testing.T) {
	for name, c := range map[string]struct {
		given *world
		turn  func(*scene.Snapshot)
	}{
		"a request names its instances in another order": {
			where(t, usual[0], "", "alpha-a3-0", "alpha-a3-1").
				withGroup("alpha-a3-job-1", america, mig.Stamp{NodeSet: "a3", Job: 1}, asksFor(mig.Accepted, "alpha-a3-0", "alpha-a3-1")),
			func(s *scene.Snapshot) { slices.Reverse(s.Groups[0].Requests[0].Instances) },
		},
		"two regions have a group of one name": {
			where(t, usual[0], "", "alpha-a3-0", "alpha-a3-1").
				withGroup("alpha-a3-job-1", america, mig.Stamp{NodeSet: "a3", Job: 1}, asksFor(mig.Accepted, "alpha-a3-0")).
				withGroup("alpha-a3-job-1", europe, mig.Stamp{NodeSet: "a3", Job: 1}, asksFor(mig.Accepted, "alpha-a3-1")),
			func(*scene.Snapshot) {},
		},
		"the lease of a node that is gone has ended twice": {
			func() *world {
				w := where(t, "DOWN+CLOUD+NOT_RESPONDING", "", "alpha-a3-0")
				for i := range 2 {
					w.Reservations = append(w.Reservations, slurm.Reservation{
						Name:  fmt.Sprintf("slurmflex-alpha-%d", noon.Add(-time.Duration(i+1)*time.Hour).Unix()),
						Nodes: []string{"alpha-a3-0"},
					})
				}
				return w
			}(),
			func(s *scene.Snapshot) { slices.Reverse(s.Reservations) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := plan.Compute(scene.Of(c.given.cfg, c.given.snapshot()))
			require.NotEmpty(t, want.Actions)
			snap := c.given.snapshot()
			c.turn(&snap)
			for range 20 {
				require.Equal(t, want, plan.Compute(scene.Of(c.given.cfg, snap)))
			}
		})
	}
}

// The old group was created for a job that has ended, and no pass has deleted the group yet.
func TestNodePoweredUpByHandGetsGroupBesideOldOne(t *testing.T) {
	for _, state := range []string{"IDLE+CLOUD", "IDLE+CLOUD+DRAIN"} {
		w := where(t, state+"+NOT_RESPONDING+POWERING_UP", "", "alpha-one-2").
			withGroup("alpha-one-node-2", europe, mig.Stamp{NodeSet: "one", Job: 9, Node: "alpha-one-2"})
		var did []string
		for _, a := range plan.Compute(scene.Of(w.cfg, w.snapshot())).Actions {
			did = append(did, a.String())
		}
		assert.Equal(t, []string{
			"create group alpha-one-node-2-r1 in europe-west4",
			"request 1 node (alpha-one-2) in alpha-one-node-2-r1/a1 for 7-00:00:00",
			"delete group alpha-one-node-2",
		}, did, state)
	}
}
