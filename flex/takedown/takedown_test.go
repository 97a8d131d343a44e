package takedown

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// alpha is a cluster whose partition mixed has nodes of others too.
const alpha = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
  static: {partition_nodeset: [st]}
  mixed: {partition_nodeset: [a3, g2, cpu]}
nodeset:
  a3: {node_count_dynamic_max: 4, instance_template: projects/demo/regions/us-central1/instanceTemplates/flex,
    subnetwork: projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a],
    dws_flex: {use_job_duration: true}}
  g2: {node_count_dynamic_max: 2, instance_template: projects/demo/regions/us-central1/instanceTemplates/flex,
    subnetwork: projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a],
    dws_flex: {max_run_duration: 3600}}
  st: {node_count_static: 1, instance_template: projects/demo/regions/europe-west4/instanceTemplates/flex,
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default, zone_policy_allow: [europe-west4-b],
    dws_flex: {max_run_duration: 3600}}
  cpu: {node_count_dynamic_max: 1}
`

const (
	us     = "us-central1"
	europe = "europe-west4"
	off    = "IDLE+CLOUD+POWERED_DOWN"
	busy   = "ALLOCATED+CLOUD"
)

func alphaConfig(t testing.TB) *config.Config {
	t.Helper()
	cfg, err := config.Parse("alpha.yaml", []byte(alpha))
	require.NoError(t, err)
	return cfg
}

// flexNodes are those that are ours.
var flexNodes = []string{"alpha-a3-0", "alpha-a3-1", "alpha-a3-2", "alpha-a3-3", "alpha-g2-0", "alpha-g2-1", "alpha-st-0"}

// atRest is a cluster whose nodes are powered down, and nothing is in the cloud. With
// mixed, partition mixed has the nodes that it has in the configuration, otherwise only
// those of others.
func atRest(mixed bool) scene.Snapshot {
	of := []string{"alpha-cpu-0"}
	if mixed {
		of = append(of, flexNodes[:6]...)
	}
	s := scene.Snapshot{
		Partitions: []slurm.Partition{
			{Name: "mixed", Nodes: of, Begins: true},
			{Name: "static", Nodes: []string{"alpha-st-0"}, Begins: true},
			{Name: "train", Nodes: flexNodes[:4], Begins: true},
		},
		Requeues: map[uint32]bool{}, Unseen: map[string]error{},
	}
	for _, name := range append([]string{"alpha-cpu-0"}, flexNodes...) {
		s.Nodes = append(s.Nodes, slurm.Node{Name: name, State: slurm.ParseState(off)})
	}
	return s
}

// closed is a cluster at rest in which no job can begin.
func closed() scene.Snapshot {
	s := atRest(false)
	for i := range s.Partitions {
		s.Partitions[i].Begins = s.Partitions[i].Name == "mixed"
	}
	set(&s, "IDLE+CLOUD+DRAIN+POWERED_DOWN", "alpha-st-0")
	return s
}

// set puts nodes into a state, with the reason of nodes that are taken down if they drain.
func set(s *scene.Snapshot, state string, nodes ...string) {
	for i := range s.Nodes {
		for _, name := range nodes {
			if n := &s.Nodes[i]; n.Name == name {
				n.State = slurm.ParseState(state)
				if n.State.Has(slurm.Drain) {
					n.Reason = reason
				}
			}
		}
	}
}

// give has a job on nodes, which Slurm requeues or not.
func give(s *scene.Snapshot, id uint32, state slurm.JobState, requeues bool, nodes ...string) {
	s.Jobs = append(s.Jobs, slurm.Job{ID: id, ArrayID: id, State: state, Nodes: nodes})
	s.Requeues[id] = requeues
	set(s, busy, nodes...)
}

// made is a group of a job, with a request for nodes in that state, and its machines if
// that has succeeded.
func made(s *scene.Snapshot, stamp mig.Stamp, name string, state mig.RequestState, nodes ...string) {
	g := mig.Group{Name: name, Region: us, Stamp: stamp, TargetSize: len(nodes), Requests: []mig.Request{{Name: "a1", State: state, Instances: nodes}}}
	s.Groups = append(s.Groups, g)
	if state == mig.Succeeded {
		for _, n := range nodes {
			s.Instances = append(s.Instances, mig.Instance{Name: n, Zone: us + "-a", Region: us, Group: name, Status: "RUNNING"})
		}
	}
}

func stampOf(nodeset string, job uint32) mig.Stamp {
	return mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: nodeset, Job: job}
}

// said are the steps as they are shown.
func said(p Plan) (lines []string) {
	for _, s := range p.Steps {
		lines = append(lines, s.String())
	}
	return lines
}

func TestStepsFollowFromWhatIsThere(t *testing.T) {
	inUse := func(state slurm.JobState, requeues bool, request mig.RequestState) scene.Snapshot {
		s := closed()
		give(&s, 7, state, requeues, "alpha-a3-0")
		made(&s, stampOf("a3", 7), "alpha-a3-job-7", request, "alpha-a3-0")
		return s
	}
	freed := func(request mig.RequestState) scene.Snapshot {
		s := closed()
		made(&s, stampOf("a3", 7), "alpha-a3-job-7", request, "alpha-a3-0")
		return s
	}
	after := []string{
		"set nodes alpha-a3-0 power_down, once their jobs have left",
		"delete instances alpha-a3-0 of alpha-a3-job-7, once job 7 has left alpha-a3-0",
		"delete group alpha-a3-job-7, once job 7 has left alpha-a3-0",
	}
	for name, test := range map[string]struct {
		given scene.Snapshot
		o     Options
		steps []string
		waits []string
		kept  []string
	}{
		"partitions are closed, and static nodes drained so that they stay down": {
			given: atRest(false),
			steps: []string{"close partition static", "close partition train", "set nodes alpha-st-0 drain"},
		},
		"nodes of a partition that has others too are drained": {
			given: atRest(true),
			steps: []string{"close partition static", "close partition train", "set nodes alpha-a3-[0-3],alpha-g2-[0-1],alpha-st-0 drain"},
		},
		"of a nodeset only its partitions are closed": {
			given: atRest(false), o: Options{NodeSet: "a3"},
			steps: []string{"close partition train"},
		},
		"a job is left alone as long as others can begin": {
			given: func() scene.Snapshot {
				s := inUse(slurm.JobRunning, true, mig.Succeeded)
				s.Partitions[2].Begins = true
				return s
			}(),
			steps: append([]string{"close partition train", "requeue job 7, once no job can begin any more"}, after...),
		},
		"a job that Slurm requeues is requeued": {
			given: inUse(slurm.JobRunning, true, mig.Succeeded),
			steps: append([]string{"requeue job 7"}, after...),
		},
		"a job that Slurm would not requeue keeps its nodes, and its owner is notified": {
			given: inUse(slurm.JobRunning, false, mig.Succeeded),
			steps: append([]string{"notify the owner of job 7"}, after...),
			kept:  []string{"job 7 keeps alpha-a3-0, because Slurm would not requeue it; --drain waits for it, --now cancels it"},
		},
		"with --now it is cancelled": {
			given: inUse(slurm.JobRunning, false, mig.Succeeded), o: Options{Jobs: Now},
			steps: append([]string{"cancel job 7"}, after...),
		},
		"with --drain a running job is waited for": {
			given: inUse(slurm.JobRunning, true, mig.Succeeded), o: Options{Jobs: Drain},
			steps: after,
			waits: []string{"job 7 to end on alpha-a3-0"},
		},
		"with --drain a job that waits for machines is requeued": {
			given: inUse(slurm.JobConfiguring, true, mig.Accepted), o: Options{Jobs: Drain},
			steps: []string{
				"requeue job 7", after[0],
				"cancel request alpha-a3-job-7/a1, once job 7 has left alpha-a3-0",
				"delete group alpha-a3-job-7, once job 7 has left alpha-a3-0",
			},
		},
		"nothing is taken from a job whose record could not be read": {
			given: func() scene.Snapshot {
				s := inUse(slurm.JobRunning, true, mig.Succeeded)
				delete(s.Requeues, 7)
				return s
			}(),
			o: Options{Jobs: Now}, steps: after,
			kept: []string{"job 7 keeps alpha-a3-0: it could not be read whether Slurm would requeue it"},
		},
		"a request is cancelled once its nodes are powered down": {
			given: freed(mig.Accepted),
			steps: []string{"cancel request alpha-a3-job-7/a1", "delete group alpha-a3-job-7, once its requests are cancelled"},
		},
		"a request that is being created is waited for": {
			given: freed(mig.Creating),
			steps: []string{"delete group alpha-a3-job-7, once its requests are cancelled"},
			waits: []string{"request alpha-a3-job-7/a1 to be created"},
		},
		"a machine is deleted, and then its group": {
			given: freed(mig.Succeeded),
			steps: []string{"delete instances alpha-a3-0 of alpha-a3-job-7", "delete group alpha-a3-job-7, once its machines are gone"},
		},
		"an empty group is deleted": {
			given: freed(mig.Failed),
			steps: []string{"delete group alpha-a3-job-7"},
		},
		"a node that is up is powered down, and one that no machine has come for by force": {
			given: func() scene.Snapshot {
				s := closed()
				set(&s, "IDLE+CLOUD", "alpha-a3-0")
				set(&s, "IDLE+CLOUD+POWER_DOWN", "alpha-a3-1")
				set(&s, "IDLE+CLOUD+NOT_RESPONDING+POWERING_UP", "alpha-a3-2")
				set(&s, "DOWN+CLOUD+NOT_RESPONDING", "alpha-a3-3")
				return s
			}(),
			steps: []string{"set nodes alpha-a3-0 power_down", "set nodes alpha-a3-[2-3] power_down_force"},
			waits: []string{"node alpha-a3-1 to power down"},
		},
		"a node that lost its drain by being powered down is drained again": {
			given: func() scene.Snapshot {
				s := closed()
				set(&s, "IDLE+CLOUD+POWERING_DOWN", "alpha-st-0")
				return s
			}(),
			steps: []string{"set nodes alpha-st-0 drain"},
		},
		"without slurmctld all goes, no matter what had the nodes": {
			given: func() scene.Snapshot {
				s := freed(mig.Succeeded)
				s.Nodes, s.Partitions = nil, nil
				return s
			}(),
			o:     Options{Jobs: Now, NoSlurm: true},
			steps: []string{"delete instances alpha-a3-0 of alpha-a3-job-7", "delete group alpha-a3-job-7, once its machines are gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(scene.Of(alphaConfig(t), test.given), test.o)
			assert.Equal(t, test.steps, said(p))
			assert.Equal(t, test.waits, p.Waits)
			assert.Equal(t, test.kept, p.Kept)
			assert.False(t, p.Done())
		})
	}
}

func TestWhatIsDownIsDoneAndSaysHowToUndoIt(t *testing.T) {
	p := Compute(scene.Of(alphaConfig(t), closed()), Options{WereUp: map[string]bool{"static": true, "train": true}})
	assert.True(t, p.Done())
	assert.Equal(t, "0 instances, 0 groups, 0 requests, 0 policies, 0 reservations", p.Left.String())
	assert.Equal(t, []string{
		"scontrol update partitionname=static state=up", "scontrol update partitionname=train state=up",
		"scontrol update nodename=alpha-st-0 state=resume",
	}, p.Undo)
	assert.Empty(t, p.UndoEarlier)
}

func TestAPartitionThatWasClosedBeforeIsOpenedOnlyIfAnEarlierDownHasClosedIt(t *testing.T) {
	p := Compute(scene.Of(alphaConfig(t), closed()), Options{WereUp: map[string]bool{"train": true}})
	assert.NotContains(t, p.Undo, "scontrol update partitionname=static state=up")
	assert.Equal(t, []string{"scontrol update partitionname=static state=up"}, p.UndoEarlier)
}

func TestAPartitionThatAnAdminDrainedIsNotOpened(t *testing.T) {
	p := Compute(scene.Of(alphaConfig(t), closed()), Options{WereUp: map[string]bool{"static": false, "train": true}})
	assert.NotContains(t, p.Undo, "scontrol update partitionname=static state=up")
	assert.Empty(t, p.UndoEarlier)
}

func TestWhatCannotBeJudgedStaysAndIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene.Snapshot)
		kept   string
		left   string
	}{
		"a group of a newer slurmflex": {
			func(s *scene.Snapshot) {
				made(s, mig.Stamp{Version: 2, Cluster: "alpha"}, "alpha-a3-job-8", mig.Succeeded, "alpha-a3-1")
			},
			"group alpha-a3-job-8 in us-central1 stays, because a newer slurmflex created it; run that version, or delete it",
			"1 instance, 1 group, 0 requests, 0 policies, 0 reservations",
		},
		"a group that cannot be read": {
			func(s *scene.Snapshot) {
				s.Groups = append(s.Groups, mig.Group{Name: "alpha-a3-job-8", Region: us, Unread: "targetSize: it is missing"})
			},
			"group alpha-a3-job-8 in us-central1 stays, because it cannot be read: targetSize: it is missing",
			"0 instances, 1 group, 0 requests, 0 policies, 0 reservations",
		},
		"a machine that cannot be read": {
			func(s *scene.Snapshot) {
				made(s, stampOf("a3", 8), "alpha-a3-job-8", mig.Succeeded, "alpha-a3-1")
				s.Instances[0].Unread = "status: it is missing"
			},
			"instance alpha-a3-1 in us-central1-a stays, because it cannot be read: status: it is missing",
			"1 instance, 1 group, 0 requests, 0 policies, 0 reservations",
		},
		"a workload policy that cannot be read": {
			func(s *scene.Snapshot) {
				s.Policies = append(s.Policies, mig.Policy{Name: "alpha-a3-job-8", Region: us, Stamp: stampOf("a3", 8), Unread: "description"})
			},
			"workload policy alpha-a3-job-8 in us-central1 stays, because it cannot be read: description",
			"0 instances, 0 groups, 0 requests, 1 policy, 0 reservations",
		},
		"a region that could not be read": {
			func(s *scene.Snapshot) { s.Unseen[us] = errors.New("503") },
			"what there is in us-central1 is not known: 503",
			"0 instances, 0 groups, 0 requests, 0 policies, 0 reservations",
		},
		"workload policies that could not be read": {
			func(s *scene.Snapshot) { s.UnseenPolicies = map[string]error{us: errors.New("503")} },
			"the workload policies in us-central1 are not known: 503",
			"0 instances, 0 groups, 0 requests, 0 policies, 0 reservations",
		},
		"a node in a state that is not understood": {
			func(s *scene.Snapshot) { set(s, "IDLE+SLEEPING", "alpha-a3-1") },
			"node alpha-a3-1: state IDLE+SLEEPING is not understood",
			"0 instances, 0 groups, 0 requests, 0 policies, 0 reservations",
		},
		"a node that an unread job may have": {
			func(s *scene.Snapshot) {
				set(s, "IDLE+CLOUD", "alpha-a3-1")
				s.Unread = slurm.Unread{{Kind: slurm.JobRow, Name: "9", Why: "12 fields"}}
			},
			"job 9 cannot be read: 12 fields",
			"0 instances, 0 groups, 0 requests, 0 policies, 0 reservations",
		},
		"a job's reservation that cannot be read": {
			func(s *scene.Snapshot) {
				s.Unread = slurm.Unread{{Kind: slurm.ReservationRow, Name: "slurmflex-alpha.salvage-7", Why: "it has no Nodes="}}
			},
			"reservation slurmflex-alpha.salvage-7 cannot be read: it has no Nodes=",
			"0 instances, 0 groups, 0 requests, 0 policies, 1 reservation",
		},
		"a reservation that cannot be read": {
			func(s *scene.Snapshot) {
				s.Unread = slurm.Unread{{Kind: slurm.ReservationRow, Name: "slurmflex-alpha-1900000000", Why: "it has no Nodes="}}
			},
			"reservation slurmflex-alpha-1900000000 cannot be read: it has no Nodes=",
			"0 instances, 0 groups, 0 requests, 0 policies, 1 reservation",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := closed()
			test.change(&s)
			p := Compute(scene.Of(alphaConfig(t), s), Options{Jobs: Now})
			assert.Empty(t, p.Due())
			assert.Equal(t, []string{test.kept}, p.Kept)
			assert.Equal(t, test.left, p.Left.String())
			assert.False(t, p.Done())
		})
	}
}

func TestAReservationGoesWithItsNodesAndKeepsThoseOfOtherNodesets(t *testing.T) {
	s := closed()
	set(&s, "IDLE+CLOUD", "alpha-g2-0")
	s.Reservations = []slurm.Reservation{
		{Name: "slurmflex-alpha-1900000000", Nodes: []string{"alpha-a3-0"}, Start: time.Unix(1900000000, 0)},
		{Name: "slurmflex-alpha-1900000060", Nodes: []string{"alpha-a3-0", "alpha-g2-0"}},
		{Name: "slurmflex-alpha-1900000120", Nodes: []string{"alpha-g2-0"}},
		{Name: "slurmflex-alpha.rest-a3", Nodes: []string{"alpha-a3-1"}},
		{Name: "slurmflex-alpha.job-7", Nodes: []string{"alpha-a3-2"}},
		{Name: "slurmflex-alpha.salvage-8", Nodes: []string{"alpha-a3-2", "alpha-a3-3"}},
		{Name: "slurmflex-alpha-b.job-7", Nodes: []string{"alpha-a3-2"}},
		{Name: "slurmflex-alpha-b-1900000000", Nodes: []string{"alpha-a3-0"}},
		{Name: "maintenance", Nodes: []string{"alpha-a3-0"}},
	}
	assert.Equal(t, []string{
		"delete reservation slurmflex-alpha-1900000000", "change reservation slurmflex-alpha-1900000060 to alpha-g2-0",
		"delete reservation slurmflex-alpha.rest-a3", "delete reservation slurmflex-alpha.job-7", "delete reservation slurmflex-alpha.salvage-8",
	}, said(Compute(scene.Of(alphaConfig(t), s), Options{NodeSet: "a3"})))
	p := Compute(scene.Of(alphaConfig(t), s), Options{})
	assert.Contains(t, said(p), "delete reservation slurmflex-alpha-1900000060, once alpha-g2-0 is powered down")
	assert.Equal(t, 6, *p.Left.Reservations)
}

func TestAJobWaitsForNoReservationThatIsDeleted(t *testing.T) {
	s := closed()
	s.Jobs = []slurm.Job{{ID: 6, State: slurm.JobPending}, {ID: 7, State: slurm.JobPending, Reservation: "slurmflex-alpha.salvage-7"}}
	s.Reservations = []slurm.Reservation{{Name: "slurmflex-alpha.job-6", Nodes: []string{"alpha-a3-0"}}, {Name: "slurmflex-alpha.salvage-7", Nodes: []string{"alpha-a3-1"}}}
	p := Compute(scene.Of(alphaConfig(t), s), Options{})
	var freed []uint32
	for _, a := range p.Due() {
		freed = append(freed, a.(plan.DeleteReservation).Job)
	}
	assert.Equal(t, []uint32{0, 7}, freed)
	assert.Equal(t, "0 instances, 0 groups, 0 requests, 0 policies, 2 reservations", p.Left.String())
}

// D4
func TestDownDeletesWhatKilledTrialsHaveLeft(t *testing.T) {
	trial := mig.Stamp{Version: mig.StampVersion, Cluster: "alpha-trial-kxqzv", NodeSet: "a3"}
	s := closed()
	s.Trials = []mig.Group{{
		Name: "alpha-trial-kxqzv-g", Region: us, Stamp: trial, Created: s.Now.Add(-2 * time.Hour), TargetSize: 1,
		Requests: []mig.Request{{Name: "deleted", State: mig.Accepted, Created: s.Now.Add(-2 * time.Hour), Instances: []string{"alpha-trial-kxqzv-0"}}},
	}}
	s.Policies = []mig.Policy{{Name: "alpha-trial-kxqzv-p", Region: us, Stamp: trial, Created: s.Now.Add(-2 * time.Hour)}}
	p := Compute(scene.Of(alphaConfig(t), s), Options{Jobs: Now})
	assert.Equal(t, []string{
		"cancel request alpha-trial-kxqzv-g/deleted", "delete group alpha-trial-kxqzv-g", "delete workload policy alpha-trial-kxqzv-p",
	}, said(p))
	assert.Equal(t, "0 instances, 1 group, 1 request, 1 policy, 0 reservations", p.Left.String())
	assert.Empty(t, said(Compute(scene.Of(alphaConfig(t), s), Options{NodeSet: "g2"})), "another nodeset's trial")

	s.Trials[0].Requests[0].State = mig.Creating
	p = Compute(scene.Of(alphaConfig(t), s), Options{Jobs: Now})
	assert.Equal(t, []string{"the requests of group alpha-trial-kxqzv-g in us-central1 to be created"}, p.Waits)

	s.Policies, s.Trials[0].Requests, s.Trials[0].Created = nil, nil, s.Now.Add(-time.Minute)
	p = Compute(scene.Of(alphaConfig(t), s), Options{Jobs: Now})
	assert.Empty(t, said(p))
	assert.Equal(t, []string{"group alpha-trial-kxqzv-g in us-central1 stays, because its trial may still be running"}, p.Kept)
	assert.False(t, p.Done())
}

func TestEachActionSaysWhatItIsAbout(t *testing.T) {
	of := plan.OfJob{Job: 7}
	for _, test := range []struct {
		action plan.Action
		want   plan.Subject
		queue  string
	}{
		{ClosePartition{Name: "train"}, plan.Subject{Kind: "close_partition"}, "partition/train"},
		{EndJob{OfJob: of}, plan.Subject{Kind: "end_job", Job: 7}, "job/7"},
		{TellJob{OfJob: of}, plan.Subject{Kind: "tell_job", Job: 7}, "job/7"},
	} {
		assert.Equal(t, test.want, test.action.About())
		assert.Equal(t, test.queue, test.action.Queue())
	}
}
