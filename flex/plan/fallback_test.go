package plan

import (
	"errors"
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

// chained has partitions of one nodeset each, in which a job waits for an hour.
func chained(t testing.TB) *config.Config {
	return parsed(t, `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
  eu: {enable_job_exclusive: true, partition_nodeset: [one]}
  spot: {enable_job_exclusive: true, partition_nodeset: [fix]}
nodeset:
  a3: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/a3,
    subnetwork: &us projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: &zones [us-central1-a],
    dws_flex: &flex {use_job_duration: true, fallback_after: 3600}}
  one: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/one, subnetwork: *us, zone_policy_allow: *zones, dws_flex: *flex}
  fix: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/fix, subnetwork: *us, zone_policy_allow: *zones, dws_flex: *flex}
`)
}

var nodeIn = map[string]string{"train": "alpha-a3-0", "eu": "alpha-one-0", "spot": "alpha-fix-0"}

// open are partitions that take everybody's jobs.
func open(names ...string) (all []slurm.Partition) {
	for _, name := range names {
		all = append(all, slurm.Partition{Name: name, Nodes: []string{nodeIn[name]}, Up: true, MaxTime: slurm.Limit{Kind: slurm.Unlimited}})
	}
	return all
}

// waitsIn is job 7, whose request has waited in a partition for so long.
func waitsIn(partition string, ago time.Duration, chain memo.Chain, more ...part) scene.Snapshot {
	set, _, _ := strings.Cut(strings.TrimPrefix(nodeIn[partition], "alpha-"), "-")
	return seen(nodes(nodeIn[partition], poweringUp), job(7, partition, "15:00", configured, nodeIn[partition]), started(7, ago),
		group("alpha-"+set+"-job-7", forJob(set, 7), accepted(nodeIn[partition])), lastGroup(func(g *mig.Group) { g.Region = "us-central1" }), asked(ago), remembers(chain), and(more...))
}

func remembers(chain memo.Chain) part {
	return func(s *setting) {
		s.Chains, s.Partitions = map[uint32]memo.Chain{7: chain}, open("train", "eu", "spot")
	}
}

// queuedFor is job 7 as it waits in the queue.
func queuedFor(list string, chain memo.Chain, more ...part) scene.Snapshot {
	return seen(job(7, list, "15:00", slurm.JobPending, ""), lastJob(func(j *slurm.Job) { j.NodeCount, j.Priority = 1, 5 }), remembers(chain), and(more...))
}

func partition(name string, change func(*slurm.Partition)) part {
	return func(s *setting) {
		for i := range s.Partitions {
			if s.Partitions[i].Name == name {
				change(&s.Partitions[i])
			}
		}
	}
}

var whole = memo.Chain{List: []string{"train", "eu", "spot"}}

// leaving is the chain of a job on its way from one partition to others.
func leaving(from, to string) memo.Chain {
	return leavingTo(whole, from, to)
}

// leavingTo is that chain, on its way to others.
func leavingTo(c memo.Chain, from, to string) memo.Chain {
	c.Leaving = memo.Move{From: from, To: strings.Split(to, ","), Waited: time.Hour}
	return c
}

func movedTo(from, to string, ago time.Duration) memo.Chain {
	c := whole
	c.Moved = memo.Move{From: from, To: strings.Split(to, ","), Waited: time.Hour, At: noon.Add(-ago)}
	return c
}

func TestAJobThatHasWaitedForFallbackAfterLeavesItsPartition(t *testing.T) {
	left := func(given scene.Snapshot) (to string) {
		for _, a := range Compute(scene.Of(chained(t), given)).Actions {
			if back, ok := a.(ReturnNodes); ok && back.Leaving != nil {
				to = back.Leaving.Leaving.From + " > " + strings.Join(back.Leaving.Leaving.To, ",")
			}
		}
		return to
	}
	assert.Equal(t, "train > eu,spot", left(waitsIn("train", time.Hour, whole)))
	assert.Equal(t, "eu > spot", left(waitsIn("eu", time.Hour, movedTo("train", "eu,spot", time.Hour))))
	assert.Equal(t, "spot > train,eu,spot", left(waitsIn("spot", time.Hour, movedTo("eu", "spot", time.Hour))), "from the last to the first")
	assert.Equal(t, "spot > train,eu", left(waitsIn("spot", time.Hour, whole)), "to those that Slurm passed over for one of a higher PriorityTier")
	assert.Equal(t, "spot > eu", left(waitsIn("spot", time.Hour, movedTo("train", "eu,spot", time.Hour))))
	assert.Equal(t, "train > spot", left(waitsIn("train", time.Hour, whole, partition("eu", func(p *slurm.Partition) { p.Up = false }))), "a partition that is down is left out")
	for why, given := range map[string]scene.Snapshot{
		"too soon":         waitsIn("train", 59*time.Minute, whole),
		"one partition":    waitsIn("train", time.Hour, memo.Chain{List: []string{"train"}}),
		"no list is known": waitsIn("train", time.Hour, memo.Chain{}),
		"another's list":   waitsIn("train", time.Hour, memo.Chain{List: []string{"eu", "spot"}}),
		"asks for nodes":   waitsIn("train", time.Hour, whole, lastJob(func(j *slurm.Job) { j.Needs = "alpha-a3-0" })),
		"reservation":      waitsIn("train", time.Hour, whole, lastJob(func(j *slurm.Job) { j.Reservation = "class" })),
		"heterogeneous":    waitsIn("train", time.Hour, whole, lastJob(func(j *slurm.Job) { j.HetID = 7 })),
		"machines come":    waitsIn("train", time.Hour, whole, lastGroup(func(g *mig.Group) { g.Requests[0].State = mig.Creating })),
		"restricted":       waitsIn("train", time.Hour, whole, partition("train", func(p *slurm.Partition) { p.Restricts = "AllowGroups" })),
	} {
		assert.Empty(t, left(given), why)
	}
	salloc := waitsIn("train", time.Hour, whole)
	salloc.Requeues[7] = false
	assert.Empty(t, left(salloc), "Slurm would not requeue it")
}

// Whatever would take its nodes back, requeue, hold or cancel it: a job that has named other
// partitions goes there.
func TestAJobThatWouldGoBackMovesOnInstead(t *testing.T) {
	in := situations(t, chained(t))
	without := func(s *setting) { s.Groups = nil }
	refusedFor := func(cause mig.Cause, times int) part {
		return and(without, refused("alpha-a3-job-7", cause, time.Second, times))
	}
	in("as no attempt can succeed", waitsIn("train", time.Minute, whole, refusedFor(mig.CauseConfig, 1)),
		"return alpha-a3-0 to Slurm and requeue job 7: INVALID_ARGUMENT: no; the job moves to eu,spot")
	in("but is held where it has no other", waitsIn("train", time.Minute, memo.Chain{List: []string{"train"}}, refusedFor(mig.CauseConfig, 1)),
		"return alpha-a3-0 to Slurm and hold job 7: INVALID_ARGUMENT: no")
	in("nor does one that holds its node with others", waitsIn("train", time.Minute, whole, refusedFor(mig.CauseConfig, 1), job(8, "train", "15:00", configured, "alpha-a3-0"), started(8, time.Minute)),
		"return alpha-a3-0 to Slurm and hold job 7: INVALID_ARGUMENT: no")
	in("as its attempts are used up", waitsIn("train", 10*time.Minute, whole, refusedFor(mig.CauseQuota, 5)),
		"return alpha-a3-0 to Slurm and requeue job 7: 5 attempts failed, the last: a quota of the project is used up; the job moves to eu,spot")
	in("as its template is gone", waitsIn("train", time.Minute, whole, without, func(s *setting) {
		s.Templates = map[string]scene.Template{"projects/demo/global/instanceTemplates/a3": {Err: &mig.Error{Op: "read instance template", Object: "a3", Cause: mig.CauseNotFound, Err: errors.New("404")}}}
	}), "return alpha-a3-0 to Slurm and requeue job 7: read instance template a3: 404; the job moves to eu,spot")
	in("also from the last of its list, to which the others belong again", waitsIn("spot", time.Minute, movedTo("eu", "spot", time.Minute), without, refused("alpha-fix-job-7", mig.CauseConfig, time.Second, 1)),
		"return alpha-fix-0 to Slurm and requeue job 7: INVALID_ARGUMENT: no; the job moves to train,eu,spot")
	in("once a minute at most", waitsIn("spot", time.Minute, movedTo("eu", "spot", 59*time.Second), without, refused("alpha-fix-job-7", mig.CauseConfig, time.Second, 1)),
		`set nodes alpha-fix-0 comment "slurmflex: waits in alpha-fix-job-7 since 2026-11-21T11:59:00Z, armed 2026-11-21T11:59:00Z"`,
		`set AdminComment of job 7: "flex-start: INVALID_ARGUMENT: no"`)
}

func TestTheWaitThatAJobsOwnerGivesItIsForEachPartition(t *testing.T) {
	given := func(then string, in string, chain memo.Chain, owners ...string) []string {
		cfg := chained(t)
		for _, set := range cfg.FlexSets() {
			set.Flex.OnProvisionTimeout = config.TimeoutAction(then)
		}
		s := waitsIn(in, 10*time.Minute, chain)
		s.Limits = map[uint32]scene.JobLimits{7: {Wait: 10 * time.Minute, Then: strings.Join(owners, "")}}
		return actions(Compute(scene.Of(cfg, s)))
	}
	const reason = "no capacity for 1 × a3-machine in 10m (slurmflex:wait 00:10:00)"
	for _, then := range []string{"requeue", "hold", "cancel"} {
		assert.Equal(t, []string{"return alpha-a3-0 to Slurm and requeue job 7: " + reason + "; the job moves to eu,spot"}, given(then, "train", whole), then)
	}
	last := movedTo("eu", "spot", 10*time.Minute)
	assert.Equal(t, []string{"return alpha-fix-0 to Slurm and requeue job 7: no capacity for 1 × fix-machine in 10m (slurmflex:wait 00:10:00); the job moves to train,eu,spot"}, given("hold", "spot", last, "requeue"))
	assert.Equal(t, []string{"return alpha-fix-0 to Slurm and hold job 7: no capacity for 1 × fix-machine in 10m (slurmflex:wait 00:10:00)"}, given("hold", "spot", last))
	assert.Contains(t, given("requeue", "spot", last)[0], " and hold job 7: ", "its owner did not ask for another turn")
}

func TestAJobThatMayNotMoveReadsWhy(t *testing.T) {
	for why, change := range map[string]func(*slurm.Partition){
		"partition eu is not UP": func(p *slurm.Partition) { p.Up = false },
		"partition eu sets AllowGroups, which slurmflex does not check for a job": func(p *slurm.Partition) { p.Restricts = "AllowGroups" },
		"its time limit is longer than the MaxTime of partition eu":               func(p *slurm.Partition) { p.MaxTime = slurm.ParseLimit("14:00") },
		"partition eu takes no job with this number of nodes (1)":                 func(p *slurm.Partition) { p.MinNodes = 2 },
		"partition eu does not exist or could not be read":                        func(p *slurm.Partition) { p.Name = "us" },
	} {
		p := Compute(scene.Of(chained(t), waitsIn("train", time.Hour, memo.Chain{List: []string{"train", "eu"}}, partition("eu", change))))
		assert.Equal(t, "flex-start: waiting 1h00m for 1 × a3-machine for 00:15:00; it stays in partition train: "+why, tells(p)[7])
		assert.True(t, p.Waits[0].Until.IsZero())
	}
	p := Compute(scene.Of(chained(t), waitsIn("train", 59*time.Minute, whole)))
	assert.Equal(t, noon.Add(time.Minute), p.Waits[0].Until)
	assert.Equal(t, ByFallback, p.Waits[0].By)
}

func TestWhatBecomesOfThePartitionsOfAJobInTheQueue(t *testing.T) {
	in := situations(t, chained(t))
	in("its list is remembered", queuedFor("train,eu", memo.Chain{}), "remember the partitions train,eu of job 7")
	in("one that is there stays", queuedFor("eu,spot,train", whole))
	in("a list that its owner has changed counts", queuedFor("train,eu", whole), "remember the partitions train,eu of job 7")
	in("also where it has moved", queuedFor("eu", movedTo("train", "eu,spot", 0)), "remember the partitions  of job 7")
	in("one that leaves goes on", queuedFor("train,eu,spot", leaving("train", "eu,spot")), "move job 7 to eu,spot of its partitions train,eu,spot")
	in("one that Slurm was told of, too", queuedFor("eu,spot", leaving("train", "eu,spot")), "move job 7 to eu,spot of its partitions train,eu,spot")
	in("elsewhere if a partition is closed by now", queuedFor("train,eu,spot", leaving("train", "eu,spot"), partition("eu", func(p *slurm.Partition) { p.Up = false })),
		"remember the partitions train,eu,spot of job 7")
	in("not while it is held", queuedFor("train,eu,spot", leaving("train", "eu,spot"), lastJob(func(j *slurm.Job) { j.Priority = 0 })))
	in("nor before its owner wants it to begin", queuedFor("train,eu,spot", leaving("train", "eu,spot"), started(7, -time.Hour)))
	in("one that has got no nodes where it has moved to waits", queuedFor("eu,spot", movedTo("train", "eu,spot", 59*time.Minute)))
	in("then its list is to come back", queuedFor("eu,spot", movedTo("train", "eu,spot", time.Hour)), "remember the partitions train,eu,spot of job 7")
	in("and comes", queuedFor("eu,spot", leavingTo(movedTo("train", "eu,spot", time.Hour), "spot", "train,eu,spot"), lastJob(func(j *slurm.Job) { j.Reason = "Resources" })),
		"move job 7 to train,eu,spot of its partitions train,eu,spot")
	in("also if only Slurm knows yet", queuedFor("train,spot", leavingTo(movedTo("eu", "spot", time.Hour), "spot", "train,spot"), partition("eu", func(p *slurm.Partition) { p.Up = false })),
		"move job 7 to train,spot of its partitions train,eu,spot")
	requeued := lastJob(func(j *slurm.Job) { j.Reason, j.Start = slurm.BeginTime, noon.Add(2*time.Minute) })
	in("at once if it has had nodes there", queuedFor("spot", movedTo("eu", "spot", 30*time.Minute), requeued), "remember the partitions train,eu,spot of job 7")
	in("not if it has only just moved", queuedFor("spot", movedTo("eu", "spot", 10*time.Second), requeued))
	in("nor where a reservation keeps its machines", queuedFor("spot", movedTo("eu", "spot", 30*time.Minute), requeued, lastJob(func(j *slurm.Job) { j.Reservation = "slurmflex-alpha.salvage-7" })))
	in("at once if it cannot start there", queuedFor("spot", movedTo("eu", "spot", time.Minute), partition("spot", func(p *slurm.Partition) { p.Up = false })),
		"remember the partitions train,eu,spot of job 7")
}
