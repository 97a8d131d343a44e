package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// waitsFor is a job of half an hour that was given nodes of nodeset fix twenty minutes ago,
// and whose machines are requested.
func waitsFor(id uint32, list string) part {
	return and(nodes(list, "ALLOCATED+CLOUD+POWERING_UP"), givenTo(id, list), group(memo.JobGroup("alpha", "fix", id, 0), forJob("fix", id),
		request("a1", mig.Accepted, list, time.Hour)))
}

func givenTo(id uint32, list string) part {
	return and(job(id, "train", "30:00", configured, list), started(id, 20*time.Minute), lastJob(func(j *slurm.Job) { j.User = "ada" }))
}

// lastJobIs puts the last job into a state, on nodes.
func lastJobIs(state slurm.JobState, list string) part {
	return lastJob(func(j *slurm.Job) { j.State, j.Nodes = state, names(list) })
}

// movingTo is the reservation in which a job moves to nodes, made that long ago.
func movingTo(id uint32, list string, ago time.Duration) part {
	return and(reserved(memo.MoveReservation("alpha", id), list, noon.Add(-ago)), func(s *setting) {
		s.Reservations[len(s.Reservations)-1].End = noon.Add(slurm.MoveLimit - ago)
		for i := range s.Jobs {
			if s.Jobs[i].ID == id {
				s.Jobs[i].Reservation = memo.MoveReservation("alpha", id)
			}
		}
	})
}

const (
	kept2 = "alpha-fix-[0-1]"
	cold2 = "alpha-fix-[2-3]"
	told8 = `set AdminComment of job 8: "flex-start: moving to kept machines alpha-fix-[0-1]"`
	move8 = "move job 8 to kept machines alpha-fix-[0-1] from alpha-fix-[2-3]"
)

// idleBut is two kept machines, that have been idle for a minute and have 50 of their leases
// left, and a job of two nodes that waits for its own.
func idleBut(more ...part) scene.Snapshot {
	return seen(append([]part{idleFor(kept2, idleUp, time.Minute, 50*time.Minute), waitsFor(8, cold2)}, more...)...)
}

func TestAJobThatWaitsMovesToKeptMachines(t *testing.T) {
	in := situations(t, keeping(t))
	in("its request stays for now", idleBut(), told8, move8)
	in("nothing is requested for one that has no request yet", seen(idleFor(kept2, idleUp, time.Minute, 50*time.Minute),
		nodes(cold2, "ALLOCATED+CLOUD+POWERING_UP"), givenTo(8, cold2)), told8, move8)
	in("all of it or nothing", seen(idleFor("alpha-fix-0", idleUp, time.Minute, 50*time.Minute), waitsFor(8, cold2)))
	in("one that has one of its nodes already lacks the others only", seen(idleFor("alpha-fix-0", idleUp, time.Minute, 50*time.Minute),
		nodes("alpha-fix-1", "ALLOCATED+CLOUD"), leased("alpha-fix-1", "alpha-fix-job-7", 30*time.Minute, 40*time.Minute),
		nodes("alpha-fix-2", "ALLOCATED+CLOUD+POWERING_UP"), givenTo(8, "alpha-fix-[1-2]"),
		group("alpha-fix-job-8", forJob("fix", 8), request("a1", mig.Accepted, "alpha-fix-2", time.Hour))),
		`set AdminComment of job 8: "flex-start: moving to kept machines alpha-fix-0"`,
		"move job 8 to kept machines alpha-fix-0 from alpha-fix-2")
}

func TestAJobThatTakesLessTimeMovesToMachinesWhoseLeasesAreTooShortForMore(t *testing.T) {
	takes := func(least time.Duration) part {
		return func(s *setting) {
			s.Jobs[0].Limit.Duration = 2 * time.Hour
			s.Limits = map[uint32]scene.JobLimits{8: {MinTime: least}}
		}
	}
	moves := func(given scene.Snapshot) (limits []time.Duration) {
		for _, a := range Compute(scene.Of(keeping(t), given)).Actions {
			if m, ok := a.(MoveJob); ok {
				limits = append(limits, m.Limit)
			}
		}
		return limits
	}
	assert.Equal(t, []time.Duration{49 * time.Minute}, moves(idleBut(takes(40*time.Minute))), "for the rest of the leases")
	assert.Empty(t, moves(idleBut(takes(50*time.Minute))))
	assert.Equal(t, []time.Duration{0}, moves(idleBut()), "one that fits keeps its limit")
	back := and(nodes(cold2, poweredDown), movingTo(8, kept2, 5*time.Second), lastJobIs(slurm.JobPending, ""), important(1))
	assert.Equal(t, []time.Duration{49 * time.Minute}, moves(idleBut(takes(40*time.Minute), back)), "when it has given its nodes back")
}

func TestAMoveEndsWhenOneOfItsMachinesIsGone(t *testing.T) {
	given := func(state string) Plan {
		return Compute(scene.Of(keeping(t), idleBut(onNodes("alpha-fix-1", func(n *slurm.Node) { n.State = slurm.ParseState(state) }), nodes(cold2, poweredDown), movingTo(8, kept2, 5*time.Second),
			lastJobIs(slurm.JobPending, ""), important(1))))
	}
	assert.Contains(t, actions(given(idleUp)), "move job 8 to kept machines alpha-fix-[0-1]")
	assert.Contains(t, actions(given("IDLE+CLOUD+POWERING_DOWN+RESERVED")), "delete reservation slurmflex-alpha.job-8")
}

func TestTheMostImportantJobMovesAndToTheMachinesThatGoFirst(t *testing.T) {
	given := seen(idleFor("alpha-fix-0", idleUp, time.Minute, 50*time.Minute), nodes("alpha-fix-1", idleUp),
		onNodes("alpha-fix-1", func(n *slurm.Node) { n.LastBusyTime = noon.Add(-time.Minute) }),
		leased("alpha-fix-1", "alpha-fix-job-7", time.Hour, 40*time.Minute),
		waitsFor(8, "alpha-fix-2"), important(1), waitsFor(9, "alpha-fix-3"), important(2))
	assert.Equal(t, []string{
		"move job 9 to kept machines alpha-fix-1 from alpha-fix-3",
		"move job 8 to kept machines alpha-fix-0 from alpha-fix-2",
	}, withoutComments(Compute(scene.Of(keeping(t), given))))
}

func TestAJobStaysThat(t *testing.T) {
	noOthers := func(job func(*slurm.Job)) part { return func(s *setting) { job(&s.Jobs[0]) } }
	for name, given := range map[string]scene.Snapshot{
		"would outlive the leases":           idleBut(noOthers(func(j *slurm.Job) { j.Limit.Duration = 50 * time.Minute })),
		"has no limit":                       idleBut(noOthers(func(j *slurm.Job) { j.Limit = slurm.Limit{Kind: slurm.Unlimited} })),
		"asks for certain nodes":             idleBut(noOthers(func(j *slurm.Job) { j.Needs = "alpha-a3-0" })),
		"has a reservation":                  idleBut(noOthers(func(j *slurm.Job) { j.Reservation = "ada's" })),
		"is part of a heterogeneous job":     idleBut(noOthers(func(j *slurm.Job) { j.HetID = 8 })),
		"came when the machines were idle":   idleBut(started(8, 59*time.Second)),
		"shares its nodes":                   idleBut(noOthers(func(j *slurm.Job) { j.Partition = "shared" })),
		"is about to have its machines":      idleBut(lastGroup(func(g *mig.Group) { g.Requests[0].State = mig.Creating })),
		"has a machine that boots":           idleBut(vms("alpha-fix-2", "alpha-fix-job-8", "STAGING")),
		"a process may be requesting for":    idleBut(func(s *setting) { s.Asking = map[string]bool{"alpha-fix-2": true} }),
		"would wait for a drained node":      idleBut(onNodes("alpha-fix-0", func(n *slurm.Node) { n.State.Flags |= slurm.Drain })),
		"would have a node that is planned":  idleBut(onNodes("alpha-fix-0", func(n *slurm.Node) { n.State.Flags |= slurm.Planned })),
		"would have a node of somebody's":    idleBut(reserved("class", "alpha-fix-0", noon.Add(10*time.Minute))),
		"would have a node of no partition":  idleBut(onNodes("alpha-fix-[2-3]", func(n *slurm.Node) { n.Partitions = []string{"train"} })),
		"is judged by a clock that is ahead": idleBut(func(s *setting) { s.Skew = time.Hour }),
		"is of a region that cannot be read": idleBut(unseen("us-central1")),
		"may share its nodes with one unread": idleBut(func(s *setting) {
			s.Unread = slurm.Unread{{Kind: slurm.JobRow, Nodes: names("alpha-fix-2"), NodesKnown: true}}
		}),
		"would lose them to keep_idle at once": seen(idleFor(kept2, idleUp, 29*time.Minute+40*time.Second, 50*time.Minute), waitsFor(8, cold2), started(8, 40*time.Minute)),
	} {
		t.Run(name, func(t *testing.T) {
			for _, a := range Compute(scene.Of(keeping(t), given)).Actions {
				assert.NotEqual(t, "move_job", a.About().Kind, a.String())
			}
		})
	}
	lost := idleBut()
	lost.Requeues[8] = false
	assert.Empty(t, actions(Compute(scene.Of(keeping(t), lost))), "salloc, srun and --no-requeue")
}

func TestAMoveGoesOnWhereverItWasCutOff(t *testing.T) {
	in := situations(t, keeping(t))
	const ends, over = "cancel request alpha-fix-job-8/a1", "delete reservation slurmflex-alpha.job-8"
	moves := told(8, "flex-start: moving to kept machines alpha-fix-[0-1]")
	in("the reservation is there, and the job does not use it", idleBut(moves, movingTo(8, kept2, 5*time.Second),
		func(s *setting) { s.Jobs[0].Reservation = "" }), move8)
	in("or uses it and has its nodes still", idleBut(moves, movingTo(8, kept2, 5*time.Second)), move8)
	in("it can go there no longer", idleBut(moves, movingTo(8, kept2, 5*time.Second), lastJob(func(j *slurm.Job) { j.Limit.Duration = time.Hour })), over)
	back := and(moves, onNodes(cold2, func(n *slurm.Node) { n.State = slurm.ParseState(poweringDown) }), lastJobIs(slurm.JobPending, ""), important(1))
	in("it has given them back, and is to start; its request stays", idleBut(back, movingTo(8, kept2, 5*time.Second)),
		"move job 8 to kept machines alpha-fix-[0-1]")
	in("it is held", idleBut(back, movingTo(8, kept2, 5*time.Second), important(0)), over)
	in("it does not start within two minutes", idleBut(back, movingTo(8, kept2, 2*time.Minute)), ends, over,
		`set AdminComment of job 8: "flex-start: `+memo.Back+`"`)
	in("22.05 ends it on a node that it had", idleBut(back, movingTo(8, kept2, 5*time.Second), lastJobIs(slurm.JobCompleting, "alpha-fix-0")))
	in("it runs: its request goes", idleBut(back, movingTo(8, kept2, 5*time.Second), lastJobIs(slurm.JobRunning, kept2), started(8, 4*time.Second)), ends, over,
		`set AdminComment of job 8: "flex-start: its nodes are there, until 2026-11-21T12:50:00Z"`)
	in("it starts elsewhere", idleBut(back, movingTo(8, kept2, 5*time.Second), lastJobIs(slurm.JobConfiguring, cold2), started(8, 4*time.Second),
		onNodes(cold2, func(n *slurm.Node) { n.State = slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP") })), over)
	gone := idleBut(back, movingTo(8, kept2, 5*time.Second))
	gone.Jobs = nil
	in("it has left the queue", gone, ends, over)
}
