package plan_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// holds checks a rule in all worlds.
func holds(t *testing.T, r rule) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		snap := w.snapshot()
		p := plan.Compute(scene.Of(w.cfg, snap))
		if wrong := r(sightOf(w.cfg, snap), p); len(wrong) > 0 {
			t.Fatalf("%s\nin this world:\n%s", strings.Join(wrong, "\n"), told(w))
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
		require.Equal(t, want, got, "in this world:\n%s", told(w))
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

// The nodes of nodeset one are requested separately, the first two of them also without a job. All
// are powering up, and there are too few places for all.
func TestMostImportantJobsAreServedFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := emptyWorld(drawConfig(t))
		priority := map[string]uint64{} // priority of the nodes that a job waits for
		for i, name := range []string{"alpha-one-0", "alpha-one-1", "alpha-one-2", "alpha-one-3"} {
			w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")}
			if i >= 2 || rapid.Bool().Draw(t, "wanted by a job") {
				id := uint32(i + 1)
				priority[name] = uint64(upTo(t, "priority", 9))
				w.jobs[id] = slurm.Job{ID: id, State: slurm.JobConfiguring, Partition: "shared", Nodes: []string{name}, Priority: priority[name]}
			}
		}
		p := plan.Compute(scene.Of(w.cfg, w.snapshot()))
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
				snap.Told, snap.Requeues[job] = map[uint32]string{job: told}, len(told)%2 == 0
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

// B1, B4: lists lack machines of ours, or show them without their group. The groups count these
// machines, and report them or fail to.
func TestIncompleteListLosesNoMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		snap := w.snapshot()
		snap.Instances = slices.DeleteFunc(snap.Instances, func(in mig.Instance) bool { // not of another nodeset
			set := w.cfg.FlexSetOf(in.Name)
			return slices.ContainsFunc(snap.Groups, func(g mig.Group) bool {
				return g.ID() == in.GroupID() && (set == nil || g.Stamp.NodeSet != set.Name)
			})
		})
		truth := sightOf(w.cfg, snap)
		there := map[string][]mig.Instance{} // instances of ours, by region/group
		for _, in := range snap.Instances {
			if key := in.Region + "/" + in.Group; truth.hasGroup(in.Region, in.Group) && !in.Leaving() {
				there[key] = append(there[key], in)
			}
		}
		for i := range snap.Groups {
			g := &snap.Groups[i]
			g.TargetSize, g.Creating = len(there[g.Region+"/"+g.Name]), 0
			for _, r := range g.Live() {
				g.TargetSize, g.Creating = g.TargetSize+len(r.Instances), g.Creating+len(r.Instances)
			}
		}
		snap.Instances = hideSome(t, snap.Instances)
		snap.Members = map[mig.GroupID]scene.Members{}
		for _, g := range snap.Miscounted(snap.Groups) {
			snap.Members[g.ID()] = drawMembers(t, there[g.Region+"/"+g.Name])
		}
		p := plan.Compute(scene.Of(w.cfg, snap))
		for _, a := range p.Actions {
			if a, ok := a.(action.DeleteGroup); ok {
				for _, in := range there[a.Group.String()] {
					if truth.busy(in.Name, holdsNodes) {
						t.Fatalf("%s has instance %s, and a job has its node: %s\nin this world:\n%s", a.Group.Name, in.Name, a, told(w))
					}
				}
			}
		}
		for _, name := range asked(p) {
			for key, instances := range there {
				if slices.Contains(mig.Names(instances), name) && !isOthers(truth, key, name) {
					t.Fatalf("instance %s of %s is asked for again\nin this world:\n%s", name, key, told(w))
				}
			}
		}
	})
}

// isOthers reports whether the node now belongs to a job other than the one that the group was
// created for, while the group does not name its hidden machines. Nothing then shows that the group
// still has a machine of that name, and Compute refuses a second one.
func isOthers(s *sight, group, node string) bool {
	for _, g := range s.snap.Groups {
		if g.ID().String() == group && len(s.jobs[node]) > 0 {
			return !slices.ContainsFunc(s.jobs[node], func(j slurm.Job) bool { return g.Stamp.IsFor(j.ID, j.Array(), j.User) })
		}
	}
	return false
}

// hideSome returns the instances without some of them, and some without their group.
func hideSome(t *rapid.T, all []mig.Instance) (seen []mig.Instance) {
	for _, in := range all {
		switch upTo(t, "how it shows", 2) {
		case 1:
			continue
		case 2:
			in.Group = ""
		}
		seen = append(seen, in)
	}
	return seen
}

// drawMembers draws what a group reports about its instances.
func drawMembers(t *rapid.T, all []mig.Instance) (m scene.Members) {
	if rarely(t, "it does not say") {
		return scene.Members{Err: errors.New("503")}
	}
	for _, in := range all {
		m.All = append(m.All, mig.Member{Name: in.Name, Status: in.Status, Action: "NONE"})
	}
	return m
}

// A1: if a job's row is unreadable, none of its machines is deleted and none of its nodes is
// powered down, whichever part of the row could be read. If the row's nodes are unreadable, the
// nodes' own states protect them.
func TestUnreadableJobKeepsItsNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.Partitions = []slurm.Partition{{Name: "train", Exclusive: true, Begins: true}, {Name: "shared", Begins: true}}
		if len(w.jobs) == 0 {
			t.Skip("the world is without jobs")
		}
		job := w.jobs[pick(t, "job that cannot be read", slices.Sorted(maps.Keys(w.jobs))...)]
		row := slurm.UnreadRow{Kind: slurm.JobRow, Why: "time"}
		if rapid.Bool().Draw(t, "its id can be read") {
			row.Name = fmt.Sprint(job.ID)
		}
		if rapid.Bool().Draw(t, "its nodes can be read") {
			row.Nodes, row.NodesKnown = job.Nodes, true
		} else if !w.showHeld(job) {
			t.Skip("no witness is left")
		}
		s := sightOf(w.cfg, w.snapshot())
		s.jobs = map[string][]slurm.Job{}
		for _, name := range job.Nodes {
			s.jobs[name] = []slurm.Job{job}
		}
		delete(w.jobs, job.ID)
		w.Unread = slurm.Unread{row}
		for _, wrong := range sparesWhatAJobRunsOn(s, plan.Compute(scene.Of(w.cfg, w.snapshot()))) {
			t.Errorf("of %s: %s\nin\n%s", row, wrong, told(w))
		}
	})
}

// showHeld reports whether all of the job's nodes show that a job has them, and no other job holds
// them exclusively.
func (w *world) showHeld(job slurm.Job) bool {
	return !slices.ContainsFunc(job.Nodes, func(name string) bool {
		n, shown := w.nodes[name]
		return !shown || !n.State.Held() || slices.ContainsFunc(inOrder(w.jobs), func(j slurm.Job) bool {
			return j.ID != job.ID && j.Partition == "train" && slices.Contains(j.Nodes, name)
		})
	})
}
