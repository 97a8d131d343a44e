package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func unread(rows ...slurm.UnreadRow) part {
	return func(s *setting) { s.Unread = append(s.Unread, rows...) }
}

func unreadJob(name string, state slurm.JobState, nodes ...string) slurm.UnreadRow {
	return slurm.UnreadRow{Kind: slurm.JobRow, Name: name, State: state, Nodes: nodes, NodesKnown: nodes != nil, Why: "time"}
}

// A1
func TestUnreadableJobKeepsWhatItMayNeed(t *testing.T) {
	exclusive := func(s *setting) {
		s.Partitions = []slurm.Partition{{Name: "train", Exclusive: true, Begins: true}, {Name: "shared", Begins: true}}
	}
	forJob7 := func(state mig.RequestState) part {
		return groupOf(7, request("a1", state, "alpha-a3-0", time.Hour))
	}
	in := func(name string, given scene.Snapshot, want ...string) {
		situations(t, alphaConfig)(name, given, want...)
		assert.Contains(t, planOf(alphaConfig, given).Problems.Texts(),
			"a row of Slurm's output was skipped: "+given.Unread[0].String(), name)
	}
	in("takes nothing from the others", seen(unread(unreadJob("7", slurm.JobPending)), awaits(8, "alpha-a3-[0-1]")),
		"create group alpha-a3-job-8 in us-central1",
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-8/a1 for 00:15:00")
	in("with unknown nodes holds every node that is not powered down", seen(unread(unreadJob("", "")),
		nodes("alpha-a3-0", poweredDown), freed("alpha-a3-1", risingIdle), nodes("alpha-a3-2", aboutToRise),
		groupOf(7, request("a1", mig.Accepted, "alpha-a3-1", time.Hour)), machinesOf(7, "alpha-a3-0")),
		"delete instances alpha-a3-0 of alpha-a3-job-7")
	in("with unknown nodes may be on a node outside the configuration",
		seen(unread(unreadJob("", "")), forJob7(mig.Succeeded), machinesOf(7, "alpha-a3-3000"), func(s *setting) {
			s.Instances[0].Created = noon.Add(-time.Hour)
		}))
	in("with an unknown ID may be the job with the counted attempts", seen(unread(unreadJob("", "")),
		groupOf(7, failed("a1", "alpha-a3-0", mig.CauseCapacity, time.Minute))))
	in("does not keep a job from being returned that has its nodes to itself", seen(exclusive,
		unread(unreadJob("", "")), awaits(8, "alpha-a3-0"),
		groupOf(8, failed("a1", "alpha-a3-0", mig.CauseConfig, time.Second))),
		"return alpha-a3-0 to Slurm and hold job 8: STOCKOUT: none")
	in("may share the nodes of a job of a partition that is shared", seen(exclusive, unread(unreadJob("", "")),
		awaits(8, "alpha-a3-0"), shared,
		groupOf(8, failed("a1", "alpha-a3-0", mig.CauseConfig, time.Second))))
}

// A1
func TestUnreadableNodeIsLeftAloneAndKeepsItsReservation(t *testing.T) {
	const reservation = "slurmflex-alpha-1795266000"
	row := slurm.UnreadRow{Kind: slurm.NodeRow, Name: "alpha-a3-0", Why: "no State="}
	p := alphaPlan(unread(row), func(s *setting) {
		s.Nodes = []slurm.Node{{Name: "alpha-a3-0"}}
		s.Reservations = []slurm.Reservation{{Name: reservation, Nodes: []string{"alpha-a3-0"}, End: noon.Add(70 * time.Minute)}}
	}, groupOf(7, request("a1", mig.Accepted, "alpha-a3-0", time.Hour)), vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED"))

	assert.Empty(t, actions(p))
	assert.Equal(t, []string{"a row of Slurm's output was skipped: node alpha-a3-0 cannot be read: no State="}, p.Problems.Texts())
}

// A1
func TestJobWithAnUnreadableNodeIsNotRequestedInParts(t *testing.T) {
	given := seen(unread(slurm.UnreadRow{Kind: slurm.NodeRow, Why: "not a node record"}), nodes("alpha-a3-0", poweringUp),
		job(8, "train", "15:00", configured, "alpha-a3-[0-1]"))
	waits := map[string]string{
		"alpha-a3-0": "the row of node alpha-a3-1 cannot be read, and all nodes of the job are requested together",
		"alpha-a3-1": "no row of Slurm's list of nodes shows it, as far as the list can be read",
	}
	p := planOf(alphaConfig, given)
	assert.Empty(t, actions(p))
	for _, w := range p.Waits {
		assert.Equal(t, waits[slurm.Fold(w.Nodes)], w.Obstacle)
	}
	assert.Len(t, p.Waits, len(waits))
}

// A1
func TestUnreadableReservationIsNeitherRemadeNorDeleted(t *testing.T) {
	end := time.Unix(1795266000, 0)
	given := []part{
		runsOn(7, "alpha-a3-0"), groupOf(7), machinesOf(7, "alpha-a3-0"),
		func(s *setting) { s.Instances[0].Terminates = end },
	}
	assert.NotEmpty(t, planned(seen(given...)), "without the row it is made")
	for _, name := range []string{"slurmflex-alpha-1795266000", "slurmflex-alpha-1795260000"} {
		row := slurm.UnreadRow{Kind: slurm.ReservationRow, Name: name, Why: "time"}
		p := alphaPlan(append(given, unread(row))...)
		assert.NotContains(t, actions(p), "delete reservation "+name)
		assert.NotContains(t, actions(p), "reserve alpha-a3-0 from "+name)
		assert.Contains(t, p.Problems.Texts(), "a row of Slurm's output was skipped: reservation "+name+" cannot be read: time")
	}
}

// D11: a truncated configuration file lacked a nodeset.
func TestUnknownNodesKeepTheirReservation(t *testing.T) {
	const at13 = "slurmflex-alpha-1795266000"
	end := noon.Add(time.Hour)
	strangers := func(s *setting) { s.Reservations[len(s.Reservations)-1].Nodes = []string{"alpha-a3-0", "alpha-gone-0"} }
	in := situations(t, alphaConfig)
	in("of a nodeset that is missing", seen(reserved(at13, "alpha-gone-0", end)))
	in("also beside a node that is powered down", seen(nodes("alpha-a3-0", poweredDown), reserved(at13, "alpha-a3-0", end), strangers))
	in("it is not extended for them", seen(reserved(at13, "alpha-gone-0", end), func(s *setting) { s.Now = end.Add(9 * time.Minute) }))
}

// D11: the stamp of a machine could not be read.
func TestStrangersMachineEndsNoReservation(t *testing.T) {
	const at13 = "slurmflex-alpha-1795266000"
	situations(t, alphaConfig)("of a node that is up", seen(runsOn(7, "alpha-a3-0"), vms("alpha-a3-0", "alpha-a3-job-7", ""),
		func(s *setting) { s.Instances[0].Terminates = noon.Add(time.Hour) }, reserved(at13, "alpha-a3-0", noon.Add(time.Hour))))
}

// A5: the end of the lease was in 9999, or 1970, for one pass.
func TestReservationStaysWhileTheLeaseEndIsUnknown(t *testing.T) {
	assert.Empty(t, planned(seen(runsOn(7, "alpha-a3-0"), groupOf(7), machinesOf(7, "alpha-a3-0"),
		reserved("slurmflex-alpha-1795266000", "alpha-a3-0", time.Time{}))))
}

// A7: Slurm 26.05.0 to 26.05.4, after a reconfigure.
func TestPoweredDownNodeOfUnknownBaseCountsAsIdle(t *testing.T) {
	const unknown = "UNKNOWN+CLOUD+POWERED_DOWN"
	p := alphaPlan(nodes("alpha-a3-0", unknown), nodes("alpha-one-0", unknown),
		groupOf(7), machinesOf(7, "alpha-a3-0"))

	assert.Equal(t, []string{"delete instances alpha-a3-0 of alpha-a3-job-7", "set nodes alpha-one-0 power_up"}, actions(p))
	assert.Empty(t, p.Problems.Texts())

	p = alphaPlan(nodes("alpha-a3-0", "UNKNOWN+CLOUD"), vms("alpha-a3-0", "", "TERMINATED"))
	assert.Empty(t, actions(p))
	assert.Equal(t, []string{"node alpha-a3-0 is left alone: state UNKNOWN+CLOUD is not understood"}, p.Problems.Texts())
}

// B2: something that could not be read is not absent. slurmflex leaves it and the nodes that it
// concerns alone, and reports it.
func TestUnreadableThingsAreLeftAlone(t *testing.T) {
	spoilt := func(s *setting) { s.Groups[len(s.Groups)-1].Unread = "description: not a complete stamp" }
	veiled := func(s *setting) { s.Instances[0].Unread = "status: it is missing" }
	const groupProblem = "group alpha-a3-job-7 in us-central1 is left alone, because it cannot be read; if this lasts, delete it once no job uses it: description: not a complete stamp"
	const vmProblem = "instance alpha-a3-0 in us-central1-a is left alone, because it cannot be read; if this lasts, delete it once no job uses it: status: it is missing"
	waits := job(7, "train", "15:00", configured, "alpha-a3-[0-1]")
	theirs := groupOf(7, request("a1", mig.Accepted, "alpha-a3-[0-1]", time.Hour))
	in := func(name string, given scene.Snapshot, problem string) {
		t.Run(name, func(t *testing.T) {
			p := planOf(alphaConfig, given)
			for _, a := range p.Actions {
				assert.IsType(t, action.CommentJob{}, a, "no other action is needed")
			}
			assert.Contains(t, p.Problems.Texts(), problem)
		})
	}
	in("a job's group with the request that serves it", seen(nodes("alpha-a3-[0-1]", poweringUp), waits, theirs, spoilt), groupProblem)
	in("a node that powers up without a job", seen(nodes("alpha-a3-[0-1]", risingIdle), theirs, spoilt), groupProblem)
	in("a machine of a node that is down", seen(nodes("alpha-a3-0", poweredDown), groupOf(7),
		vms("alpha-a3-0", "alpha-a3-job-7", ""), veiled), vmProblem)
}
