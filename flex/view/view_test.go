package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

func TestTableShowsBlockedNodesetsAndUnclearStates(t *testing.T) {
	s := newWorld()
	s.block(twoBoots)
	s.Nodes("alpha-a3-0", "IDLE+CLOUD+LEVITATING")
	s.because("alpha-a3-1", "DOWN+CLOUD+POWERED_DOWN", "ResumeTimeout reached", "slurm")
	s.waiting(812, "alpha-a3-2")
	s.forbidden("not allowed")
	v := s.view()
	v.Rows[0].State, v.Rows[0].Obstacle = Returning, "not allowed"
	text := v.Table(Layout{Now: at(60), Width: Width})
	narrow(t, text, Width)
	contains(t, text,
		"    returned to Slurm: not allowed\n",
		"  alpha-a3-0: state IDLE+CLOUD+LEVITATING is not known to slurmflex\n", "  alpha-a3-1 down: ResumeTimeout reached\n",
		"a3 is blocked until 13:00:00 because 2 machines in a row failed to boot; to unblock it: slurmflex\nunblock a3\n",
		"problem: node alpha-a3-0 is left alone: state IDLE+CLOUD+LEVITATING is not understood\n")
}

func TestTableShowsLimits(t *testing.T) {
	s := newWorld()
	s.limit(120)
	s.waits()
	v := s.view()
	assert.Contains(t, v.table(), "\nlimit ada: user ada has used 120 of 500 GPU hours of November; its machines and requests may take 64 more\n")
	s.Snap.Private = true
	assert.Empty(t, s.view().Limits, "Slurm hides users")
}

func TestUnreadThingsAreNotReportedAsAbsent(t *testing.T) {
	s := newWorld()
	s.unseen(scenetest.US, "list groups of us-central1: 403 forbidden: Required 'compute.instanceGroupManagers.list' permission for 'projects/demo'")
	s.Snap.Instances, s.Snap.Groups = nil, nil
	text := s.table()
	contains(t, text, "\nthe state of waiting nodes and machines is unknown\n", "nodeset a3: 8 nodes, 8 powered down; its requests are unknown\n")
	assert.Contains(t, unwrapped(text),
		"problem: region us-central1 could not be read, and nothing is done in it: list groups of us-central1: 403 forbidden: Required 'compute.instanceGroupManagers.list' permission for 'projects/demo'", "the whole reason")
}

// A6: also with --requeue=expedite (EXPEDITING).
func TestHeldJobsHaveAReasonAndAReleaseCommand(t *testing.T) {
	s := newWorld()
	for _, id := range []uint32{816, 817, 818} {
		s.pending(id, "JobHeldAdmin")
		s.Snap.Told[id] = memo.OwnComment + "CONDITION_NOT_MET: Constraint violated."
	}
	s.Snap.Jobs[1].State = slurm.JobExpediting
	s.Snap.Told[817] = memo.OwnComment + "no template"
	s.pending(819, "JobHeldAdmin")
	s.pending(820, "Priority")
	s.Snap.Told[820] = memo.OwnComment + "no capacity"
	text := s.table()
	contains(t, text, "\n    held by slurmflex: CONDITION_NOT_MET: Constraint violated; once fixed: scontrol release 816,818\n",
		"\n    held by slurmflex: no template; once fixed: scontrol release 817\n")
	assert.Equal(t, 2, strings.Count(text, "scontrol release"))
}

func TestEachComponentOfAHeldJobHasItsReason(t *testing.T) {
	s := newWorld()
	for _, id := range []uint32{830, 831} {
		s.pending(id, "JobHeldAdmin").HetID = 830
	}
	s.Snap.Told[831] = memo.OwnComment + "no template"
	assert.True(t, JobOf(s.Scene(), &s.Snap.Jobs[0]).isHeldByUs())
}

func TestJSONMatchesTheDocumentationAndReadsBack(t *testing.T) {
	v := busy().view()
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(v))
	golden(t, "status.json", text.String())

	var again View
	require.NoError(t, json.Unmarshal(text.Bytes(), &again))
	assert.Equal(t, v, again)
	assert.NotContains(t, text.String(), "null")
}

func TestEmptyViewHasEmptyListsInsteadOfNull(t *testing.T) {
	s := newWorld()
	s.Snap = scene.Snapshot{Now: noon}
	text, err := json.Marshal(s.view())
	require.NoError(t, err)
	assert.NotContains(t, string(text), "null")
	contains(t, s.table(), "no nodes waiting, no machines running\n", "nodeset a3: 8 nodes, none of them known to Slurm; 0 active requests\n")
}

func TestHiddenJobsHaveNoOwner(t *testing.T) {
	s := busy()
	s.Snap.Private = true
	s.Snap.Groups[0].Stamp.Job, s.Snap.Groups[0].Stamp.User = 0, mig.Sharers(0, "ada").User
	v := s.view()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	story := ask(t, v, "812")
	for _, shown := range []string{string(text), v.table(), story.Text(true)} {
		assert.NotContains(t, shown, "ada")
		assert.Contains(t, shown, "812")
	}
}

func TestBootingRowSaysWhatFollowsBootTimeout(t *testing.T) {
	for want, given := range map[action.Then]func(*world){
		"requeue":    func(s *world) { s.waiting(812, "alpha-a3-0") },
		"replace":    func(s *world) { s.waiting(812, "alpha-a3-0"); s.Snap.Records[812] = slurm.JobRecord{Batch: true} },
		"power down": func(s *world) { s.Nodes("alpha-a3-0", "IDLE+CLOUD+POWERING_UP") },
	} {
		s := newWorld()
		given(s)
		s.machines("alpha-a3-job-812", "alpha-a3-0", time.Hour)
		s.Snap.Instances[2].Created = at(-1)
		at := slices.IndexFunc(s.view().Rows, func(r Row) bool { return r.State == Booting })
		require.GreaterOrEqual(t, at, 0, want)
		assert.Equal(t, want, s.view().Rows[at].Then)
	}
}

func TestBootingRowReachesItsLimitWithItsOldestMachine(t *testing.T) {
	s := newWorld()
	s.Nodes("alpha-a3-[0-2]", "IDLE+CLOUD+POWERING_UP")
	s.machines("alpha-a3-job-812", "alpha-a3-[0-2]", time.Hour)
	for i, minutes := range []int{-1, -3, -2} {
		s.Snap.Instances[2+i].Created = at(minutes)
	}
	rows := keep(s.view().Rows, func(r Row) bool { return r.State == Booting })
	require.Len(t, rows, 1)
	assert.Equal(t, 3, rows[0].Count)
	assert.Equal(t, at(-3), rows[0].Since)
	assert.Equal(t, at(-3).Add(s.Config.FlexSet("a3").Flex.BootTimeout), rows[0].GiveUpAt)
}

func TestRowStateFollowsMachinesAndRequests(t *testing.T) {
	tests := map[string]struct {
		given func(*world)
		want  State
	}{
		"a request of a job that was cancelled": {
			func(s *world) {
				s.Nodes("alpha-a3-0", "IDLE+CLOUD+POWERING_UP")
				s.group(812, request("a1", mig.Accepted, "alpha-a3-0", "", time.Hour))
			}, Cancelling,
		},
		"machines with a drained node": {
			func(s *world) {
				s.because("alpha-a3-0", "IDLE+CLOUD+DRAIN", "bad GPU", "root")
				s.machines("alpha-a3-job-812", "alpha-a3-0", time.Hour)
			}, Down,
		},
		"machines of the legacy path, which are in no group": {
			func(s *world) {
				s.Nodes("alpha-a3-0", "IDLE+CLOUD")
				s.machines("none", "alpha-a3-0", time.Hour)
				in := &s.Snap.Instances[2]
				in.Group, in.Stamp = "", mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3"}
			}, Idle,
		},
		"machines that Slurm has powered down": {
			func(s *world) { s.machines("alpha-a3-job-812", "alpha-a3-0", time.Hour) }, Deleting,
		},
		"machines that boot, and that their job has left to others": {
			func(s *world) {
				s.reserve(memo.CoverReservation("alpha", memo.BusyCover, noon), "alpha-a3-0", time.Time{}).End = at(24 * 60)
				s.machines("alpha-a3-job-812", "alpha-a3-0", time.Hour)
				s.Snap.Groups[2].Stamp = mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 812}
			}, Booting,
		},
		"a request with all its machines created": {
			func(s *world) {
				s.Nodes("alpha-a3-0", "IDLE+CLOUD")
				s.machines("alpha-a3-job-812", "alpha-a3-0", time.Hour)
				s.Snap.Groups[2].Requests[0].State = mig.Accepted
			}, Idle,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newWorld()
			test.given(s)
			var states []State
			for _, r := range s.view().Rows {
				if r.NodeSet != "st" {
					states = append(states, r.State)
				}
			}
			assert.Equal(t, []State{test.want}, states)
		})
	}
}

func TestForeignMachinesAreNotShown(t *testing.T) {
	s := newWorld()
	s.Snap.Instances = append(s.Snap.Instances, mig.Instance{Name: "alpha-a3-0", Region: scenetest.US, Group: "theirs", Status: "RUNNING"})
	s.Snap.Groups = append(s.Snap.Groups, mig.Group{Name: "theirs", Region: scenetest.US, Stamp: mig.Stamp{Cluster: "beta", NodeSet: "a3"}})
	assert.Len(t, s.view().Rows, 2, "the static nodes'")
	assert.Len(t, s.view().Groups, 2)
}

func TestJobsOnASharedNodeAreSortedByPriority(t *testing.T) {
	s := newWorld()
	s.job(820, "always", "alpha-st-0", slurm.JobRunning)
	s.job(819, "always", "alpha-st-0", slurm.JobRunning).User = "grace"
	s.Nodes("alpha-st-0", "MIXED+CLOUD")
	row := s.view().Rows[0]
	assert.Equal(t, []uint32{819, 820}, row.Jobs)
	assert.Equal(t, []string{"819", "820"}, row.ShownAs)
	assert.Equal(t, []string{"grace", "ada"}, row.Users)
}

func TestWordNamesTheStateOfANode(t *testing.T) {
	for state, want := range map[string]string{
		"IDLE+CLOUD+POWERED_DOWN":                 "powered down",
		"IDLE+CLOUD+POWERING_DOWN":                "powering down",
		"ALLOCATED+CLOUD+POWERED_DOWN":            "powering up",
		"IDLE+CLOUD+POWERED_DOWN+POWER_UP":        "powering up",
		rising:                                    "powering up",
		"ALLOCATED+CLOUD":                         "in use",
		"MIXED+CLOUD+POWER_DOWN":                  "in use",
		"IDLE+CLOUD+COMPLETING":                   "in use",
		"IDLE+CLOUD":                              "idle",
		"IDLE+CLOUD+NOT_RESPONDING":               "not responding",
		"DOWN+CLOUD+POWERED_DOWN":                 "down",
		"ERROR+CLOUD":                             "down",
		"IDLE+CLOUD+DRAIN":                        "drained",
		"ALLOCATED+CLOUD+DRAIN":                   "draining",
		"IDLE+CLOUD+FAIL":                         "failing",
		"IDLE+CLOUD+LEVITATING":                   "not understood",
		"FUTURE":                                  "not understood",
		"IDLE+CLOUD+PLANNED+RESERVED+MAINTENANCE": "idle",
	} {
		assert.Equal(t, want, Word(slurm.ParseState(state)), state)
	}
}

func TestSpansAndMomentsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 12 * time.Minute: "12m", 90 * time.Minute: "1h30m", 51 * time.Hour: "2d03h",
	} {
		assert.Equal(t, want, Span(d))
	}
	berlin := time.FixedZone("CET", 3600)
	now := noon.In(berlin)
	assert.Equal(t, "13:00:00", Moment(noon, now))
	assert.Equal(t, "00:30 on Nov 22", Moment(noon.Add(11*time.Hour+30*time.Minute), now))
	assert.Equal(t, "13:00 on Jan 1, 2027", Moment(noon.AddDate(0, 0, 41), now))
	assert.Equal(t, "ab…", Clip("ab cd", 4))
	assert.Equal(t, "a3-…", Clip("a3-[64]", 4))
	assert.Equal(t, "a-…", Clip("a-1234", 5), "no number is cut in two")
	assert.Empty(t, Clip("ab", 0))
	assert.Equal(t, "…[2-4]", clipStart("alpha-a3-[2-4]", 6))
	assert.Equal(t, "…-4]", clipStart("alpha-a3-[123-4]", 6))
	assert.Equal(t, "ab", clipStart("ab", 2))
	assert.Equal(t, "a [2Jb ü", Printable("a\x1b[2Jb\nü"))
}

// C4: the last reading of an unreadable region is shown with its time.
func TestLastReadingOfARegionIsShownWithItsTime(t *testing.T) {
	s := newWorld()
	s.requested(mig.Trouble{})
	s.unread(scenetest.US)
	contains(t, unwrapped(s.table()), "last known at 11:53:00; gives up at 11:00 on Nov 22",
		"region us-central1 could not be read; last known at 11:53:00: 1 of 2 active requests", "last known: 1 active request")
}

func TestUnrequestedGPUsAreUnusedOnExclusiveNodes(t *testing.T) {
	for _, test := range []struct {
		name, partition, machine string
		asked, want              int
	}{
		{"1 of 8 in an exclusive partition", "train", "a3-highgpu-8g", 1, 7},
		{"a machine type that is not known", "train", "x9-new-8g", 1, 0},
		{"a partition with shared nodes", "always", "a3-highgpu-8g", 1, 0},
		{"several partitions", "train,short", "a3-highgpu-8g", 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newWorld()
			for link, template := range s.Snap.Templates {
				template.MachineType = test.machine
				s.Snap.Templates[link] = template
			}
			j := s.pending(816, "Resources")
			j.Partition, j.Gres, j.NodeCount = test.partition, slurm.Gres{Name: "gpu", Count: test.asked}.String(), 2
			got := s.view().Jobs[0]
			assert.Equal(t, []int{2, test.asked, test.want}, []int{got.NodeCount, got.GPUs, got.Unused})
		})
	}
}

func TestSelectRefusesFiltersThatCannotMatch(t *testing.T) {
	v := View{NodeSets: []NodeSet{{Name: "a3", Partitions: []string{"train"}}}, Jobs: []Job{{ID: 812, Partition: "train"}}}
	for says, f := range map[string]Filter{
		`unknown flex-start nodeset "a4"; choose one of: a3`:       {NodeSet: "a4"},
		`unknown flex-start partition "cpu"; choose one of: train`: {Partition: "cpu"},
		"Slurm hides the users of jobs (PrivateData)":              {User: "ada"},
	} {
		_, err := v.Select(f)
		require.ErrorContains(t, err, says)
		assert.Equal(t, f.User == "", config.IsMisuse(err), says)
	}
}

func TestFilterKeepsTheUsersSharedGroup(t *testing.T) {
	s := newWorld()
	s.waiting(812, "alpha-a3-0")
	s.Group("alpha-a3-usr-KEY", mig.Stamp{NodeSet: "a3", User: mig.Sharers(0, "ada").User}, request("a1", mig.Accepted, "alpha-a3-0", "", time.Hour))
	v := s.view()
	part := v.only(Filter{User: "ada"})
	for _, row := range part.Rows {
		if row.Group != "" {
			require.NotEmpty(t, part.Groups, "row %s names group %s", row.Nodes, row.Group)
		}
	}
}

// Its node has room, but it does not end before the node's lease.
func TestJobThatWaitsForMaintenanceLacksNoNodes(t *testing.T) {
	for reason, lacks := range map[string]bool{"Resources": true, "ReqNodeNotAvail, Reserved for maintenance": false} {
		s := newWorld()
		s.Config.Options.Waiting = config.Configuring
		j := s.halfFull()
		j.NodeCount, j.Reason = 2, reason
		found, _, err := s.view().Find("816")
		require.NoError(t, err)
		assert.Equal(t, lacks, found.Obstacle != "", reason)
	}
}
