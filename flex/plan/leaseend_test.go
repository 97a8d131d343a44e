package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// runsFor makes job 7, with that time limit, have run for an hour. The first of its nodes ends
// after the given time.
func runsFor(limit string, left time.Duration) part {
	return and(nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+POWER_DOWN"),
		job(7, "train", limit, slurm.JobRunning, "alpha-a3-[0-1]"), started(7, time.Hour),
		leasedTo(7, "alpha-a3-0", time.Hour, left), leased("alpha-a3-1", "alpha-a3-job-7", time.Hour, left+time.Hour),
		told(7, endsAt(left)))
}

func endsAt(left time.Duration) string {
	return "flex-start: its nodes end at " + noon.Add(left).Format(time.RFC3339) + ", before its time limit"
}

const warnedThen = "; warned at 2026-11-21T11:55:00Z with USR1"

// asksSignal lets job 7 ask for the signal.
func asksSignal(s *setting) {
	s.Records[7] = slurm.JobRecord{Batch: true, Requeue: true, Comment: "slurmflex:signal"}
}

// says formats the action that sets job 7's AdminComment.
func says(text string) string { return fmt.Sprintf("set AdminComment of job 7: %q", text) }

// requeuesAt formats the AdminComment of a job that is requeued that long before its lease ends.
func requeuesAt(left time.Duration) string {
	return says("flex-start: requeued: the lease of its nodes ends at " + noon.Add(left).Format(time.RFC3339) + ", before its time limit")
}

func TestJobIsWarnedAndRequeuedBeforeItsLeaseEnds(t *testing.T) {
	const signals, requeued, sends = "send USR1 to job 7", "requeue job 7", "; slurmflex sends it USR1"
	guarded := with("on_lease_end: requeue, lease_end_warning: 600")
	in := situations(t, guarded)
	in("then its script is signalled, which its owner reads first", seen(runsFor("5:00:00", 600*time.Second), asksSignal), says(endsAt(600*time.Second)+sends), signals)
	in("also if the signal was announced and not sent", seen(runsFor("5:00:00", 590*time.Second), asksSignal, told(7, endsAt(590*time.Second)+sends)), signals)
	in("once", seen(runsFor("5:00:00", 300*time.Second), asksSignal, told(7, endsAt(300*time.Second)+warnedThen)))
	in("for each lease", seen(runsFor("5:00:00", 300*time.Second), asksSignal, told(7, endsAt(time.Minute)+warnedThen)), says(endsAt(300*time.Second)+sends), signals)
	in("and it is requeued in time", seen(runsFor("5:00:00", 120*time.Second), told(7, endsAt(120*time.Second)+warnedThen)), requeuesAt(120*time.Second), requeued)
	in("it is signalled first, up to the last minute", seen(runsFor("5:00:00", 60*time.Second), asksSignal), says(endsAt(time.Minute)+sends), signals)
	lost := seen(runsFor("5:00:00", 60*time.Second), told(7, endsAt(time.Minute)+warnedThen))
	lost.Records[7] = slurm.JobRecord{Batch: true}
	in("not a job that Slurm would not requeue", lost)
	in("nor one that is done in time", seen(runsFor("1:01:00", 65*time.Second), asksSignal, told(7, "")))
	once := seen(runsFor("5:00:00", time.Minute), asksSignal)
	once.Reservations = nil
	in("nor by an end that only one look has seen", once, "reserve alpha-a3-0 from 2026-11-21T12:01:00Z for 10 min", "reserve alpha-a3-1 from 2026-11-21T13:01:00Z for 10 min")
	in("nor by a clock that is ahead", seen(runsFor("5:00:00", time.Minute), asksSignal, func(s *setting) { s.Skew = time.Hour }))
	unread := seen(runsFor("5:00:00", time.Minute), unseen("us-central1"), told(7, endsAt(time.Minute)+warnedThen))
	unread.Instances, unread.Groups = nil, nil
	in("nor by its lease's end in an unread region that no pass of this process has seen", unread)
	unread.Ends = map[string]time.Time{"alpha-a3-0": noon.Add(time.Minute)}
	in("but by one that an earlier pass has seen", unread,
		says("flex-start: requeued: the lease of its nodes ends or maintenance of a host begins at 2026-11-21T12:01:00Z, before its time limit"), requeued)
	situations(t, with("lease_end_warning: 600"))("a job is only warned where it is not to be requeued",
		seen(runsFor("5:00:00", time.Minute), asksSignal, told(7, endsAt(time.Minute)+warnedThen)))
}

// A list lacks a machine of a job that has been signalled, perhaps the one that ends first.
func TestSignalIsNotRepeatedAfterADoubtfulLoss(t *testing.T) {
	cfg := with("on_lease_end: requeue, lease_end_warning: 600")
	warned := endsAt(300*time.Second) + warnedThen
	given := func(text string, more ...part) Plan {
		return planOf(cfg, seen(runsFor("5:00:00", 300*time.Second), asksSignal, told(7, text), and(more...)))
	}
	lacks := func(machine int) part {
		return func(s *setting) { s.Instances = slices.Delete(s.Instances, machine, machine+1) }
	}
	for _, state := range []string{running, running + "+NOT_RESPONDING"} {
		for machine, name := range []string{"alpha-a3-0", "alpha-a3-1"} {
			doubt := and(lacks(machine), onNodes(name, func(n *slurm.Node) { n.State = slurm.ParseState(state) }))
			first := given(warned, doubt)
			assert.NotContains(t, strings.Join(actions(first), "\n"), "send USR1", "%s is %s", name, state)
			then := given(cmp.Or(tells(first)[7], warned))
			assert.NotContains(t, strings.Join(actions(then), "\n"), "send USR1", "%s was %s", name, state)
			assert.Contains(t, tells(given(warned, doubt, missing(name)))[7], "machine lost: the machine of "+name, "two lists lack it")
		}
	}
}

// U3: the signal kills a script that does not catch it.
func TestOnlyAJobThatAskedForTheSignalIsSignalled(t *testing.T) {
	in := situations(t, with("on_lease_end: requeue, lease_end_warning: 600"))
	in("nor one that asked, in the last minute: it is requeued", seen(runsFor("5:00:00", 50*time.Second), asksSignal), requeuesAt(50*time.Second), "requeue job 7")
	salloc := seen(runsFor("5:00:00", 300*time.Second))
	salloc.Records[7] = slurm.JobRecord{}
	in("a salloc reads it on its terminal", salloc, "notify the terminal of job 7")
	kept := seen(runsFor("5:00:00", 300*time.Second), told(7, ""))
	kept.Records[7] = slurm.JobRecord{Batch: true}
	in("a --no-requeue job reads when its nodes end", kept, says(endsAt(300*time.Second)))
}

func TestHeterogeneousJobIsRequeuedOnceAtItsFirstLeaseEnd(t *testing.T) {
	both := seen(nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+POWER_DOWN"),
		job(7, "train", "5:00:00", slurm.JobRunning, "alpha-a3-0"), component(7, 0), started(7, time.Hour),
		job(8, "train", "5:00:00", slurm.JobRunning, "alpha-a3-1"), component(7, 1), started(8, time.Hour),
		leasedTo(7, "alpha-a3-0", time.Hour, 100*time.Second), leasedTo(8, "alpha-a3-1", time.Hour, 90*time.Second))
	var requeued []uint32
	for _, a := range planOf(with("on_lease_end: requeue"), both).Actions {
		if r, ok := a.(action.RequeueJob); ok {
			requeued = append(requeued, r.Job)
		}
	}
	assert.Equal(t, []uint32{8}, requeued)
}

// A machine keeps its region when its nodeset moves to another region.
func TestJobEndsInTimeWhereItsMachineIsInAnotherUnreadRegion(t *testing.T) {
	s := seen(runsFor("UNLIMITED", 2*time.Minute), unseen("europe-west4"))
	s.Groups[0].Region, s.Instances[0].Region, s.Instances[1].Region = "europe-west4", "europe-west4", "europe-west4"
	s.LastKnown = map[string]scene.LastKnown{"europe-west4": {Groups: s.Groups, Instances: s.Instances}}
	s.Groups, s.Instances, s.Ends = nil, nil, map[string]time.Time{"alpha-a3-0": noon.Add(2 * time.Minute)}
	assert.Contains(t, actions(planOf(with("on_lease_end: requeue"), s)), "requeue job 7")
}
