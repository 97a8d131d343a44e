package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/slurm"
)

func unread(rows ...slurm.UnreadRow) func(*setting) {
	return func(s *setting) { s.Unread = append(s.Unread, rows...) }
}

func unreadJob(name string, state slurm.JobState, nodes ...string) slurm.UnreadRow {
	return slurm.UnreadRow{Kind: slurm.JobRow, Name: name, State: state, Nodes: nodes, NodesKnown: nodes != nil, Why: "time"}
}

// A1
func TestAJobThatCannotBeRead(t *testing.T) {
	const stopped = "ALLOCATED+CLOUD+NOT_RESPONDING"
	exclusive := func(s *setting) { s.Partitions = []slurm.Partition{{Name: "train", Exclusive: true}, {Name: "shared"}} }
	forJob7 := func(state mig.RequestState) func(*setting) {
		return group("alpha-a3-job-7", forJob("a3", 7), request("a1", state, "alpha-a3-0", time.Hour))
	}
	for name, c := range map[string]struct {
		given Snapshot
		want  []string
	}{
		"takes nothing from the others": {
			given: seen(unread(unreadJob("7", slurm.JobPending)), nodes("alpha-a3-[0-1]", poweringUp),
				job(8, "train", "15:00", slurm.JobConfiguring, "alpha-a3-[0-1]")),
			want: []string{"create group alpha-a3-job-8 in us-central1", "request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-8/a1 for 00:15:00"},
		},
		"keeps the machine of its node when Slurm has powered that down": {
			given: seen(unread(unreadJob("7", slurm.JobRunning, "alpha-a3-0")), nodes("alpha-a3-[0-1]", poweredDown),
				forJob7(mig.Succeeded), vms("alpha-a3-[0-1]", "alpha-a3-job-7", "RUNNING")),
			want: []string{"delete instances alpha-a3-1 of alpha-a3-job-7"},
		},
		"keeps its machine also where it has stopped": {
			given: seen(unread(unreadJob("7", slurm.JobRunning, "alpha-a3-0")), nodes("alpha-a3-0", stopped),
				forJob7(mig.Succeeded), vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED")),
		},
		"keeps a request for its node": {
			given: seen(unread(unreadJob("7", slurm.JobConfiguring, "alpha-a3-0")), freed("alpha-a3-0", risingIdle), forJob7(mig.Accepted)),
		},
		"keeps its node powering up": {
			given: seen(unread(unreadJob("7", slurm.JobConfiguring, "alpha-a3-0")), freed("alpha-a3-[0-1]", risingIdle)),
			want:  []string{"set nodes alpha-a3-1 power_down_force"},
		},
		"holds no node once it is pending, though its row names some": {
			given: seen(unread(unreadJob("7", slurm.JobPending, "alpha-a3-0")), freed("alpha-a3-0", risingIdle)),
			want:  []string{"set nodes alpha-a3-0 power_down_force"},
		},
		"whose nodes are not known holds every node that is not powered down": {
			given: seen(unread(unreadJob("", "")), nodes("alpha-a3-0", poweredDown), freed("alpha-a3-1", risingIdle), nodes("alpha-a3-2", aboutToRise),
				group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-1", time.Hour)), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING")),
			want: []string{"delete instances alpha-a3-0 of alpha-a3-job-7"},
		},
		"whose nodes are not known may be on one that the configuration knows no more": {
			given: seen(unread(unreadJob("", "")), forJob7(mig.Succeeded), vms("alpha-a3-3000", "alpha-a3-job-7", "RUNNING"), func(s *setting) {
				s.Instances[0].Created = noon.Add(-time.Hour)
			}),
		},
		"whose id is not known may be the one whose attempts are counted": {
			given: seen(unread(unreadJob("", "")), group("alpha-a3-job-7", forJob("a3", 7), failed("a1", "alpha-a3-0", mig.CauseCapacity, time.Minute))),
		},
		"does not keep a job from being returned that has its nodes to itself": {
			given: seen(exclusive, unread(unreadJob("", "")), nodes("alpha-a3-0", poweringUp), job(8, "train", "15:00", slurm.JobConfiguring, "alpha-a3-0"),
				group("alpha-a3-job-8", forJob("a3", 8), failed("a1", "alpha-a3-0", mig.CauseConfig, time.Second))),
			want: []string{"return alpha-a3-0 to Slurm and hold job 8: STOCKOUT: none"},
		},
		"may share the nodes of a job of a partition that is shared": {
			given: seen(exclusive, unread(unreadJob("", "")), nodes("alpha-a3-0", poweringUp), job(8, "shared", "15:00", slurm.JobConfiguring, "alpha-a3-0"),
				group("alpha-a3-job-8", forJob("a3", 8), failed("a1", "alpha-a3-0", mig.CauseConfig, time.Second))),
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(alphaConfig(t), c.given)
			assert.Equal(t, c.want, actions(p))
			assert.Contains(t, p.Problems.Texts(), "a row of Slurm's output was skipped: "+c.given.Unread[0].String())
		})
	}
}

// A1
func TestANodeThatCannotBeReadIsLeftAloneAndKeepsItsReservation(t *testing.T) {
	const reservation = "slurmflex-alpha-1795266000"
	row := slurm.UnreadRow{Kind: slurm.NodeRow, Name: "alpha-a3-0", Why: "no State="}
	p := Compute(alphaConfig(t), seen(unread(row), func(s *setting) {
		s.Nodes = []slurm.Node{{Name: "alpha-a3-0"}}
		s.Reservations = []slurm.Reservation{{Name: reservation, Nodes: []string{"alpha-a3-0"}}}
	}, group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour)), vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED")))
	assert.Empty(t, actions(p))
	assert.Equal(t, []string{"a row of Slurm's output was skipped: node alpha-a3-0 cannot be read: no State="}, p.Problems.Texts())
}

// A1
func TestAGangOfWhichARowCannotBeReadIsNotAskedForInParts(t *testing.T) {
	for name, c := range map[string]struct {
		row   slurm.UnreadRow
		given func(*setting)
		wait  string
	}{
		"of a node with a name": {
			slurm.UnreadRow{Kind: slurm.NodeRow, Name: "alpha-a3-1", Why: "no State="},
			func(s *setting) { s.Nodes = append(s.Nodes, slurm.Node{Name: "alpha-a3-1"}) },
			"Slurm shows it as UNKNOWN, which slurmflex does not understand",
		},
		"of a node without one": {
			slurm.UnreadRow{Kind: slurm.NodeRow, Why: "not a node record"},
			func(*setting) {},
			"no row of Slurm's list of nodes shows it, as far as the list can be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(alphaConfig(t), seen(unread(c.row), nodes("alpha-a3-0", poweringUp), c.given,
				job(8, "train", "15:00", slurm.JobConfiguring, "alpha-a3-[0-1]")))
			assert.Empty(t, actions(p))
			waits := map[string]string{}
			for _, w := range p.Waits {
				waits[slurm.Fold(w.Nodes)] = w.Obstacle
			}
			assert.Equal(t, map[string]string{
				"alpha-a3-0": "the row of node alpha-a3-1 cannot be read, and all nodes of the job are requested together",
				"alpha-a3-1": c.wait,
			}, waits)
		})
	}
}

// A1
func TestAReservationThatCannotBeReadIsNeitherMadeAgainNorDeleted(t *testing.T) {
	end := time.Unix(1795266000, 0)
	given := []func(*setting){
		nodes("alpha-a3-0", running), job(7, "train", "15:00", slurm.JobRunning, "alpha-a3-0"),
		group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"),
		func(s *setting) { s.Instances[0].Terminates = end },
	}
	assert.NotEmpty(t, actions(Compute(alphaConfig(t), seen(given...))), "without the row it is made")
	for _, name := range []string{"slurmflex-alpha-1795266000", "slurmflex-alpha-1795260000"} {
		row := slurm.UnreadRow{Kind: slurm.ReservationRow, Name: name, Why: "time"}
		p := Compute(alphaConfig(t), seen(append(given, unread(row))...))
		assert.NotContains(t, actions(p), "delete reservation "+name)
		assert.NotContains(t, actions(p), "reserve alpha-a3-0 from "+name)
		assert.Contains(t, p.Problems.Texts(), "a row of Slurm's output was skipped: reservation "+name+" cannot be read: time")
	}
}

// A5: the end was in 9999, or 1970, for one pass.
func TestAReservationStaysWhileTheEndOfItsNodesLeaseIsNotKnown(t *testing.T) {
	p := Compute(alphaConfig(t), seen(
		nodes("alpha-a3-0", running), job(7, "train", "15:00", slurm.JobRunning, "alpha-a3-0"),
		group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"),
		func(s *setting) {
			s.Reservations = []slurm.Reservation{{Name: "slurmflex-alpha-1795266000", Nodes: []string{"alpha-a3-0"}}}
		},
	))
	assert.Empty(t, actions(p))
}

// A7: Slurm 26.05.0 to 26.05.4, after a reconfigure.
func TestANodeOfUnknownBaseThatIsPoweredDownIsAsOneThatIsIdle(t *testing.T) {
	const unknown = "UNKNOWN+CLOUD+POWERED_DOWN"
	p := Compute(alphaConfig(t), seen(nodes("alpha-a3-0", unknown), nodes("alpha-one-0", unknown),
		group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING")))
	assert.Equal(t, []string{"delete instances alpha-a3-0 of alpha-a3-job-7", "set nodes alpha-one-0 power_up"}, actions(p))
	assert.Empty(t, p.Problems.Texts())

	p = Compute(alphaConfig(t), seen(nodes("alpha-a3-0", "UNKNOWN+CLOUD"), vms("alpha-a3-0", "", "TERMINATED")))
	assert.Empty(t, actions(p))
	assert.Equal(t, []string{"node alpha-a3-0 is left alone: state UNKNOWN+CLOUD is not understood"}, p.Problems.Texts())
}

// A job whose row cannot be read may wait for what was requested for it.
func TestARequestOfAJobThatCannotBeReadIsNotCancelledForALongerOne(t *testing.T) {
	given := func(parts ...func(*setting)) Snapshot {
		return seen(append(parts, nodes("alpha-a3-0", "ALLOCATED+CLOUD+POWERED_DOWN"),
			group("alpha-a3-job-2", forJob("a3", 2), request("a1", mig.Accepted, "alpha-a3-0", 15*time.Minute)),
			job(5, "shared", "365-00:00:00", slurm.JobConfiguring, "alpha-a3-0"))...)
	}
	cancels := func(s Snapshot) bool {
		return slices.ContainsFunc(Compute(alphaConfig(t), s).Actions, func(a Action) bool { _, ok := a.(CancelRequest); return ok })
	}
	assert.True(t, cancels(given()), "its job has left the queue")
	assert.False(t, cancels(given(unread(slurm.UnreadRow{Kind: slurm.JobRow, Name: "2", Why: "time"}))))
}
