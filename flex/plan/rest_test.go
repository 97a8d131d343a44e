package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

const restOfFix = "slurmflex-alpha.rest-fix"

// stocked is a Spot nodeset with job 7 in the queue, which names its partition and another.
func stocked(times int, ago time.Duration, more ...part) scene.Snapshot {
	return queuedFor("spot,train", memo.Chain{}, nodes("alpha-fix-[0-3]", "IDLE+CLOUD+POWERED_DOWN"), func(s *setting) {
		s.Stockouts = map[string]scene.Stockout{"fix": {At: noon.Add(-ago), Times: times}}
	}, and(more...))
}

// rested compares what is planned for the nodeset's rest.
func rested(t *testing.T) (in func(name string, given scene.Snapshot, want ...string)) {
	return func(name string, given scene.Snapshot, want ...string) {
		t.Run(name, func(t *testing.T) {
			var planned Plan
			for _, a := range Compute(scene.Of(mixed(t), given)).Actions {
				if strings.HasPrefix(a.Queue(), "reservation/slurmflex-alpha.rest-") {
					planned.Actions = append(planned.Actions, a)
				}
			}
			assert.Equal(t, want, actions(planned))
		})
	}
}

// rests is the nodeset's rest that ends after so long.
func rests(list string, left time.Duration) part {
	return and(reserved(restOfFix, list, noon.Add(-time.Minute)), func(s *setting) { s.Reservations[len(s.Reservations)-1].End = noon.Add(left) })
}

func TestANodesetWhoseCapacityIsRefusedRests(t *testing.T) {
	in := rested(t)
	const opens = "delete reservation " + restOfFix
	in("for five minutes", stocked(1, time.Second), "reserve alpha-fix-[0-3] from 2026-11-21T12:00:00Z for 5 min")
	in("longer with each refusal in a row", stocked(2, 0), "reserve alpha-fix-[0-3] from 2026-11-21T12:00:00Z for 10 min")
	in("and half an hour at most", stocked(40, 0), "reserve alpha-fix-[0-3] from 2026-11-21T12:00:00Z for 30 min")
	in("from the refusal on", stocked(2, 9*time.Minute-time.Second), "reserve alpha-fix-[0-3] from 2026-11-21T12:00:00Z for 2 min")
	in("and no longer", stocked(2, 10*time.Minute))
	in("nor for what a clock that was ahead has noted", stocked(0, -24*time.Hour))
	in("it is closed already", stocked(1, time.Minute, rests("alpha-fix-[0-3]", 4*time.Minute)))
	in("opens when its time is over", stocked(1, 5*time.Minute, rests("alpha-fix-[0-3]", 20*time.Second)), opens)
	in("opens when machines have come", stocked(0, time.Second, rests("alpha-fix-[0-3]", 4*time.Minute)), opens)
	in("is left to Slurm when it has ended", stocked(1, time.Minute, rests("alpha-fix-[0-3]", 0)))
	in("stays closed when this process does not know why", stocked(0, 0, rests("alpha-fix-[0-3]", 4*time.Minute), func(s *setting) { s.Stockouts = nil }))
	in("is not what is closed that has a queue at Google", stocked(0, 0, nodes("alpha-a3-0", "IDLE+CLOUD+POWERED_DOWN"), func(s *setting) { s.Stockouts = map[string]scene.Stockout{"a3": {At: noon, Times: 1}} }))
}

func TestARestIsForJobsThatCanGoElsewhere(t *testing.T) {
	in := rested(t)
	list := func(list string) part { return lastJob(func(j *slurm.Job) { j.Partition = list }) }
	in("not for one that names a single partition", stocked(1, 0, list("spot")))
	in("nor for one that does not name its partition", stocked(1, 0, list("eu,train")))
	in("but for one that has moved from it", stocked(1, 0, list("train"), remembers(memo.Chain{List: []string{"spot", "train"}})), "reserve alpha-fix-[0-3] from 2026-11-21T12:00:00Z for 5 min")
	in("not for one that runs", stocked(1, 0, list("spot"), nodes("alpha-a3-0", running), job(8, "train", "15:00", slurm.JobRunning, "alpha-a3-0"),
		func(s *setting) { s.Chains = map[uint32]memo.Chain{8: {List: []string{"spot", "train"}}} }))
	in("also if slurmflex has no nodes there", stocked(1, 0, list("spot,cpu")), "reserve alpha-fix-[0-3] from 2026-11-21T12:00:00Z for 5 min")
	in("not while its partition is closed", stocked(1, 0, partition("spot", func(p *slurm.Partition) { p.Up = false })))
	in("and stays for the next one when the last of them has gone", stocked(1, 0, list("spot"), rests("alpha-fix-[0-3]", 4*time.Minute)))
}

func TestARestHasTheNodesThatAreFreeAndHaveNoMachine(t *testing.T) {
	in := rested(t)
	for name, change := range map[string]part{
		"not one that a job has":              and(nodes("alpha-fix-0", poweringUp), job(8, "spot", "15:00", configured, "alpha-fix-0"), insertedAll("alpha-fix-0")),
		"nor one that is drained":             nodes("alpha-fix-0", "IDLE+CLOUD+DRAIN+POWERED_DOWN"),
		"nor one that others reserve by then": and(nodes("alpha-fix-0", "IDLE+CLOUD+POWERED_DOWN"), reserved("maintenance", "alpha-fix-0", noon.Add(time.Minute))),
		"nor one in which a job moves":        and(nodes("alpha-fix-0", "IDLE+CLOUD+POWERED_DOWN"), reserved("slurmflex-alpha.job-9", "alpha-fix-0", noon)),
	} {
		in(name, stocked(1, 0, withoutNode("alpha-fix-0"), change), "reserve alpha-fix-[1-3] from 2026-11-21T12:00:00Z for 5 min")
	}
	in("one that others reserve afterwards", stocked(1, 0, reserved("maintenance", "alpha-fix-0", noon.Add(time.Hour))), "reserve alpha-fix-[0-3] from 2026-11-21T12:00:00Z for 5 min")
	in("also one that powers down later", stocked(1, 0, rests("alpha-fix-[1-3]", 4*time.Minute)), "change reservation "+restOfFix+" to alpha-fix-[0-3]")
	in("until one is powered up by hand", stocked(1, 0, withoutNode("alpha-fix-0"), nodes("alpha-fix-0", risingIdle), insertedAll("alpha-fix-0"), rests("alpha-fix-[0-3]", 4*time.Minute)),
		"change reservation "+restOfFix+" to alpha-fix-[1-3]")
	in("none is left", stocked(1, 0, func(s *setting) { s.Nodes = nil }, rests("alpha-fix-0", 4*time.Minute)), "delete reservation "+restOfFix)
	in("nothing changes while a reservation cannot be read", stocked(1, 0, func(s *setting) {
		s.Unread = slurm.Unread{{Kind: slurm.ReservationRow, Name: "odd", Why: "it has no Nodes="}}
	}))
}

// In the middle of a rest of ten minutes, whose nodeset has four nodes.
func TestFromItsMiddleOnARestLetsOneJobThrough(t *testing.T) {
	in := rested(t)
	half := func(change func(*slurm.Job), more ...part) scene.Snapshot {
		return stocked(2, 5*time.Minute, rests("alpha-fix-[0-3]", 5*time.Minute), lastJob(func(j *slurm.Job) {
			j.Reason = "ReqNodeNotAvail, May be reserved for other job"
			change(j)
		}), and(more...))
	}
	probes := func(list string) string { return "change reservation " + restOfFix + " to " + list }
	wants := func(n int) func(*slurm.Job) { return func(j *slurm.Job) { j.NodeCount = n } }
	last := func(change func(*scene.Stockout)) part {
		return func(s *setting) {
			o := s.Stockouts["fix"]
			change(&o)
			s.Stockouts = map[string]scene.Stockout{"fix": o}
		}
	}
	beside := func(id uint32, priority uint64, nodes int, reason string) part {
		return and(job(id, "spot", "15:00", slurm.JobPending, ""), lastJob(func(j *slurm.Job) { j.Priority, j.NodeCount, j.Reason = priority, nodes, reason }))
	}
	in("with as many nodes as it asks for", half(wants(3)), probes("alpha-fix-3"))
	in("also if it can go nowhere else", half(func(j *slurm.Job) { j.Partition = "spot" }), probes("alpha-fix-[1-3]"))
	in("the most important", half(wants(1), beside(8, 9, 2, "Priority")), probes("alpha-fix-[2-3]"))
	in("with all of them", half(wants(4)), "delete reservation "+restOfFix)
	in("not one that asks for more than there are", half(wants(5)))
	in("nor one that does not wait for nodes", half(wants(5), beside(8, 9, 2, "Dependency")))
	in("nor one that waits elsewhere", half(func(j *slurm.Job) { j.Partition = "train" }))
	in("nor one that asks for certain nodes", half(func(j *slurm.Job) { j.Needs = "alpha-a3-0" }))
	in("nor one in a reservation", half(func(j *slurm.Job) { j.Reservation = "maintenance" }))
	in("not before", half(wants(1), last(func(o *scene.Stockout) { o.At = o.At.Add(time.Second) })))
	in("not while another tries", half(wants(1), withoutNode("alpha-fix-0"), awaits(8, "alpha-fix-0"), insertedAll("alpha-fix-0")), probes("alpha-fix-[1-3]"))
	in("nor once one was refused", half(wants(1), last(func(o *scene.Stockout) { o.Probed = true })))
	in("nor when this process does not know why it rests", half(wants(1), func(s *setting) { s.Stockouts = nil }))
}

func withoutNode(name string) part {
	return func(s *setting) {
		for i, n := range s.Nodes {
			if n.Name == name {
				s.Nodes = append(s.Nodes[:i:i], s.Nodes[i+1:]...)
				return
			}
		}
	}
}

func insertedAll(list string) part {
	return func(s *setting) {
		s.Inserted = map[string]bool{}
		for _, name := range names(list) {
			s.Inserted[name] = true
		}
	}
}
