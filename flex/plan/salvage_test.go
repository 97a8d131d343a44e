package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// salvaging is alpha's configuration with salvage for nodeset fix, of six nodes, whose leases
// are an hour.
func salvaging(t testing.TB) *config.Config {
	return parsed(t, strings.NewReplacer("fix: {node_count_dynamic_max: 4", "fix: {node_count_dynamic_max: 6",
		"{max_run_duration: 3600}", "{max_run_duration: 3600, salvage: true, salvage_timeout: 600}").Replace(alpha))
}

const (
	survivors3 = "alpha-fix-[0-1,3]"
	spares2    = "alpha-fix-[4-5]"
	held4      = "alpha-fix-[0-1,3-4]"
)

// gang8 is a job of four nodes and ten minutes that is in a state, with three machines that have 50
// minutes of their leases left; that of alpha-fix-2 is gone.
func gang8(state slurm.JobState, on, nodeState, lostState string, more ...part) scene.Snapshot {
	return seen(append([]part{
		nodes(survivors3, nodeState), onNodes(survivors3, func(n *slurm.Node) { n.LastBusyTime = noon.Add(-5 * time.Second) }),
		nodes("alpha-fix-2", lostState), nodes(spares2, poweredDown),
		job(8, "train", "10:00", state, on), started(8, 10*time.Minute), lastJob(func(j *slurm.Job) { j.User, j.NodeCount, j.Priority = "ada", 4, 1 }),
		group("alpha-fix-job-8", forJob("fix", 8), request("a1", mig.Succeeded, "alpha-fix-[0-3]", time.Hour)),
		leased(survivors3, "alpha-fix-job-8", 10*time.Minute, 50*time.Minute),
	}, more...)...)
}

const (
	allocated = "ALLOCATED+CLOUD"
	lostDown  = "DOWN+CLOUD"
	drained   = "DOWN+CLOUD+DRAIN" // by an admin
)

func runsTorn(more ...part) scene.Snapshot {
	return gang8(slurm.JobRunning, "alpha-fix-[0-3]", allocated, allocated, append([]part{missing("alpha-fix-2")}, more...)...)
}

func waitsTorn(more ...part) scene.Snapshot {
	return gang8(slurm.JobPending, "", idleUp, drained, more...)
}

// holding is the reservation that holds nodes for job 8, made that long ago.
func holding(list string, ago time.Duration) part {
	return and(reserved(memo.SalvageReservation("alpha", 8), list, noon.Add(-ago)), func(s *setting) {
		s.Reservations[len(s.Reservations)-1].End = noon.Add(15*time.Minute - ago)
		s.Jobs[0].Reservation = memo.SalvageReservation("alpha", 8)
	})
}

const (
	hold8  = "hold " + held4 + " for job 8, which has lost alpha-fix-2"
	start8 = "hold " + held4 + " for job 8, which has lost others"
	over8  = "delete reservation slurmflex-alpha.salvage-8"
	lost8  = `set AdminComment of job 8: "flex-start: machine lost: the machine of alpha-fix-2 is gone: deleted by somebody, or lost by Google"`
	wait8  = `set AdminComment of job 8: "flex-start: held for it after a loss: alpha-fix-[0-1,3]"`
	go3    = "set nodes " + survivors3 + " power_down"
)

// withoutComments are the actions of a plan without AdminComments.
func withoutComments(p Plan) []string {
	var rest []Action
	for _, a := range p.Actions {
		if _, comments := a.(CommentJob); !comments {
			rest = append(rest, a)
		}
	}
	return actions(Plan{Actions: rest})
}

func TestTheMachinesOfAGangThatLosesOneAreHeldForIt(t *testing.T) {
	in := situations(t, salvaging(t))
	in("before Slurm is told of the loss", runsTorn(), lost8, hold8)
	in("the reservation is there, and Slurm has not been told", runsTorn(holding(held4, 5*time.Second)), lost8, hold8)
	in("Slurm takes the job off its nodes", gang8(slurm.JobCompleting, survivors3, "IDLE+CLOUD+COMPLETING+RESERVED", drained, holding(held4, 5*time.Second)))
	in("it starts again", waitsTorn(holding(held4, 15*time.Second)), wait8, start8)
	in("somebody has the spare node", waitsTorn(holding(held4, 15*time.Second), onNodes("alpha-fix-4", func(n *slurm.Node) { n.State = slurm.ParseState(running) }),
		job(9, "train", "10:00", slurm.JobRunning, "alpha-fix-4")),
		"change reservation slurmflex-alpha.salvage-8 to alpha-fix-[0-1,3,5]", wait8, "hold alpha-fix-[0-1,3,5] for job 8, which has lost others")
	in("Slurm saw the loss first", waitsTorn(), wait8, start8)
	in("it runs", gang8(slurm.JobRunning, held4, allocated, drained, onNodes("alpha-fix-4", func(n *slurm.Node) { n.State = slurm.ParseState(allocated) }),
		holding(held4, time.Minute), leased("alpha-fix-4", "alpha-fix-job-8", time.Minute, 51*time.Minute)), over8)
}

// A list of Compute may lag behind a request for ten minutes; the group that says itself
// what it has lost, or Slurm that has given the node up, does not.
func TestAGangLosesAMachineSoonAfterItsRequest(t *testing.T) {
	in := situations(t, salvaging(t))
	young := and(asked(3*time.Minute), counting(4), saying(survivors3, "alpha-fix-2"))
	in("its group says so", runsTorn(young), lost8, hold8)
	in("Slurm saw it first", waitsTorn(young), wait8, start8)
	in("nobody says so", runsTorn(asked(3*time.Minute), counting(4), silent))
}

// Slurm would give the job the node that it has lost, before Compute lets go of the name.
func TestTheLostNodeStaysDownUntilTheJobHasAnother(t *testing.T) {
	down := onNodes("alpha-fix-2", func(n *slurm.Node) {
		n.State, n.Reason = slurm.ParseState(lostDown), memo.Lost+"its job keeps the others"
	})
	const again = "set nodes alpha-fix-2 power_down_force"
	assert.Equal(t, []string{start8}, withoutComments(Compute(scene.Of(salvaging(t), waitsTorn(holding(held4, 15*time.Second), down)))))
	assert.Contains(t, withoutComments(Compute(scene.Of(salvaging(t), replacing(time.Minute, down)))), again)
	short := holding(survivors3, 15*time.Second)
	busy := onNodes(spares2, func(n *slurm.Node) { n.State = slurm.ParseState(running) })
	assert.Contains(t, withoutComments(Compute(scene.Of(salvaging(t), waitsTorn(short, down, busy)))), again, "where there is no other, it is needed")
}

// replacing is the job when it waits for a machine of alpha-fix-4 in the place of the one that
// it has lost.
func replacing(held time.Duration, more ...part) scene.Snapshot {
	return gang8(configured, held4, "ALLOCATED+CLOUD+RESERVED", drained, append([]part{
		holding(held4, held), started(8, held-10*time.Second),
		onNodes("alpha-fix-4", func(n *slurm.Node) { n.State = slurm.ParseState("ALLOCATED+CLOUD+RESERVED+POWERING_UP") }),
	}, more...)...)
}

func TestTheReplacementIsMadeBesideTheOthersAndForAsLong(t *testing.T) {
	cfg := salvaging(t)
	set := cfg.FlexSetOf("alpha-fix-0")
	assert.Equal(t, []string{"request 1 node (alpha-fix-4) in alpha-fix-job-8/a2 for 00:50:00"}, withoutComments(Compute(scene.Of(cfg, replacing(time.Minute)))))

	set.Zones, set.Placement, set.PlacementDistance = []string{"us-central1-a", "us-central1-b"}, true, 2
	given := replacing(time.Minute, lastGroup(func(g *mig.Group) {
		g.Zones, g.Policy = []string{"us-central1-a", "us-central1-b"}, "alpha-fix-job-8"
	}), policy("alpha-fix-job-8", forJob("fix", 8)))
	given.Templates[set.Template] = scene.Template{Template: mig.Template{
		MachineType: "a3-ultragpu-8g", Model: "FLEX_START", MaxRun: mig.MaxDuration, Termination: "DELETE", Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
	}}
	var spec mig.GroupSpec
	for _, a := range Compute(scene.Of(cfg, given)).Actions {
		if made, ok := a.(CreateGroup); ok {
			spec = made.Spec
		}
	}
	assert.Equal(t, "alpha-fix-job-8-r1", spec.Name, "a group keeps its zones for good")
	assert.Equal(t, []string{"us-central1-a"}, spec.Zones)
	assert.Equal(t, "alpha-fix-job-8", spec.Policy)
}

func TestNothingIsHeldForAGangThat(t *testing.T) {
	for name, given := range map[string]scene.Snapshot{
		"has a limit that does not fit the leases": runsTorn(lastJob(func(j *slurm.Job) { j.Limit.Duration = 50 * time.Minute })),
		"shares its nodes":                         runsTorn(lastJob(func(j *slurm.Job) { j.Partition = "shared" })),
		"asks for certain nodes":                   runsTorn(lastJob(func(j *slurm.Job) { j.Needs = "alpha-a3-0" })),
		"has a reservation":                        runsTorn(lastJob(func(j *slurm.Job) { j.Reservation = "ada's" })),
		"is part of a heterogeneous job":           runsTorn(lastJob(func(j *slurm.Job) { j.HetID = 8 })),
		"was seen to lack one by one list only":    runsTorn(missing("")),
		"is of a region that cannot be read":       runsTorn(unseen("us-central1")),
		"may share its nodes with one unread": runsTorn(func(s *setting) {
			s.Unread = slurm.Unread{{Kind: slurm.JobRow, Nodes: names("alpha-fix-2"), NodesKnown: true}}
		}),
		"is held":            waitsTorn(important(0)),
		"has lost nothing":   waitsTorn(ending("alpha-fix-2", "alpha-fix-job-8", 10*time.Minute, 50*time.Minute), onNodes("alpha-fix-2", func(n *slurm.Node) { n.State = slurm.ParseState("IDLE+CLOUD+DRAIN") })),
		"has marked nodes":   runsTorn(onNodes(survivors3, func(n *slurm.Node) { n.State.Flags |= slurm.PowerDown })),
		"has left the queue": waitsTorn(func(s *setting) { s.Jobs = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			for _, a := range Compute(scene.Of(salvaging(t), given)).Actions {
				assert.NotEqual(t, "salvage_job", a.About().Kind, a.String())
			}
		})
	}
	given := runsTorn()
	given.Requeues[8] = false
	assert.NotContains(t, actions(Compute(scene.Of(salvaging(t), given))), hold8, "salloc, srun and --no-requeue")
	assert.NotContains(t, actions(Compute(scene.Of(alphaConfig(t), runsTorn()))), hold8, "it is off by default")
}

func TestWhatIsHeldGoesWhenItDoesNotHelp(t *testing.T) {
	in := func(name string, given scene.Snapshot, want ...string) {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want, withoutComments(Compute(scene.Of(salvaging(t), given)))) })
	}
	in("the job has not started again within salvage_timeout", waitsTorn(holding(held4, 10*time.Minute)), go3)
	in("it is held", waitsTorn(holding(held4, time.Minute), func(s *setting) { s.Jobs[0].Priority = 0 }), go3)
	in("its limit fits no longer", waitsTorn(holding(held4, time.Minute), func(s *setting) { s.Jobs[0].Limit.Duration = 50 * time.Minute }), go3)
	kept := salvaging(t)
	kept.FlexSetOf("alpha-fix-0").Flex.KeepIdle = 30 * time.Minute
	given := waitsTorn(holding(held4, time.Minute), func(s *setting) { s.Jobs[0].Priority = 0 })
	assert.Equal(t, []string{over8}, withoutComments(Compute(scene.Of(kept, given))), "keep_idle keeps them")
	later := onNodes(survivors3, func(n *slurm.Node) { n.LastBusyTime = noon.Add(-10*time.Minute + 10*time.Second) })
	given = waitsTorn(holding(held4, 10*time.Minute), later)
	assert.Equal(t, []string{over8}, withoutComments(Compute(scene.Of(kept, given))), "so it does after salvage_timeout")
	assert.Empty(t, withoutComments(Compute(scene.Of(kept, waitsTorn(later)))), "and they are not held again")
	in("they go, and then the reservation", waitsTorn(holding(held4, 10*time.Minute),
		onNodes(survivors3, func(n *slurm.Node) { n.State = slurm.ParseState("IDLE+CLOUD+POWER_DOWN+RESERVED") })), over8)
	in("nothing else takes them before", waitsTorn(holding(held4, 10*time.Minute-time.Second)), start8)
	in("the job has left the queue", waitsTorn(holding(held4, time.Minute), func(s *setting) { s.Jobs = nil }), over8)
	in("and was not held for it any more", waitsTorn(func(s *setting) { s.Jobs = nil }), go3)
	in("the replacement has not come within salvage_timeout", replacing(10*time.Minute), "return alpha-fix-4 to Slurm and requeue job 8: "+
		"no machine in place of those that were lost within salvage_timeout 00:10:00", "set nodes "+survivors3+" power_down")
	in("a job that ends leaves its machines, and they go at once", seen(nodes("alpha-fix-0", idleUp),
		onNodes("alpha-fix-0", func(n *slurm.Node) { n.LastBusyTime = noon.Add(-time.Second) }), group("alpha-fix-job-8", forJob("fix", 8)),
		leased("alpha-fix-0", "alpha-fix-job-8", 10*time.Minute, 50*time.Minute)), "set nodes alpha-fix-0 power_down")
	in("but not one that was powered up by hand", seen(nodes("alpha-fix-0", idleUp),
		onNodes("alpha-fix-0", func(n *slurm.Node) { n.LastBusyTime = noon.Add(-time.Second) }), group("alpha-fix-node-0", forNode("fix", "alpha-fix-0")),
		leased("alpha-fix-0", "alpha-fix-node-0", 10*time.Minute, 50*time.Minute)))
	in("nor one of a job that is being ended", seen(nodes("alpha-fix-0", idleUp), job(8, "train", "10:00", slurm.JobCompleting, "alpha-fix-1"),
		onNodes("alpha-fix-0", func(n *slurm.Node) { n.LastBusyTime = noon.Add(-time.Second) }), group("alpha-fix-job-8", forJob("fix", 8)),
		leased("alpha-fix-0", "alpha-fix-job-8", 10*time.Minute, 50*time.Minute)))
}
