package takedown

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

const (
	us     = scenetest.US
	europe = scenetest.Europe
	off    = scenetest.PoweredDown
)

// flexNodes are the cluster's own nodes.
var flexNodes = []string{"alpha-a3-0", "alpha-a3-1", "alpha-a3-2", "alpha-a3-3", "alpha-g2-0", "alpha-g2-1", "alpha-st-0"}

// atRest is a cluster with powered-down nodes and nothing in the cloud. With mixed, partition mixed
// has all its configured nodes, otherwise only the foreign ones.
func atRest(mixed bool) *scenetest.World {
	of := []string{"alpha-cpu-0"}
	if mixed {
		of = append(of, flexNodes[:6]...)
	}
	s := scenetest.New(scenetest.Cluster(`
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
  static: {partition_nodeset: [st]}
  mixed: {partition_nodeset: [a3, g2, cpu]}
`,
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 4", "use_job_duration: true"),
		scenetest.FlexSet("g2", "us-central1-a", "node_count_dynamic_max: 2", "max_run_duration: 3600"),
		scenetest.FlexSet("st", "europe-west4-b", "node_count_static: 1", "max_run_duration: 3600"),
		"cpu: {node_count_dynamic_max: 1}"))
	s.Snap.Partitions = []slurm.Partition{
		{Name: "mixed", Nodes: of, Begins: true},
		{Name: "static", Nodes: []string{"alpha-st-0"}, Begins: true},
		{Name: "train", Nodes: flexNodes[:4], Begins: true},
	}
	s.Nodes("alpha-cpu-0,"+strings.Join(flexNodes, ","), off)
	return s
}

// closed is a cluster at rest that starts no jobs.
func closed(changes ...func(*scenetest.World)) *scenetest.World {
	s := atRest(false)
	for i := range s.Snap.Partitions {
		s.Snap.Partitions[i].Begins = s.Snap.Partitions[i].Name == "mixed"
	}
	drain(s, "IDLE+CLOUD+DRAIN+POWERED_DOWN", "alpha-st-0")
	for _, change := range changes {
		change(s)
	}
	return s
}

// drain sets a node's state. If the state drains the node, it also sets the takedown's reason.
func drain(s *scenetest.World, state, node string) {
	s.Nodes(node, state)
	if n := s.Node(node); n.State.Has(slurm.Drain) {
		n.Reason = reason
	}
}

// give starts a job on nodes. requeues sets whether Slurm may requeue the job.
func give(s *scenetest.World, id uint32, state slurm.JobState, requeues bool, nodes ...string) {
	list := strings.Join(nodes, ",")
	s.Job(id, "", list, state)
	s.Snap.Records[id] = slurm.JobRecord{Batch: true, Requeue: requeues}
	s.Nodes(list, scenetest.Busy)
}

// made creates a job's group in us-central1 with a request for a node in the given state. A request
// that has succeeded also gets its machine.
func made(s *scenetest.World, stamp mig.Stamp, name string, state mig.RequestState, node string) *mig.Group {
	if state == mig.Succeeded {
		in := s.Machine(node, name)
		in.Region, in.Zone = us, us+"-a"
	}
	g := s.Group(name, stamp, mig.Request{Name: "a1", State: state, Instances: []string{node}})
	g.Region, g.TargetSize = us, 1
	return g
}

func stampOf(nodeset string, job uint32) mig.Stamp {
	return mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: nodeset, Job: job}
}

// said returns the steps as text.
func said(p Plan) (lines []string) {
	for _, s := range p.Steps {
		lines = append(lines, action.About(s).Text)
	}
	return lines
}

func TestStepsMatchTheObservedState(t *testing.T) {
	freed := func(request mig.RequestState) *scenetest.World {
		s := closed()
		made(s, stampOf("a3", 7), "alpha-a3-job-7", request, "alpha-a3-0")
		return s
	}
	inUse := func(state slurm.JobState, requeues bool, request mig.RequestState) *scenetest.World {
		s := freed(request)
		give(s, 7, state, requeues, "alpha-a3-0")
		return s
	}
	after := []string{
		"set nodes alpha-a3-0 power_down, once their jobs have left",
		"delete instances alpha-a3-0 of alpha-a3-job-7, once job 7 has left alpha-a3-0",
		"delete group alpha-a3-job-7, once job 7 has left alpha-a3-0",
	}
	for name, test := range map[string]struct {
		given *scenetest.World
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
		"a job is left alone as long as others can start": {
			given: func() *scenetest.World {
				s := inUse(slurm.JobRunning, true, mig.Succeeded)
				s.Snap.Partitions[2].Begins = true
				return s
			}(),
			steps: append([]string{"close partition train", "requeue job 7, once no job can start any more"}, after...),
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
		"a job with an unreadable record keeps everything": {
			given: func() *scenetest.World {
				s := inUse(slurm.JobRunning, true, mig.Succeeded)
				delete(s.Snap.Records, 7)
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
		"a node that is up is powered down, and one without a machine by force": {
			given: closed(func(s *scenetest.World) {
				s.Nodes("alpha-a3-0", "IDLE+CLOUD")
				s.Nodes("alpha-a3-1", "IDLE+CLOUD+POWER_DOWN")
				s.Nodes("alpha-a3-2", "IDLE+CLOUD+NOT_RESPONDING+POWERING_UP")
				s.Nodes("alpha-a3-3", "DOWN+CLOUD+NOT_RESPONDING")
			}),
			steps: []string{"set nodes alpha-a3-0 power_down", "set nodes alpha-a3-[2-3] power_down_force"},
			waits: []string{"node alpha-a3-1 to power down"},
		},
		"a node that lost its drain by being powered down is drained again": {
			given: closed(func(s *scenetest.World) {
				s.Nodes("alpha-st-0", "IDLE+CLOUD+POWERING_DOWN")
			}),
			steps: []string{"set nodes alpha-st-0 drain"},
		},
		"without slurmctld all goes, no matter what had the nodes": {
			given: func() *scenetest.World {
				s := freed(mig.Succeeded)
				s.Snap.Nodes, s.Snap.Partitions = nil, nil
				return s
			}(),
			o:     Options{Jobs: Now, NoSlurm: true},
			steps: []string{"delete instances alpha-a3-0 of alpha-a3-job-7", "delete group alpha-a3-job-7, once its machines are gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(test.given.Scene(), test.o)
			assert.Equal(t, test.steps, said(p))
			assert.Equal(t, test.waits, p.Waits)
			assert.Equal(t, test.kept, p.Kept)
		})
	}
}

func TestUndoOpensWhatThisDownHasClosed(t *testing.T) {
	const static, train, node = "scontrol update partitionname=static state=up", "scontrol update partitionname=train state=up", "scontrol update nodename=alpha-st-0 state=resume"
	for name, c := range map[string]struct {
		up            map[string]bool
		undo, earlier []string
	}{
		"both were up":            {map[string]bool{"static": true, "train": true}, []string{static, train, node}, nil},
		"one was found closed":    {map[string]bool{"train": true}, []string{train, node}, []string{static}},
		"an admin had closed one": {map[string]bool{"static": false, "train": true}, []string{train, node}, nil},
	} {
		p := Compute(closed().Scene(), Options{WereUp: c.up})
		assert.True(t, p.Done())
		assert.Equal(t, c.undo, p.Undo, name)
		assert.Equal(t, c.earlier, p.UndoEarlier, name)
	}
}

func TestUncertainThingsAreKeptAndNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scenetest.World)
		kept   string
	}{
		"a group of a newer slurmflex": {
			func(s *scenetest.World) {
				made(s, mig.Stamp{Version: 2, Cluster: "alpha"}, "alpha-a3-job-8", mig.Succeeded, "alpha-a3-1")
			},
			"group alpha-a3-job-8 in us-central1 stays, because a newer slurmflex created it; run that version, or delete it",
		},
		"a group that cannot be read": {
			func(s *scenetest.World) {
				s.Snap.Groups = append(s.Snap.Groups, mig.Group{Name: "alpha-a3-job-8", Region: us, Unread: "targetSize: it is missing"})
			},
			"group alpha-a3-job-8 in us-central1 stays, because it cannot be read: targetSize: it is missing",
		},
		"a machine that cannot be read": {
			func(s *scenetest.World) {
				made(s, stampOf("a3", 8), "alpha-a3-job-8", mig.Succeeded, "alpha-a3-1")
				s.Snap.Instances[0].Unread = "status: it is missing"
			},
			"instance alpha-a3-1 in us-central1-a stays, because it cannot be read: status: it is missing",
		},
		"a machine that its group denies": {
			func(s *scenetest.World) {
				s.Snap.Members = map[mig.GroupID]scene.Members{made(s, stampOf("a3", 8), "alpha-a3-job-8", mig.Succeeded, "alpha-a3-1").ID(): {}}
			},
			"instance alpha-a3-1 in us-central1-a is not a member of group alpha-a3-job-8, which its metadata names as its creator, and stays: " +
				"delete it when it is not needed (gcloud compute instances delete alpha-a3-1 --zone us-central1-a)",
		},
		"a workload policy that cannot be read": {
			func(s *scenetest.World) {
				s.Snap.Policies = append(s.Snap.Policies, mig.Policy{Name: "alpha-a3-job-8", Region: us, Stamp: stampOf("a3", 8), Unread: "description"})
			},
			"workload policy alpha-a3-job-8 in us-central1 stays, because it cannot be read: description",
		},
		"a region that could not be read": {
			func(s *scenetest.World) { s.Snap.Unseen[us] = errors.New("503") },
			"the resources in us-central1 are unknown: 503",
		},
		"workload policies that could not be read": {
			func(s *scenetest.World) { s.Snap.UnseenPolicies = map[string]error{us: errors.New("503")} },
			"the workload policies in us-central1 are not known: 503",
		},
		"a node in a state that is not understood": {
			func(s *scenetest.World) { s.Nodes("alpha-a3-1", "IDLE+SLEEPING") },
			"node alpha-a3-1: state IDLE+SLEEPING is not understood",
		},
		"a node that an unread job may have": {
			func(s *scenetest.World) {
				s.Nodes("alpha-a3-1", "IDLE+CLOUD")
				s.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow, Name: "9", Why: "12 fields"}}
			},
			"job 9 cannot be read: 12 fields",
		},
		"a reservation that cannot be read": {
			func(s *scenetest.World) {
				s.Snap.Unread = slurm.Unread{{Kind: slurm.ReservationRow, Name: "slurmflex-alpha-1900000000", Why: "without Nodes="}}
			},
			"reservation slurmflex-alpha-1900000000 cannot be read: without Nodes=",
		},
	} {
		s := closed()
		test.change(s)
		p := Compute(s.Scene(), Options{Jobs: Now})
		assert.Empty(t, p.Due(), name)
		assert.Equal(t, []string{test.kept}, p.Kept)
		assert.False(t, p.Done(), name)
	}
}

func TestReservationLosesOnlyNodesOfTheNodeset(t *testing.T) {
	s := closed()
	s.Nodes("alpha-g2-0", "IDLE+CLOUD")
	s.Snap.Reservations = []slurm.Reservation{
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
	}, said(Compute(s.Scene(), Options{NodeSet: "a3"})))
	p := Compute(s.Scene(), Options{})
	assert.Contains(t, said(p), "delete reservation slurmflex-alpha-1900000060, once alpha-g2-0 is powered down")
	assert.Equal(t, 6, *p.Left.Reservations)
}

func TestJobsLeaveAReservationBeforeItIsDeleted(t *testing.T) {
	s := closed()
	s.Snap.Jobs = []slurm.Job{{ID: 6, State: slurm.JobPending}, {ID: 7, State: slurm.JobPending, Reservation: "slurmflex-alpha.salvage-7"}}
	s.Snap.Reservations = []slurm.Reservation{{Name: "slurmflex-alpha.job-6", Nodes: []string{"alpha-a3-0"}}, {Name: "slurmflex-alpha.salvage-7", Nodes: []string{"alpha-a3-1"}}}
	p := Compute(s.Scene(), Options{})
	var freed []string
	for _, a := range p.Due() {
		freed = append(freed, a.(action.DeleteReservation).Address)
	}
	assert.Equal(t, []string{"", "7"}, freed)
	assert.Equal(t, "0 instances, 0 groups, 0 requests, 0 policies, 2 reservations", p.Left.String())
}

func TestDoorIsDeletedNowAndTheDaemonsCoverRemains(t *testing.T) {
	s := closed()
	s.Snap.Reservations = []slurm.Reservation{
		{Name: "slurmflex-alpha.door-7_2-1795262400", Nodes: []string{"alpha-a3-0"}},
		{Name: "slurmflex-alpha.cover-1795262400", Start: s.Snap.Now, Nodes: []string{"alpha-a3-0"}, Flags: []string{"PURGE_COMP=00:06:00"}},
		{Name: "slurmflex-alpha.cover-1795262399", Start: s.Snap.Now.Add(-time.Hour), Nodes: []string{"alpha-a3-0"}, Flags: []string{"PURGE_COMP=00:06:00"}},
	}
	p := Compute(s.Scene(), Options{})
	assert.Equal(t, []string{"delete reservation slurmflex-alpha.door-7_2-1795262400", "delete reservation slurmflex-alpha.cover-1795262399"}, said(p))
	assert.Equal(t, 2, *p.Left.Reservations)
}

func TestOwnerIsNotifiedBeforeTheDoorIsDeleted(t *testing.T) {
	const door = "slurmflex-alpha.door-7-1795262400"
	s := closed()
	s.Snap.Jobs = []slurm.Job{{ID: 7, State: slurm.JobPending, Reason: "Reservation", Partition: "train", NodeCount: 1, Priority: 1, Reservation: door}}
	s.Snap.Reservations = []slurm.Reservation{{Name: door, Start: s.Snap.Now.Add(time.Minute), Nodes: []string{"alpha-a3-0"}}}
	assert.Equal(t, []string{"notify the owner of job 7", "delete reservation " + door + ", once the owner of job 7 is notified"}, said(Compute(s.Scene(), Options{})))
	assert.Equal(t, []string{"delete reservation " + door}, said(Compute(s.Scene(), Options{Told: map[uint32]bool{7: true}})))
}
