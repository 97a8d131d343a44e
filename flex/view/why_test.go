package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
	"slurmflex/test/scenetest"
)

// stories lists further questions and their situations. The answers are in testdata/why.txt.
var stories = []struct {
	name    string
	given   func(*world)
	subject string
}{
	{"a pending job that waits for free nodes", func(s *world) {
		j := s.pending(816, "Resources")
		j.NodeCount, j.Gres = 2, "gres/gpu:8"
	}, "816"},
	{"a pending array of one-GPU tasks that get whole nodes", func(s *world) {
		j := s.pending(816, "Resources")
		j.ArrayTask, j.NodeCount, j.Gres = "0-9%2", 1, "gres/gpu"
	}, "816"},
	{"a job of two partitions that lacks nodes in both", func(s *world) {
		s.halfFull().NodeCount = 2
	}, "816"},
	{"a job with an unreadable row", func(s *world) {
		s.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow, Name: "816", Why: `priority "x": not a number`}}
	}, "816"},
	{"a job that its owner holds", func(s *world) { s.pending(816, "JobHeldUser") }, "816"},
	{"a job that waits for another", func(s *world) { s.pending(816, "Dependency") }, "816"},
	{"a job that may not start yet", func(s *world) { s.pending(816, "BeginTime").Start = at(2) }, "816"},
	{"a pending job of a region that cannot be read", func(s *world) {
		s.pending(816, "Resources")
		s.unseen(scenetest.US, "list groups of us-central1: 503 backendError")
	}, "816"},
	{"tasks that their array's own limit holds back", func(s *world) {
		s.pending(900, "JobArrayTaskLimit").ArrayTask = "4-20%3"
	}, "900_[4-20%3]"},
	{"an array with some tasks at work and some held back by its own limit", func(s *world) {
		for i := range uint32(3) {
			s.job(901+i, "train", fmt.Sprintf("alpha-a3-%d", i), slurm.JobRunning)
			s.Snap.Jobs[i].ArrayID, s.Snap.Jobs[i].ArrayTask = 900, fmt.Sprint(i+1)
		}
		s.pending(900, "JobArrayTaskLimit").ArrayTask = "4-20%3"
	}, "900"},
	{"an array with one task at work and one that waits", func(s *world) {
		s.job(901, "train", "alpha-a3-0", slurm.JobRunning)
		s.Snap.Jobs[0].ArrayID, s.Snap.Jobs[0].ArrayTask = 900, "0"
		s.pending(900, "JobArrayTaskLimit").ArrayTask = "1%1"
	}, "900"},
	{"a job with all its machines that lacks a license", func(s *world) {
		s.behindDoor(812, "alpha-a3-0")
		s.Snap.Jobs[0].Reason = "Licenses"
		s.Nodes("alpha-a3-0", "IDLE+CLOUD+RESERVED")
		s.machines("alpha-a3-job-812", "alpha-a3-0", time.Hour)
	}, "812"},
	{"a component with all its machines, while another one waits", func(s *world) {
		s.behindDoor(812, "alpha-a3-0")
		s.behindDoor(813, "alpha-a3-1")
		s.component(&s.Snap.Jobs[0], 812, 0)
		s.component(&s.Snap.Jobs[1], 812, 1)
		for i, address := range []string{"812+0", "812+1"} {
			name := memo.DoorReservation("alpha", address, at(-90))
			s.Snap.Reservations[i].Name, s.Snap.Jobs[i].Reservation = name, name
		}
		s.Nodes("alpha-a3-0", "IDLE+CLOUD+RESERVED")
		s.machines("alpha-a3-job-812", "alpha-a3-0", time.Hour)
	}, "812+0"},
	{"a job with requests in two places", func(s *world) {
		s.behindDoor(812, "alpha-a3-[0-1]")
		s.group(812, request("a1", mig.Accepted, "alpha-a3-[0-1]", "", time.Hour))
		s.Snap.Jobs[0].Partition = "train,short"
		s.reserve(memo.DoorReservation("alpha", "812", at(-60))+"-1", "alpha-g2-[0-1]", at(4)).Users = []string{"ada"}
		s.Snap.Records = map[uint32]slurm.JobRecord{812: {Comment: "slurmflex:wait=2h,cancel"}}
		for _, node := range []string{"0", "1"} {
			s.Group("alpha-g2-node-"+node, mig.Stamp{NodeSet: "g2"}, request("a1", mig.Accepted, "alpha-g2-"+node, "", time.Hour))
		}
	}, "812"},
	{"a job without a daemon that waits for its request", func(s *world) { s.dead = true; s.behindDoor(812, "alpha-a3-[0-1]") }, "812"},
	{"a job without a daemon whose request waits for capacity", func(s *world) {
		s.dead = true
		s.requested(mig.Trouble{Cause: mig.CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED: none"})
	}, "812"},
	{"a pending job whose daemon has died", func(s *world) {
		s.dead = true
		s.pending(816, "ReqNodeNotAvail, May be reserved for other job")
		s.reserve("slurmflex-alpha.cover-1795000000", "alpha-a3-[0-7]", at(-120)).Flags = []string{"PURGE_COMP=01:00:00"}
	}, "816"},
	{"a job that fits on idle machines with a shorter time limit", func(s *world) {
		s.Nodes("alpha-a3-[0-7]", "ALLOCATED+CLOUD")
		s.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD")
		s.machines("alpha-a3-job-700", "alpha-a3-[0-1]", 90*time.Minute)
		s.pending(816, "ReqNodeNotAvail, May be reserved for other job").NodeCount = 2
	}, "816"},
	{"a job that waits at Google while an admin has drained a node of it", func(s *world) {
		s.behindDoor(812, "alpha-a3-[0-1]")
		s.group(812, request("a1", mig.Accepted, "alpha-a3-[0-1]", "RESOURCE_POOL_EXHAUSTED: none left", time.Hour))
		s.because("alpha-a3-1", "IDLE+CLOUD+DRAIN+POWERED_DOWN", "bad GPU", "root")
	}, "812"},
	{"a component that is too long for its partition", func(s *world) { s.component(s.pending(816, "PartitionTimeLimit"), 815, 1) }, "815+1"},
	{"a pending job of a partition without flex nodes", func(s *world) { s.pending(816, "Resources").Partition = "cpu" }, "816"},
	{"a pending job of a nodeset that is blocked", func(s *world) { s.block(twoBoots); s.pending(816, "Resources") }, "816"},
	{"a job with a request being checked", func(s *world) {
		s.waits()
		s.group(812, request("a1", mig.Creating, "alpha-a3-[0-1]", "", time.Second))
	}, "812"},
	{"a job that shares a request with others", func(s *world) { s.share() }, "812"},
	{"a group that jobs of one node share", func(s *world) { s.share() }, sharedGroup},
	{"a job with a request that was refused once", func(s *world) {
		s.refusing()
		r := s.Snap.Refused["alpha-a3-job-812"]
		r.Failing.Times, r.Failing.Since = 1, r.Failing.Last
		s.Snap.Refused["alpha-a3-job-812"] = r
	}, "812"},
	{"a job that Slurm would not requeue, of a request that is refused", func(s *world) {
		s.waits()
		request := request("a1", mig.Failed, "alpha-a3-[0-1]", "PERMISSIONS_ERROR: Required 'compute.instances.create' permission", 30*time.Second)
		request.Cause = mig.CausePermission
		s.group(812, request)
		s.Snap.Records[812] = slurm.JobRecord{Batch: true}
	}, "812"},
	{"a job that Slurm would not requeue, with a deadline", func(s *world) {
		s.requested(mig.Trouble{})
		s.Snap.Records[812] = slurm.JobRecord{Batch: true, Deadline: at(10 * 60)}
	}, "812"},
	{"a job with requested Spot machines", func(s *world) { s.spot(); s.waits() }, "812"},
	{"a job that runs on a Spot machine", func(s *world) {
		s.spot()
		s.job(813, "train", "alpha-a3-2", slurm.JobRunning)
		s.Nodes("alpha-a3-2", "ALLOCATED+CLOUD")
		s.Snap.Instances = []mig.Instance{{
			Name: "alpha-a3-2", Zone: scenetest.US + "-a", Region: scenetest.US, Status: "RUNNING", Model: mig.Spot, Created: at(-60),
			Stamp: mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 813},
		}}
	}, "813"},
	{"a job that runs in a region that could not be read", func(s *world) {
		s.job(813, "train", "alpha-a3-[2-4]", slurm.JobRunning)
		s.Nodes("alpha-a3-[2-4]", "ALLOCATED+CLOUD")
		s.unseen(scenetest.US, "list groups of us-central1: 503 backendError: try again")
	}, "813"},
	{"a job with a request that was queued when its region was last read", func(s *world) {
		s.requested(mig.Trouble{})
		s.unread(scenetest.US)
	}, "812"},
	{"a job that is requeued before its lease ends", func(s *world) {
		set, _, _ := s.Config.Find("alpha-a3-2")
		set.Flex.OnLeaseEnd = config.RequeueFirst
		s.up(813, "alpha-a3-[2-4]", slurm.JobRunning, 2*time.Hour)
	}, "813"},
	{"a job that Slurm may not requeue at the end of its lease", func(s *world) {
		set, _, _ := s.Config.Find("alpha-a3-2")
		set.Flex.OnLeaseEnd = config.RequeueFirst
		s.up(813, "alpha-a3-[2-4]", slurm.JobRunning, time.Minute)
	}, "813"},
	{"a job with a time limit beyond the rest of a lease", func(s *world) {
		s.pending(816, "Resources")
		s.Snap.Told[816] = memo.OwnComment + memo.Done{Deed: memo.Loss, Reason: "the machine of alpha-a3-2 is gone: deleted by somebody, or lost by Google" + memo.KeepsNone}.String()
	}, "816"},
	{"a job that runs beyond its lease", func(s *world) {
		s.fill()
		s.Snap.Jobs[1].Limit = slurm.Limit{Kind: slurm.Unlimited}
	}, "813"},
	{"a job that ends", func(s *world) { s.fill(); s.Snap.Jobs[1].State = slurm.JobCompleting }, "813"},
	{"a job on nodes that are not ours", func(s *world) { s.job(817, "cpu", "alpha-cpu-0", slurm.JobRunning) }, "817"},
	{"a job that is gone, and its group not yet", func(s *world) {
		s.group(700, request("a1", mig.Cancelled, "alpha-a3-0", "", time.Hour))
		s.done(action.CancelRequest{Of: action.Of{Group: mig.GroupID{Region: scenetest.US, Name: "alpha-a3-job-700"}}, Request: "a1", Why: "no job wants node alpha-a3-0 any more"}, time.Minute, nil)
	}, "700"},
	{"a job that is gone, while a region could not be read", func(s *world) { s.unseen(scenetest.Europe, "503") }, "700"},
	{"a job that there never was", nil, "99999999"},
	{"a job array", func(s *world) {
		s.pending(900, "Resources").ArrayTask = "1-3"
		s.task(901, 900, "0")
		s.task(902, 900, "5")
		s.task(903, 900, "4")
	}, "900"},
	{"an array's task", func(s *world) { s.task(901, 900, "0") }, "900_0"},
	{"an array's task that is gone", func(s *world) { s.task(901, 900, "0") }, "900_7"},
	{"a component that waits", func(s *world) { s.components(820) }, "820+1"},
	{"a heterogeneous job that is held", func(s *world) {
		s.pending(820, "JobHeldUser").HetID = 820
		s.component(s.pending(821, "JobHeldUser"), 820, 1)
	}, "820+1"},
	{"a node that no job has", nil, "alpha-a3-3"},
	{"a node that waits", (*world).fill, "alpha-a3-0"},
	{"a node that a job runs on", (*world).fill, "alpha-a3-2"},
	{"a node that an admin has drained", (*world).fill, "alpha-a3-7"},
	{"a node that Slurm is to reboot", func(s *world) {
		s.fill()
		s.because("alpha-a3-2", "ALLOCATED+CLOUD+DRAIN+REBOOT_REQUESTED", "Reboot ASAP", "root")
	}, "alpha-a3-2"},
	{"a node that is down", func(s *world) { s.because("alpha-a3-3", "DOWN+CLOUD", "Not responding", "slurm") }, "alpha-a3-3"},
	{"a node that powers down", func(s *world) { s.Nodes("alpha-a3-3", "IDLE+CLOUD+POWERING_DOWN") }, "alpha-a3-3"},
	{"a node that is idle", func(s *world) {
		s.Nodes("alpha-a3-3", "IDLE+CLOUD")
		s.machines("alpha-a3-node-3", "alpha-a3-3", time.Hour)
	}, "alpha-a3-3"},
	{"a node that is kept for the next job", func(s *world) {
		s.Config.FlexSetOf("alpha-a3-3").Flex.KeepIdle = 30 * time.Minute
		s.Nodes("alpha-a3-3", "IDLE+CLOUD")
		s.Snap.Nodes[3].LastBusyTime = at(-25)
		s.machines("alpha-a3-node-3", "alpha-a3-3", time.Hour)
	}, "alpha-a3-3"},
	{"a node that powers up without a job", func(s *world) {
		s.Nodes("alpha-a3-3", "IDLE+CLOUD+POWERING_UP")
		for i := range s.Snap.Nodes {
			s.Snap.Nodes[i].LastBusyTime = noon
		}
	}, "alpha-a3-3"},
	{"a node with a lost machine", func(s *world) { s.Nodes("alpha-a3-3", "IDLE+CLOUD+NOT_RESPONDING") }, "alpha-a3-3"},
	{"a node in an unknown state", func(s *world) { s.Nodes("alpha-a3-3", "IDLE+CLOUD+LEVITATING") }, "alpha-a3-3"},
	{"a node of a region that could not be read", func(s *world) { s.unseen(scenetest.Europe, "503") }, "alpha-g2-0"},
	{"a static node", nil, "alpha-st-0"},
	{"a static node that is powered down", func(s *world) {
		s.Nodes("alpha-st-0", "IDLE+CLOUD+POWERED_DOWN")
		s.Snap.Instances = s.Snap.Instances[1:]
	}, "alpha-st-0"},
	{"a node that is not ours", nil, "alpha-cpu-0"},
	{"a group with a waiting request", (*world).fill, "alpha-a3-job-812"},
	{"a group that is empty while its job tries again", func(s *world) {
		s.pending(700, "BeginTime")
		s.group(700, request("a1", mig.Failed, "alpha-a3-0", "none left", time.Hour))
	}, "alpha-a3-job-700"},
	{"a group that is not made yet", (*world).waits, "alpha-a3-job-812"},
	{"a node with more attempts than results", func(s *world) {
		s.done(action.SetNodes{Nodes: []string{"alpha-a3-3"}, State: "power_down_force", Why: "its instance is gone"}, time.Minute, errors.New("scontrol: Invalid node state specified"))
		s.because("alpha-a3-3", "IDLE+CLOUD+POWERED_DOWN", memo.ReasonPrefix+"its instance is gone", "slurm")
	}, "alpha-a3-3"},
	{"a job that is gone, and its machines not yet", func(s *world) {
		s.machines("alpha-a3-job-700", "alpha-a3-[0-1]", time.Hour)
		s.Snap.Groups[2].Stamp = mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 700}
		s.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD+POWERING_DOWN")
	}, "700"},
	{"a job that lacks one of its machines", func(s *world) {
		s.waits()
		s.Nodes("alpha-a3-2", "ALLOCATED+CLOUD")
		s.Snap.Jobs[0].Nodes = scenetest.Names("alpha-a3-[0-2]")
		s.machines("alpha-a3-job-812", "alpha-a3-2", 5*time.Hour)
		s.Group("alpha-a3-job-812-2", mig.Stamp{NodeSet: "a3", Job: 812}, request("a1", mig.Accepted, "alpha-a3-[0-1]", "none left", time.Hour))
	}, "812"},
	{"a machine of a node that the configuration no longer has", func(s *world) { s.machines("alpha-a3-job-700", "alpha-a3-9", 2*time.Hour) }, "alpha-a3-9"},
	{"a job that an admin holds after a requeue", func(s *world) {
		s.pending(816, "JobHeldAdmin")
		s.Snap.Told[816] = memo.OwnComment + memo.Done{Deed: memo.Requeued, At: at(-26 * 60), Reason: "no capacity"}.String()
	}, "816"},
	{"a job that Slurm holds after a requeue", func(s *world) { s.pending(816, "job requeued in held state") }, "816"},
	{"a job that Slurm holds because its reservation was deleted", func(s *world) { s.pending(816, "Reservation theirs was deleted") }, "816"},
	{"a job that Slurm holds after a restart that lost its reservation", func(s *world) { s.pending(816, "Reservation (null) is invalid") }, "816"},
	{"a job with a long error", func(s *world) {
		s.waits()
		s.forbidden("403 forbidden: " + strings.Repeat("Required permission. ", 20))
	}, "812"},
	{"a nodeset", (*world).fill, "a3"},
	{"a nodeset that is blocked", func(s *world) { s.block(twoBoots) }, "a3"},
	{"a nodeset of a region that cannot be read", func(s *world) { s.unread(scenetest.Europe) }, "g2"},
}

// pending adds a job without nodes to partition train.
func (s *world) pending(id uint32, reason string) *slurm.Job {
	j := s.job(id, "train", "", slurm.JobPending)
	j.Reason, j.Start, j.Priority = reason, time.Time{}, 1
	return j
}

// full adds four jobs on all nodes of nodeset a3. Their leases end after one to four hours.
// Reservations of the old version start at those times.
func (s *world) full() {
	for i := range 4 {
		id, list := uint32(801+i), fmt.Sprintf("alpha-a3-[%d-%d]", 2*i, 2*i+1)
		s.Nodes(list, "ALLOCATED+CLOUD")
		s.job(id, "train", list, slurm.JobRunning)
		left := time.Duration(i+1) * time.Hour
		s.machines(fmt.Sprintf("alpha-a3-job-%d", id), list, left)
		s.reserve(memo.Reservation("alpha", noon.Add(left)), list, noon.Add(left)).End = noon.Add(left + 365*24*time.Hour)
	}
}

// halfFull adds jobs on all nodes of partition always, on all but one of partition train, and a job
// that waits for nodes of either.
func (s *world) halfFull() *slurm.Job {
	for i, list := range []string{"alpha-a3-[0-4]", "alpha-a3-[5-6]", "alpha-st-0", "alpha-st-1"} {
		s.Nodes(list, "ALLOCATED+CLOUD")
		partition := "train"
		if i >= 2 {
			partition = "always"
		}
		s.job(uint32(901+i), partition, list, slurm.JobRunning).Limit = slurm.ParseLimit([]string{"20:00:00", "22:00:00", "2:00:00", "5:00:00"}[i])
	}
	j := s.pending(816, "Resources")
	j.Partition = "train,always"
	return j
}

func TestJobStartIsBelievedOnlyBeforeOurReservations(t *testing.T) {
	for name, test := range map[string]struct {
		start  time.Duration
		reason string
		shown  bool
	}{
		"before":             {59 * time.Minute, "Resources", true},
		"after":              {time.Hour + 10*time.Minute, "Resources", false},
		"behind a year":      {365 * 24 * time.Hour, "Priority", false},
		"by its own --begin": {365 * 24 * time.Hour, "BeginTime", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWorld()
			s.full()
			s.pending(816, test.reason).Start = noon.Add(test.start)
			jobs := s.view().Jobs
			assert.Equal(t, test.shown, !jobs[len(jobs)-1].StartAt.IsZero())
		})
	}
	s := newWorld()
	s.reserve(memo.CoverReservation("alpha", memo.ColdCover, noon), "alpha-a3-[0-7]", time.Time{}).End = at(24 * 60)
	s.pending(816, "Resources").Start = noon.Add(24*time.Hour - 5*time.Minute)
	assert.Zero(t, s.view().Jobs[0].StartAt, "cold nodes are closed until then")
	s = newWorld()
	s.waiting(812, "alpha-a3-0")
	s.Config.Options.Waiting = config.Configuring
	s.pending(816, "Resources").Start = at(60)
	assert.Zero(t, s.view().Jobs[1].StartAt, "the time limit of job 812 has not begun")
	s = newWorld()
	s.pending(816, "Resources").Start = noon.Add(31 * 24 * time.Hour)
	assert.Zero(t, s.view().Jobs[0].StartAt, "no job ends after a year")
}

// sharedGroup is the group that ada's jobs of one node share.
var sharedGroup = memo.SharedGroup("alpha", "a3", 0, mig.UserKey("ada"), 0)

// share makes two jobs of ada wait for one request.
func (s *world) share() {
	for _, set := range s.Config.FlexSets() {
		set.Flex.ShareRequests = 50
	}
	s.waiting(812, "alpha-a3-0")
	s.waiting(813, "alpha-a3-1")
	of := mig.Sharers(0, "ada")
	of.NodeSet = "a3"
	s.Group(sharedGroup, of, request("a1", mig.Accepted, "alpha-a3-[0-1]", "", time.Hour)).Created = at(-89)
}

// task adds a pending task of an array.
func (s *world) task(id, array uint32, task string) {
	j := s.pending(id, "Priority")
	j.ArrayID, j.ArrayTask = array, task
}

// component makes a job a component of a heterogeneous job.
func (s *world) component(j *slurm.Job, first, offset uint32) { j.HetID, j.HetOffset = first, offset }

// components adds a heterogeneous job with two waiting components.
func (s *world) components(first uint32) {
	for offset, list := range []string{"alpha-a3-0", "alpha-a3-1"} {
		s.waiting(first+uint32(offset), list)
		s.component(&s.Snap.Jobs[len(s.Snap.Jobs)-1], first, uint32(offset))
	}
	s.group(first + 1)
}

// twoBoots blocks a nodeset, because two of its instances have failed to boot.
const twoBoots = memo.ReasonPrefix + "2 boots failed, the last of an instance made 2026-11-21T11:30:00Z"

// block blocks nodeset a3.
func (s *world) block(why string) { s.Node("alpha-a3-7").Extra = why }

// limit adds a limit of 500 GPU hours a month for user ada, some of them used.
func (s *world) limit(used float64) {
	s.Config.Options.Limits = []config.Limit{{Name: "ada", User: "ada", GPUHours: 500, Per: config.Month}}
	s.Snap.Spent = scene.Spent{
		Of: []scene.Spending{{
			From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Used: scene.Amount{GPU: used * 3600},
		}},
		Hours: map[string]scene.Amount{"a3": {GPU: 8 * 3600}},
	}
}

func TestSummaryCountsJobsNodesGPUsAndProblems(t *testing.T) {
	s := busy()
	s.pending(817, "JobHeldUser")
	s.Snap.Jobs[len(s.Snap.Jobs)-1].Partition = "train"
	assert.Equal(t, "jobs: 4 waiting, 1 running, 1 held; nodes: 4 waiting, 5 with a machine; "+
		"GPUs: 24 in use, 16 idle, 24 requested; longest wait: 1h30m; next lease ends in: 2h00m; problems: 2", s.view().summary())
	clear(s.Snap.Templates)
	assert.NotContains(t, s.view().summary(), "GPU", "the machine types are unknown")
	s = newWorld()
	s.Snap = scene.Snapshot{Now: noon}
	assert.Equal(t, "jobs: 0 waiting, 0 running, 0 held; nodes: 0 waiting, 0 with a machine", s.view().summary())
}

// U13
func TestMachinesAreStartingUntilTheirJobStarts(t *testing.T) {
	for state, want := range map[slurm.JobState]State{
		slurm.JobConfiguring: Starting, slurm.JobRunning: Running, slurm.JobCompleting: Running,
	} {
		s := newWorld()
		s.job(813, "train", "alpha-a3-[2-3]", state)
		s.Nodes("alpha-a3-2", "ALLOCATED+CLOUD") // held while the other node boots
		s.Nodes("alpha-a3-3", rising)
		s.machines("alpha-a3-job-813", "alpha-a3-[2-3]", 2*time.Hour)
		states := map[string]State{}
		for _, r := range s.view().Rows {
			states[r.Nodes.String()] = r.State
		}
		assert.Equal(t, want, states["alpha-a3-2"], state)
		assert.Equal(t, Booting, states["alpha-a3-3"], state)
	}
}

// H10
func TestStatusListsAsManyProblemsAsItCounts(t *testing.T) {
	s := busy()
	s.block(twoBoots)
	s.unread("europe-west4")
	v := s.view()
	text := v.table()
	require.Len(t, v.Problems, strings.Count(text, "problem: "))
	assert.Contains(t, text, fmt.Sprintf("; problems: %d\n", len(v.Problems)))
	assert.Less(t, strings.Index(text, "problem: "), strings.Index(text, "NODESET"), "at the head")
	assert.Equal(t, 1, strings.Count(text, "503 backendError"), "an unread region counts once")

	v.Problems = nil
	for i := range 12 {
		v.Problems = append(v.Problems, fmt.Sprintf("number %d", i))
	}
	text = v.table()
	assert.Contains(t, text, "\n2 more problems: slurmflex status -o wide\n")
	assert.Equal(t, 12, strings.Count(v.Table(Layout{Now: noon, Wide: true}), "problem: "))
}

// Each answer is one value: each field is one line, and all outputs show the same cause.
func TestWhyExplainsByFields(t *testing.T) {
	var all strings.Builder
	for _, test := range situations {
		s := newWorld()
		s.pends = true
		test.given(s)
		all.WriteString(s.explained(t, test.name, "812"))

		configuring := newWorld()
		test.given(configuring)
		_, pends, _ := s.faces(t, 812)
		_, same, _ := configuring.faces(t, 812)
		assert.Equal(t, [2]string{pends.State, pends.Cause}, [2]string{same.State, same.Cause}, "%s, CONFIGURING", test.name)
	}
	for _, test := range stories {
		s := newWorld()
		if test.given != nil {
			test.given(s)
		}
		all.WriteString(s.explained(t, test.name, test.subject))
	}
	golden(t, "why.txt", all.String())
}

// explained returns the entry of a question for testdata/why.txt, and checks the answer.
func (s *world) explained(t *testing.T, name, subject string) string {
	t.Helper()
	v := s.view()
	why := ask(t, v, subject)
	text := why.Text(true)
	narrow(t, text, Width)
	assert.LessOrEqual(t, len(why.Fields())+1, 8, name)
	assert.NotEmpty(t, why.State, name)
	var again Answer
	data, err := json.Marshal(why)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &again))
	assert.Equal(t, why.Text(true), again.Text(true), "the JSON has all of it")

	entry := fmt.Sprintf("# %s: slurmflex why %s\n%s", name, subject, why.Text(false))
	if more, found := strings.CutPrefix(text, why.Text(false)); found && more != "" {
		entry += "  --verbose:\n" + more
	}
	if job, rows, err := v.Find(subject); err == nil {
		entry += s.others(t, v, job, rows)
	}
	return entry + "\n"
}

// others returns the other outputs about a job for testdata/why.txt, and checks that they name the
// cause of its first row.
func (s *world) others(t *testing.T, v View, job Job, own []Row) (entry string) {
	t.Helper()
	comment, why, rows := s.faces(t, job.ID)
	for _, row := range rows {
		entry += "  status:  " + row + "\n"
	}
	if comment != "" {
		entry += "  comment: " + comment + "\n"
	}
	causes := []string{}
	if job.isUnplaced() {
		own, causes = nil, append(causes, v.causeOf(job))
	}
	for _, r := range own {
		causes = append(causes, r.cause())
	}
	for _, cause := range causes {
		if cause == "" || len(v.setsOf(job.Partition)) == 0 {
			continue
		}
		assert.True(t, slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, cause) }), "status names %q: %q", cause, rows)
		assert.Contains(t, unwrapped(why.Text(true)), cause)
	}
	return entry
}

func TestUnknownSubjectIsNamedInTheError(t *testing.T) {
	v := newWorld().view()
	for _, subject := range []string{"alpha-a3-8", "alpha-a4", "alpha-a3-job-812", "wat", "-1", "0", "4294967296", "99999999999", "812;ls", "812+", "812_[", "812+1+1", "+1", "\x1b[2J", "/", strings.Repeat("9", 11) + "x"} {
		_, err := v.Why(subject, noon, nil)
		require.ErrorContains(t, err, "no job, node, nodeset or group named ", subject)
		assert.Equal(t, Printable(err.Error()), err.Error())
	}
	for _, subject := range []string{"", " ", strings.Repeat("x", MaxQuery+1)} {
		_, err := v.Why(subject, noon, nil)
		assert.EqualError(t, err, "give the number of a job, or the name of a node, nodeset or group")
	}
	s := newWorld()
	s.unread(scenetest.Europe)
	_, err := s.view().Why("alpha-a3-job-812", noon, nil)
	assert.EqualError(t, err, `no job, node, nodeset or group named "alpha-a3-job-812"; europe-west4 could not be read`)
}

func TestWhyNamesTheNodesetsOfAPartition(t *testing.T) {
	v := newWorld().view()
	v.NodeSets[0].Partitions = []string{"short", "night"}
	_, err := v.Why("night", noon, nil)
	require.EqualError(t, err, "night is a partition; choose one of its nodesets: "+v.NodeSets[0].Name)
}

func TestWhyRejectsSeveralNodesOrJobs(t *testing.T) {
	v := newWorld().view()
	for _, subject := range []string{"alpha-a3-[0-1]", "alpha-a3-0,alpha-a3-3", "812,813"} {
		_, err := v.Why(subject, noon, nil)
		assert.EqualError(t, err, fmt.Sprintf("%q names more than one subject; choose one", subject))
	}
}

// Any question and any message from the cloud must produce an answer that a terminal can show.
func FuzzWhy(f *testing.F) {
	for _, test := range stories {
		f.Add(test.subject, "none left")
	}
	f.Add("812+1", "none left")
	f.Add("812_[1-3%2]", "none left")
	f.Add("812_", "\x1b[2J\n\x00")
	f.Fuzz(func(t *testing.T, subject, message string) {
		s := busy()
		for i := range s.Snap.Groups {
			for k := range s.Snap.Groups[i].Requests {
				s.Snap.Groups[i].Requests[k].Message = message
			}
		}
		answer, err := s.view().Why(subject, noon, nil)
		if err != nil {
			assert.Equal(t, Printable(err.Error()), err.Error())
			return
		}
		for line := range strings.Lines(answer.Text(true)) {
			assert.Equal(t, Printable(line[:len(line)-1]), line[:len(line)-1])
		}
	})
}

// U6
func TestShorterLimitIsAdvisedOnlyForATenthLessLease(t *testing.T) {
	for name, test := range map[string]struct {
		lease, margin time.Duration
		want          bool
	}{
		"a tenth over it": {mig.MinDuration * 11 / 10, 0, false},
		"a little more":   {mig.MinDuration*10/9 + time.Second, 0, true},
		"mostly a margin": {time.Hour, 55 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWorld()
			s.waits()
			s.Snap.Jobs[0].Limit = slurm.Limit{Kind: slurm.LimitSet, Duration: test.lease - test.margin}
			s.Config.FlexSetOf("alpha-a3-0").Flex.JobDurationMargin = test.margin
			request := request("a1", mig.Accepted, "alpha-a3-[0-1]", "none left", time.Hour)
			request.Duration = test.lease
			s.group(812, request)
			assert.Equal(t, test.want, strings.Contains(ask(t, s.view(), "812").YouCan, "a shorter --time"))
		})
	}
}

func TestEveryAnswerReportsAStoppedDaemon(t *testing.T) {
	v := busy().view()
	v.Daemon.Error = "read nodes: slurmctld is on fire"
	for _, subject := range []string{"812", "alpha-a3-0", "alpha-a3-job-812"} {
		answer := ask(t, v, subject)
		assert.Contains(t, answer.State+answer.Cause, "slurmflex has stopped reconciling: read nodes: slurmctld is on fire")
	}
	v.Daemon = nil
	for _, subject := range []string{"812", "813", "816", "alpha-a3-0", "alpha-a3-job-812", "a3"} {
		answer := ask(t, v, subject)
		assert.Contains(t, answer.State+answer.Cause, "no daemon answers", subject)
	}
	v.Daemon = &Daemon{Standby: true, Error: "slurmctld is active on ctl2"}
	assert.Contains(t, v.table(), "\nthis host is on standby (slurmctld is active on ctl2): ask there\n")
	v.Daemon.Standby, v.Daemon.Error = false, "read nodes: slurmctld is on fire"
	assert.Contains(t, v.table(), "\nslurmflex has stopped reconciling: read nodes: slurmctld is on fire\n")
}

func TestEarlierCauseIsNotAdvisedOnInAnUnreadRegion(t *testing.T) {
	s := newWorld()
	s.waits()
	failed := request("a1", mig.Failed, "alpha-a3-[0-1]", "PERMISSIONS_ERROR: Required 'compute.instances.create' permission", 30*time.Second)
	failed.Cause = mig.CausePermission
	s.group(812, failed)
	s.Snap.Records[812] = slurm.JobRecord{Batch: true}
	require.Contains(t, ask(t, s.view(), "812").YouCan, "ask an admin to fix the cause (permission)")
	s.unread(scenetest.US)
	v := s.view()
	for i := range v.Rows {
		v.Rows[i].Cause = mig.CausePermission // as the daemon remembers it
	}
	answer := ask(t, v, "812")
	assert.Contains(t, answer.Cause, "region us-central1 could not be read")
	assert.Empty(t, answer.YouCan)
}

// pendingWords are the reasons for pending jobs in Slurm 22.05 to 26.05, except those for limits,
// which start with Assoc, QOS or Max. Source: the strings in Slurm's library libslurmfull.
const pendingWords = `None Priority Dependency Resources PartitionNodeLimit PartitionTimeLimit PartitionDown
	PartitionInactive JobHeldAdmin JobHeldUser BeginTime ReqNodeNotAvail NvidiaImexChannels SchedDefer NodeDown
	BadConstraints InvalidAccount InvalidQOS Cleaning QOSNotAllowed AccountNotAllowed DependencyNeverSatisfied
	JobHoldMaxRequeue JobArrayTaskLimit BurstBufferResources BurstBufferStageIn BurstBufferOperation DeadLine
	PartitionConfig AccountingPolicy FedJobLock Licenses Reservation ReservationDeleted ReservationInvalid
	MpiPortsBusy QOSGrpNodeLimit AssocMaxJobsLimit MaxGRESPerAccount`

// A9: all reasons, including InvalidAccount, which 23.11 and 24.05 show temporarily.
func TestWhyExplainsEachReasonOfSlurm(t *testing.T) {
	for _, word := range append(strings.Fields(pendingWords), "job requeued in held state", "launch failed requeued held") {
		text := slurmsCause(word)
		assert.NotContains(t, text, "slurmflex does not know", word)
		assert.Equal(t, word != "None", strings.HasSuffix(text, " ("+word+")"), text)
	}
	assert.Equal(t, "something that slurmflex does not know (NoSuchReason)", slurmsCause("NoSuchReason, at all"))
	assert.NotContains(t, slurmsCause("DependencyNeverSatisfied"), "failed", "with afternotok, the other job has succeeded")
	assert.Equal(t, "the nodes that it may use are reserved for maintenance, or their leases end before it would (ReqNodeNotAvail)", slurmsCause("ReqNodeNotAvail, Reserved for maintenance"))
}

func TestLimitThatHoldsAJobBackIsItsCause(t *testing.T) {
	s := newWorld()
	s.pending(816, "AssocGrpNodeLimit")
	const limit = "account ml may use 2 nodes at once (GrpTRES): 2 are in use or requested, and the job needs 1"
	p := plan.Plan{Held: []demand.Wait{{Job: 816, Stage: demand.Waiting, Obstacle: limit, Next: at(4)}}}
	v := Of(s.Scene(), p)
	answer := ask(t, v, "816")
	assert.Equal(t, limit, answer.Cause)
	assert.Equal(t, "machines are requested again from 12:04:00 (in 4m)", answer.Next)
	assert.Contains(t, answer.Text(true), "Slurm's reason: AssocGrpNodeLimit.")
	assert.Contains(t, v.table(), "pending in partition train: "+limit)
}

func TestReadmesSampleIsAnAnswer(t *testing.T) {
	s := newWorld()
	set := s.Config.FlexSetOf("alpha-a3-0")
	set.Zones, set.Flex.ProvisionTimeout = []string{"us-central1-a", "us-central1-b"}, 0
	s.Snap.Templates[set.Template] = scenetest.FlexTemplate("a3-megagpu-8g")
	s.behindDoor(812, "alpha-a3-[0-1]")
	asked := request("a1", mig.Accepted, "alpha-a3-[0-1]", "none left", 89*time.Minute)
	asked.Duration += 10 * time.Minute
	s.group(812, asked)
	v := s.view()
	v.Rows[0].Estimate = &Estimate{Median: Seconds(130 * time.Minute), P90: Seconds(11 * time.Hour), Requests: 43, Oldest: noon.AddDate(0, 0, -14)}
	answer := ask(t, v, "812")
	assert.Contains(t, must.Text("../../README.md"), "\n"+answer.Text(false)+"```\n")
}
