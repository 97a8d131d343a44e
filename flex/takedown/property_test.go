package takedown

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// anyWorld generates a world with the cluster's own and foreign things in any state, some of them
// unreadable.
func anyWorld(t *rapid.T) *scenetest.World {
	s := atRest(rapid.Bool().Draw(t, "mixed"))
	for i := range s.Snap.Partitions {
		s.Snap.Partitions[i].Begins = rapid.Bool().Draw(t, "begins")
	}
	states := []string{off, off, "IDLE+CLOUD", "IDLE+CLOUD+POWERING_UP", "IDLE+CLOUD+POWERING_DOWN", "IDLE+CLOUD+DRAIN", "DOWN+CLOUD+NOT_RESPONDING", "IDLE+CLOUD+POWERED_DOWN+DRAIN", "SLEEPING", "ALLOCATED+CLOUD"}
	for _, name := range flexNodes {
		drain(s, rapid.SampledFrom(states).Draw(t, name), name)
	}
	free := slices.Clone(flexNodes)
	for id := range uint32(rapid.IntRange(0, 3).Draw(t, "jobs")) {
		n := rapid.IntRange(1, 2).Draw(t, "nodes")
		state := rapid.SampledFrom([]slurm.JobState{slurm.JobRunning, slurm.JobConfiguring, slurm.JobSuspended}).Draw(t, "job state")
		give(s, id+1, state, rapid.Bool().Draw(t, "requeues"), free[:n]...)
		free = free[n:]
		if rapid.IntRange(0, 5).Draw(t, "record") == 0 {
			delete(s.Snap.Records, id+1)
		}
	}
	clusters := []string{"alpha", "alpha", "alpha", "alpha-a3", "beta", ""}
	for i := range rapid.IntRange(0, 5).Draw(t, "groups") {
		stamp := mig.Stamp{Version: 1, Cluster: rapid.SampledFrom(clusters).Draw(t, "cluster"), NodeSet: rapid.SampledFrom([]string{"a3", "g2", "st"}).Draw(t, "nodeset"), Job: uint32(i)}
		if stamp.Cluster == "" {
			stamp = mig.Stamp{}
		}
		states := []mig.RequestState{mig.Accepted, mig.Succeeded, mig.Failed, mig.Cancelled, mig.Creating, "MELTED"}
		node := flexNodes[i]
		g := made(s, stamp, fmt.Sprintf("alpha-group-%d", i), rapid.SampledFrom(states).Draw(t, "request"), node)
		g.Stamp = stamp
		g.Stamp.Version += rapid.IntRange(0, 4).Draw(t, "newer") / 4
		g.Unread = rapid.SampledFrom([]string{"", "", "", "it is odd"}).Draw(t, "unread group")
		if rapid.Bool().Draw(t, "policy") {
			s.Snap.Policies = append(s.Snap.Policies, mig.Policy{Name: g.Name, Region: us, Stamp: stamp})
		}
	}
	for i, name := range flexNodes[5:] {
		s.Snap.Instances = append(s.Snap.Instances, mig.Instance{
			Name: name, Region: us, Status: "RUNNING",
			Stamp: mig.Stamp{Version: 1, Cluster: rapid.SampledFrom(clusters).Draw(t, fmt.Sprint("owner ", i)), NodeSet: "g2"},
		})
	}
	for i := range s.Snap.Instances {
		s.Snap.Instances[i].Status = rapid.SampledFrom([]string{"RUNNING", "STAGING", "TERMINATED"}).Draw(t, "status")
		if rapid.IntRange(0, 5).Draw(t, "unread instance") == 0 {
			s.Snap.Instances[i].Unread = "it is odd"
		}
	}
	for _, name := range []string{"slurmflex-alpha-60", "slurmflex-alpha.job-1", "slurmflex-alpha.salvage-2", "slurmflex-alpha-b-60", "maintenance"} {
		s.Snap.Reservations = append(s.Snap.Reservations, slurm.Reservation{Name: name, Nodes: rapid.SliceOfNDistinct(rapid.SampledFrom(flexNodes), 1, 3, rapid.ID).Draw(t, "reserved")})
		if i := rapid.IntRange(-2, 3).Draw(t, "in it"); i >= 0 && i < len(s.Snap.Jobs) {
			s.Snap.Jobs[i].Reservation = name
		}
	}
	if rapid.Bool().Draw(t, "unseen") {
		s.Snap.Unseen[rapid.SampledFrom([]string{us, europe}).Draw(t, "region")] = errors.New("503")
	}
	s.Snap.Unread = rapid.SampledFrom([]slurm.Unread{
		nil,
		{{Kind: slurm.JobRow, Name: "9"}},
		{{Kind: slurm.JobRow, NodesKnown: true, Nodes: flexNodes[:2]}},
		{{Kind: slurm.PartitionRow, Name: "odd"}},
		{{Kind: slurm.NodeRow}},
	}).Draw(t, "unread rows")
	return s
}

func TestTakedownChangesOnlyOwnAndUnderstoodThings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyWorld(t)
		o := Options{
			NodeSet: rapid.SampledFrom([]string{"", "", "a3", "g2"}).Draw(t, "only"),
			Jobs:    rapid.SampledFrom([]Jobs{Requeue, Drain, Now}).Draw(t, "jobs are"),
			NoSlurm: rapid.IntRange(0, 3).Draw(t, "without slurmctld") == 0,
		}
		for _, step := range Compute(s.Scene(), o).Steps {
			touchesOnlyOurs(t, s.Config, s.Snap, o, step)
		}
	})
}

func touchesOnlyOurs(t require.TestingT, cfg *config.Config, s scene.Snapshot, o Options, step action.Stage) {
	isOurs := func(stamp mig.Stamp, region string) bool {
		return stamp.Cluster == "alpha" && !stamp.Newer() && (o.NodeSet == "" || stamp.NodeSet == o.NodeSet) && s.Unseen[region] == nil
	}
	isOurNode := func(name string) bool {
		set := cfg.FlexSetOf(name)
		return !o.NoSlurm && set != nil && (o.NodeSet == "" || set.Name == o.NodeSet)
	}
	about, isFree := action.About(step.Action), true
	for _, g := range s.Groups {
		_, isPolicy := step.Action.(action.DeletePolicy)
		require.True(t, g.Name != about.Group || isPolicy || isOurs(g.Stamp, g.Region) && g.Unread == "", "%v", step)
		request, cancels := step.Action.(action.CancelRequest)
		if cancels && request.Group == g.ID() {
			about.Nodes = g.Requests[0].Instances
		}
	}
	switch a := step.Action.(type) {
	case action.ClosePartition:
		i := slices.IndexFunc(s.Partitions, func(p slurm.Partition) bool { return p.Name == a.Name })
		require.False(t, slices.ContainsFunc(s.Partitions[i].Nodes, func(name string) bool { return !isOurNode(name) }), "%v", step)
	case action.EndJob, action.TellJob:
		i := slices.IndexFunc(s.Jobs, func(j slurm.Job) bool { return j.ID == about.Job })
		require.True(t, slices.ContainsFunc(s.Jobs[i].Nodes, isOurNode), "%v", step)
		if end, ok := a.(action.EndJob); ok {
			rec, known := s.Records[end.Job]
			require.True(t, known && (end.Then == action.Requeue) == rec.Requeues() && (rec.Requeues() || o.Jobs == Now), "%v", step)
			require.False(t, o.Jobs == Drain && s.Jobs[i].State.AtWork(), "%v", step)
		}
	case action.SetNodes:
		require.False(t, slices.ContainsFunc(a.Nodes, func(name string) bool { return !isOurNode(name) }), "%v", step)
		isFree = a.State != "drain"
	case action.DeleteInstances:
		for _, in := range a.Instances {
			require.True(t, in.GroupID() == a.Group && in.Unread == "", "%v", step)
		}
	case action.DeleteVMs:
		for _, in := range a.Instances {
			require.True(t, in.Group == "" && isOurs(in.Stamp, in.Region) && in.Unread == "", "%v", step)
		}
	case action.DeleteGroup:
		require.False(t, step.Once == "" && slices.ContainsFunc(s.Instances, func(in mig.Instance) bool { return in.GroupID() == a.Group }), "%v", step)
	case action.DeletePolicy:
		i := slices.IndexFunc(s.Policies, func(p mig.Policy) bool { return p.Name == a.Group.Name })
		require.True(t, isOurs(s.Policies[i].Stamp, a.Group.Region), "%v", step)
	case action.CancelRequest:
	case action.DeleteReservation:
		require.True(t, !o.NoSlurm && memo.ParseHold("alpha", a.Name).Kind != memo.NoHold, "%v", step)
		isFree = false
	case action.SetReservation:
		require.True(t, !o.NoSlurm && o.NodeSet != "" && memo.ParseHold("alpha", a.Name).Kind != memo.NoHold, "%v", step)
		isFree = false
	default:
		require.Fail(t, "an action that no takedown has", "%T", a)
	}
	for _, j := range s.Jobs {
		takes := slices.ContainsFunc(j.Nodes, func(name string) bool { return slices.Contains(about.Nodes, name) })
		require.False(t, isFree && step.Once == "" && !o.NoSlurm && takes, "%v, which job %d has", step, j.ID)
	}
}
