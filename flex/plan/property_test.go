package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// holds checks a rule in all worlds.
func holds(t *testing.T, r rule) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		snap := w.snapshot()
		p := plan.Compute(w.cfg, snap)
		if wrong := r(sightOf(w.cfg, snap), p); len(wrong) > 0 {
			t.Fatalf("%s\nin this world:\n%s", strings.Join(wrong, "\n"), told(w))
		}
	})
}

func TestEveryPlan(t *testing.T) {
	for name, r := range rules {
		t.Run(name, func(t *testing.T) { holds(t, r) })
	}
}

func TestTheOrderOfWhatIsSeenChangesNothingInAPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := plan.Compute(w.cfg, w.snapshot())
		got := plan.Compute(w.cfg, shuffled(t, w.snapshot()))
		require.Equal(t, want, got, "in this world:\n%s", told(w))
	})
}

// shuffled is the snapshot with every list in another order, but for a group's
// requests, which are listed the oldest first.
func shuffled(t *rapid.T, s plan.Snapshot) plan.Snapshot {
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

// The nodes of nodeset one come each by itself, the first two of them also for
// no job; all are powering up, and there is not room for all.
func TestTheMostImportantJobsAreServedFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := emptyWorld(drawConfig(t))
		priority := map[string]uint64{} // of the nodes that a job waits for
		for i, name := range []string{"alpha-one-0", "alpha-one-1", "alpha-one-2", "alpha-one-3"} {
			w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")}
			if i >= 2 || rapid.Bool().Draw(t, "wanted by a job") {
				id := uint32(i + 1)
				priority[name] = uint64(upTo(t, "priority", 9))
				w.jobs[id] = slurm.Job{ID: id, State: slurm.JobConfiguring, Partition: "shared", Nodes: []string{name}, Priority: priority[name]}
			}
		}
		p := plan.Compute(w.cfg, w.snapshot())
		served := asked(p)
		require.Len(t, served, min(len(w.nodes), w.cfg.Options.MaxActiveRequests))
		for waits, important := range priority {
			for node, less := range priority {
				if slices.Contains(served, node) && !slices.Contains(served, waits) && less < important {
					t.Errorf("node %s of priority %d is asked for, and %s of priority %d waits", node, less, waits, important)
				}
			}
		}
	})
}

// A world that is left to itself comes to rest: the plans that are carried out
// in it end, and what they did is not undone and done again.
func TestEveryWorldComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			world: drawWorld(t), fading: map[string]int{},
			fails: upTo(t, "requests that fail", 2),
		}
		begun, seen := told(m.world), upTo(t, "steps until all is seen", 3)
		if unrest := m.goOnUntil(seen); unrest != "" {
			t.Fatalf("%s\nin a world that is now\n%sand was\n%s", unrest, told(m.world), begun)
		}
	})
}
