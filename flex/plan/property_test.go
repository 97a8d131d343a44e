package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// holds checks a rule in all worlds, after the given changes.
func holds(t *testing.T, r rule, changes ...func(*rapid.T, *world)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, change := range changes {
			change(t, w)
		}
		snap := w.snapshot()
		p := plan.Compute(scene.Of(w.cfg, snap))
		if wrong := r(sightOf(w.cfg, snap), p); len(wrong) > 0 {
			t.Fatalf("%s\nin this world: %+v", strings.Join(wrong, "\n"), w.snapshot())
		}
	})
}

func TestEveryPlanKeepsTheRules(t *testing.T) {
	for name, r := range rules {
		t.Run(name, func(t *testing.T) { holds(t, r) })
	}
}

func TestPlanDoesNotDependOnTheOrderOfItsInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := plan.Compute(scene.Of(w.cfg, w.snapshot()))
		got := plan.Compute(scene.Of(w.cfg, shuffled(t, w.snapshot())))
		require.Equal(t, want, got, "in this world: %+v", w.snapshot())
	})
}

// shuffled returns the snapshot with every list in random order, except a group's requests, which
// are always listed oldest first.
func shuffled(t *rapid.T, s scene.Snapshot) scene.Snapshot {
	s.Nodes, s.Jobs, s.Groups = mixed(t, s.Nodes), mixed(t, s.Jobs), mixed(t, s.Groups)
	s.Instances, s.Policies, s.Reservations = mixed(t, s.Instances), mixed(t, s.Policies), mixed(t, s.Reservations)
	for i := range s.Jobs {
		s.Jobs[i].Nodes = mixed(t, s.Jobs[i].Nodes)
	}
	for i := range s.Reservations {
		s.Reservations[i].Nodes = mixed(t, s.Reservations[i].Nodes)
	}
	for i := range s.Groups {
		s.Groups[i].Requests = slices.Clone(s.Groups[i].Requests)
		for j := range s.Groups[i].Requests {
			r := &s.Groups[i].Requests[j]
			r.Instances = mixed(t, r.Instances)
		}
	}
	return s
}

func mixed[T any](t *rapid.T, list []T) []T {
	if len(list) == 0 {
		return list
	}
	return rapid.Permutation(list).Draw(t, "order")
}

// Other programs may write the fields that we read: a node's comment, reason and Extra, a job's
// AdminComment, a reservation's name, a request's name and its error. No text may lead to a plan
// that breaks a rule.
func FuzzWhatOthersWrite(f *testing.F) {
	cfg := houseConfig(f)
	cfg.NodeSets[0].Flex.BootFailures = 2
	f.Add(waits("2026-11-21T11:59:00Z"), "ResumeTimeout reached", bootsFailed(1, noon), "flex-start: told 2026-11-21T12:00:00Z: all is lost", "slurmflex-alpha-1795266000", "a1", "STOCKOUT: none")
	f.Add(waits("noon"), "", bootsFailed(9223372036854775807, noon), memo.OwnComment, "slurmflex-alpha-9223372036854775807", "a9223372036854775807", "")
	f.Add("slurmflex: waits in ", "slurmflex: ", bootsFailed(-1, time.Time{}), memo.OwnComment+"told : ", "slurmflex-alpha--1", "a-1", "no\nlines")
	f.Fuzz(func(t *testing.T, comment, reason, extra, told, reservation, request, message string) {
		if strings.Contains(comment+reason+extra+told+reservation+message, "\n") {
			t.Skip("what Slurm and Compute tell of comes in lines")
		}
		const node, job = "alpha-a3-0", 1
		for _, state := range usual {
			for _, end := range []mig.RequestState{mig.Accepted, mig.Failed, mig.Cancelled} {
				snap := lone(slurm.ParseState(state), []string{"dynamic", "CONFIGURING", "none", string(end)})
				snap.Nodes[0].Comment, snap.Nodes[0].Reason, snap.Nodes[0].Extra = comment, reason, extra
				snap.Told, snap.Records[job] = map[uint32]string{job: told}, slurm.JobRecord{Batch: true, Requeue: len(told)%2 == 0, Comment: comment}
				snap.Reservations = []slurm.Reservation{{Name: reservation, Nodes: []string{node}, Start: noon}}
				r := &snap.Groups[0].Requests[0]
				r.Name, r.Message, r.Created = request, message, noon.Add(-time.Hour)
				if wrong := broken(sightOf(cfg, snap), plan.Compute(scene.Of(cfg, snap))); len(wrong) > 0 {
					t.Fatalf("%s, request %s: %s", state, end, strings.Join(wrong, "; "))
				}
			}
		}
	})
}
