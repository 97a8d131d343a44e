package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// drawRests has machines that come at once be refused, or have come again, with a rest
// of an earlier pass or none, and a job that can go elsewhere or none.
func (w *world) drawRests(t *rapid.T) {
	for _, set := range w.flexSets() {
		if rapid.Bool().Draw(t, "stocked out") {
			w.Stockouts[set.Name] = scene.Stockout{At: drawAge(t), Times: upTo(t, "times", 5)}
		}
		if set.Flex.Capacity.AtOnce() && rapid.Bool().Draw(t, "rests") {
			left := pick(t, "left", -10*time.Second, time.Minute, 20*time.Minute)
			w.Reservations = append(w.Reservations, slurm.Reservation{
				Name: memo.RestReservation(cluster, set.Name), Start: noon.Add(-10 * time.Minute), End: noon.Add(left),
				Nodes: distinct(t, "rest", 1, w.nodesOf(set)),
			})
		}
	}
	if rapid.Bool().Draw(t, "a job has a choice") {
		w.jobs[99] = slurm.Job{ID: 99, ArrayID: 99, State: slurm.JobPending, Partition: "train,elsewhere", NodeCount: 1}
	}
}

// A nodeset that was just refused rests: by all of its nodes that a job could be given and
// that have no machine, but for as many as one job may try its luck with, and by no others.
func TestARestHasAllColdNodesAndNoOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := emptyWorld(houseConfig(t))
		set, _, _ := w.cfg.Find("alpha-a3-0")
		set.Flex.Capacity, set.Flex.UseBulkInsert, set.Flex.MaxRunDuration = config.Spot, true, 0
		waits := slurm.Job{ID: 99, ArrayID: 99, State: slurm.JobPending, Partition: "train,elsewhere", NodeCount: 1 + upTo(t, "nodes - 1", 7)}
		waits.Reason = pick(t, "reason", "Resources", "Dependency")
		w.jobs[99] = waits
		const cold = "IDLE+CLOUD+POWERED_DOWN"
		for i, name := range w.nodesOf(set) {
			n := slurm.Node{Name: name, State: slurm.ParseState(pick(t, "state", append([]string{cold, cold, cold, cold + "+RESERVED"}, usual...)...))}
			if rarely(t, "a job has it") {
				id := uint32(i + 1)
				w.jobs[id] = slurm.Job{ID: id, ArrayID: id, State: pick(t, "job", jobStates...), Partition: "train", Nodes: []string{name}, NodeCount: 1}
			}
			w.nodes[name] = n
		}
		for _, other := range []string{"maintenance", memo.MoveReservation(cluster, 5), memo.Reservation(cluster, noon)} {
			if rapid.Bool().Draw(t, other) {
				w.Reservations = append(w.Reservations, slurm.Reservation{
					Name: other, Nodes: distinct(t, "reserved", 2, w.nodesOf(set)), Start: noon.Add(pick(t, "in", -time.Minute, time.Minute, time.Hour)), End: noon.Add(2 * time.Hour),
				})
			}
		}
		rest := memo.RestReservation(cluster, set.Name)
		var rested []string
		if rapid.Bool().Draw(t, "rests") {
			rested = distinct(t, "rest", 6, w.nodesOf(set))
			w.Reservations = append(w.Reservations, slurm.Reservation{Name: rest, Nodes: rested, Start: noon.Add(-time.Minute), End: noon.Add(4 * time.Minute)})
		}
		ago := pick(t, "refused", time.Minute, 4*time.Minute)
		w.Stockouts[set.Name] = scene.Stockout{At: noon.Add(-ago), Times: 1 + upTo(t, "times - 1", 9), Probed: rapid.Bool().Draw(t, "probed")}
		p, s := plan.Compute(scene.Of(w.cfg, w.snapshot())), sightOf(w.cfg, w.snapshot())
		for _, a := range p.Actions {
			switch a := a.(type) {
			case plan.CreateReservation:
				rested = a.Nodes
			case plan.SetReservation:
				if a.Name == rest {
					rested = a.Nodes
				}
			case plan.DeleteReservation:
				if a.Name == rest {
					rested = nil
				}
			}
		}
		var want []string
		for _, name := range w.nodesOf(set) {
			if s.isCold(name) && w.nodes[name].State.IsIdle() && !s.isReservedByOthers(name, w.Stockouts[set.Name].Until()) {
				want = append(want, name)
			}
		}
		open := 0
		if last := w.Stockouts[set.Name]; last.Times == 1 && ago > 150*time.Second && !last.Probed && waits.Reason == "Resources" && waits.NodeCount <= len(want) &&
			!slices.ContainsFunc(w.nodesOf(set), func(name string) bool { return s.nodes[name].State.Power() == slurm.Rising && !s.works(name) }) {
			open = waits.NodeCount
		}
		require.Len(t, rested, len(want)-open, "%s\nin\n%s", p.Actions, told(w))
		require.Subset(t, want, rested, "%s\nin\n%s", p.Actions, told(w))
		require.Empty(t, strings.Join(restsNoLongerThanItMay(s, p), "\n"))
	})
}

// restsNoLongerThanItMay: a rest has only nodes without a job that Slurm wants no machine
// of and that nobody else has reserved; it ends within half an hour, and at once when
// machines have come.
func restsNoLongerThanItMay(s *sight, p plan.Plan) (wrong []string) {
	of := func(name string) *config.NodeSet {
		set := memo.ParseHold(cluster, name).NodeSet
		i := slices.IndexFunc(s.cfg.NodeSets, func(n *config.NodeSet) bool { return n.Name == set })
		if i < 0 {
			return nil
		}
		return s.cfg.NodeSets[i]
	}
	planned := map[string]plan.Action{}
	check := func(a plan.Action, name string, nodes []string) {
		set := of(name)
		if set == nil {
			return
		}
		planned[name] = a
		if !set.Flex.Capacity.AtOnce() || s.snap.Stockouts[set.Name].Until().Before(s.snap.Now) && s.snap.Stockouts[set.Name].Times > 0 {
			wrong = append(wrong, fmt.Sprintf("nodeset %s need not rest: %s", set.Name, a))
		}
		for _, n := range nodes {
			if s.cfg.FlexSetOf(n) != set || !s.isCold(n) || s.isReservedByOthers(n, s.snap.Now.Add(time.Second)) {
				wrong = append(wrong, fmt.Sprintf("node %s cannot rest: %s", n, a))
			}
		}
	}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case plan.CreateReservation:
			check(a, a.Name, a.Nodes)
			if of(a.Name) != nil && (a.Lasts < time.Minute || a.Lasts > 30*time.Minute || a.Lasts%time.Minute != 0) {
				wrong = append(wrong, fmt.Sprintf("it lasts %s: %s", a.Lasts, a))
			}
		case plan.SetReservation:
			check(a, a.Name, a.Nodes)
		case plan.DeleteReservation:
			planned[a.Name] = a
		}
	}
	for _, r := range s.snap.Reservations {
		set := of(r.Name)
		if set == nil || !r.End.After(s.snap.Now) || planned[r.Name] != nil {
			continue
		}
		if last, known := s.snap.Stockouts[set.Name]; known && !last.Until().After(s.snap.Now) {
			wrong = append(wrong, fmt.Sprintf("%s goes on, and its time is over or machines have come", r.Name))
		}
		if slices.ContainsFunc(r.Nodes, func(n string) bool { return !s.isCold(n) }) {
			wrong = append(wrong, fmt.Sprintf("%s keeps a node that is up or has a job", r.Name))
		}
	}
	return wrong
}

// isCold reports whether Slurm wants no machine of the node, and no job has it.
func (s *sight) isCold(name string) bool {
	n, shown := s.nodes[name]
	return shown && n.State.Power() == slurm.Off && !n.State.Held() && !s.busy(name, holdsNodes)
}

func (s *sight) isReservedByOthers(node string, until time.Time) bool {
	return slices.ContainsFunc(s.snap.Reservations, func(r slurm.Reservation) bool {
		rests := memo.ParseHold(cluster, r.Name).Kind == memo.RestHold
		return !rests && !ourReservation(r.Name) && r.Start.Before(until) && (r.End.IsZero() || r.End.After(s.snap.Now)) && slices.Contains(r.Nodes, node)
	})
}
