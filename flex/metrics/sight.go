package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// gauges are the values at the time of a pass's observation, which all change together. Gauges of a region
// that could not be read keep their last values.
type gauges []prometheus.Metric

// collect sends the gauges of the last pass. Its collector is unchecked, because what there is depends on
// the observation.
func (m *Metrics) collect(ch chan<- prometheus.Metric) {
	if last := m.sight.Load(); last != nil {
		for _, metric := range *last {
			ch <- metric
		}
	}
}

// add adds a gauge. Each label is a name and a value.
func (g *gauges) add(name, help string, value float64, labels ...string) {
	var names, values []string
	for label := range slices.Chunk(labels, 2) {
		names, values = append(names, label[0]), append(values, label[1])
	}
	*g = append(*g, prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), prometheus.GaugeValue, value, values...))
}

// see returns gauges of a pass's observation.
func see(s *scene.Scene, p plan.Plan) *gauges {
	cfg, unseen := s.Config, s.Seen.Unseen
	sets := map[string]*tally{}
	for _, set := range cfg.FlexSets() {
		t := &tally{
			nodes:    map[string]int{view.Word(slurm.State{}): 0}, // nodes with an unknown state
			active:   map[string]int{word(mig.Creating): 0, word(mig.Accepted): 0},
			machines: map[string]int{},
			keep:     set.Flex.KeepIdle,
		}
		switch b := s.Sets[set].Block; {
		case b == nil:
		case b.Failed > 0:
			t.blockedBy = byBoots
		default:
			t.blockedBy = byAdmin
		}
		sets[set.Name] = t
	}
	s = s.Recalled
	orphans := count(s, sets)
	for _, w := range p.Waits {
		t := sets[w.NodeSet]
		if t == nil {
			continue
		}
		t.waiting += len(w.Nodes)
		if !w.Since.IsZero() {
			t.longest = max(t.longest, s.Seen.Now.Sub(w.Since))
		}
	}
	for _, w := range p.Held {
		if t := sets[w.NodeSet]; t != nil && w.IsStuck(s.Seen.Now) {
			t.stuck++
		}
	}
	all := &gauges{}
	all.nodeSets(s, sets)
	all.regions(s, unseen, orphans)
	all.cluster(s)
	all.limits(s, p)
	return all
}

// limits adds what the limits on GPU hours and cost have used.
func (g *gauges) limits(s *scene.Scene, p plan.Plan) {
	if len(s.Config.Options.Limits) > 0 {
		g.add("slurmflex_limits_readable",
			"1 if limits on GPU hours and cost apply, 0 if they hold back no job, because the history or the prices could not be read; absent without limits.",
			oneIf(s.Seen.Spent.Err == nil))
	}
	for _, u := range p.Limits {
		for _, m := range u.Measures() {
			g.add("slurmflex_limit_used_ratio",
				"Part of a limit on GPU hours or cost that is used in the present period; 1: all of it.",
				m.Used/m.Most, "limit", u.Name, "unit", m.Unit)
		}
	}
}

// count counts nodes, requests and machines. It returns the number of machines that belong to no
// node, by region.
func count(s *scene.Scene, sets map[string]*tally) (orphans map[string]int) {
	for _, n := range s.Nodes {
		sets[n.Set.Name].nodes[view.Word(n.State)]++
	}
	for _, g := range s.Seen.Groups {
		if t := sets[g.Stamp.NodeSet]; t != nil {
			for _, r := range g.Live() {
				t.active[word(r.State)]++
			}
		}
	}
	orphans = map[string]int{}
	for _, in := range s.Machines {
		switch {
		case in.Leaving() || !in.Belongs:
		case in.Node == nil:
			orphans[in.Region]++
		default:
			sets[in.Node.Set.Name].enter(in, s.Seen.Now)
		}
	}
	return orphans
}

// nodeSets adds the counts of nodesets. Counts of an unread region keep their last values, or are
// left out.
func (g *gauges) nodeSets(s *scene.Scene, sets map[string]*tally) {
	for _, set := range s.Config.FlexSets() {
		t := sets[set.Name]
		add := func(name, help string, value float64, labels ...string) {
			g.add(name, help, value, append([]string{"nodeset", set.Name}, labels...)...)
		}
		when := func(name, help string, at time.Time) {
			if !at.IsZero() {
				add(name, help, seconds(at))
			}
		}
		for state, n := range t.nodes {
			add("slurmflex_nodes", "Nodes by their state in Slurm.", float64(n), "state", state)
		}
		for _, by := range []string{byBoots, byAdmin} {
			add("slurmflex_nodeset_blocked",
				"1 while no machines are requested for the nodeset: by=boots, too many failed boots in a row; by=admin, slurmflex block.",
				oneIf(t.blockedBy == by), "by", by)
		}
		add("slurmflex_stuck_jobs", "Pending jobs that have lacked only nodes for five minutes, with no request and no known reason.", float64(t.stuck))
		if s.Seen.Unseen[set.Region] != nil {
			continue
		}
		for state, n := range t.active {
			add("slurmflex_active_requests", "Resize requests that can still provide machines.", float64(n), "state", state)
		}
		add("slurmflex_waiting_nodes", "Nodes that are needed but lack a machine.", float64(t.waiting))
		add("slurmflex_longest_wait_seconds", "Longest wait of a node; 0 if none is waiting.", t.longest.Seconds())
		add("slurmflex_longest_idle_seconds", "Longest time that a registered machine of a dynamic node has been without a job, less keep_idle; 0 if none.", t.idle.Seconds())
		when("slurmflex_next_lease_end_timestamp_seconds", "Time when the next lease ends; absent if none.", t.nextEnd)
		when("slurmflex_next_maintenance_timestamp_seconds", "Time when announced host maintenance starts next; absent if none.", t.maintain)
		when("slurmflex_next_cutoff_timestamp_seconds",
			"Time when the next lease ends, or maintenance starts, before the time limit of a running job; absent if none.",
			t.cutOff)
		leases := 0
		for _, n := range t.machines {
			leases += n
		}
		add("slurmflex_leases", "Existing machines, excluding those being deleted.", float64(leases))
		t.machines["waiting"] = t.waiting
		machine, known := mig.KnownMachine(s.Seen.Templates[set.Template].MachineType)
		for state, n := range t.machines {
			if known && machine.GPUs > 0 {
				add("slurmflex_gpus",
					"GPUs of existing machines by the state of their nodes, and of waiting nodes; absent for an unknown machine type.",
					float64(n*machine.GPUs), "state", state)
			}
		}
	}
}

// regions adds what the pass could read of each region.
func (g *gauges) regions(s *scene.Scene, unseen map[string]error, orphans map[string]int) {
	for _, region := range s.Regions {
		g.add("slurmflex_region_readable", "1 if the last pass could read the region, 0 if it did nothing there.", oneIf(unseen[region] == nil), "region", region)
		if at, ok := readAt(s.Seen, unseen, region); ok {
			g.add("slurmflex_region_last_read_timestamp_seconds", "Time when the region was last read; absent if never.", seconds(at), "region", region)
		}
		if s.Seen.Unseen[region] == nil {
			g.add("slurmflex_orphan_instances", "Machines of this cluster whose node Slurm or the configuration lacks.", float64(orphans[region]), "region", region)
		}
	}
}

// cluster adds the counts of the whole cluster.
func (g *gauges) cluster(s *scene.Scene) {
	reserved, held := 0, 0
	for _, h := range s.Holds {
		if h.Kind == memo.LeaseHold {
			reserved++
		}
	}
	for _, j := range s.Seen.Jobs {
		if j.State.Waits() && j.Reason == "JobHeldAdmin" && memo.ExplainsHold(s.Seen.Told[j.ID]) {
			held++
		}
	}
	g.add("slurmflex_reservations", "Slurm reservations that keep jobs off the ends of leases.", float64(reserved))
	g.add("slurmflex_held_jobs", "Jobs held for a reason that slurmflex wrote into their AdminComment.", float64(held))
	unread := map[string]int{}
	for _, row := range s.Seen.Unread {
		unread[row.Kind]++
	}
	for _, g := range s.Seen.Groups {
		if g.Unread != "" && !g.Stamp.Newer() {
			unread["group"]++
		}
	}
	for _, in := range s.Seen.Instances {
		if in.Unread != "" {
			unread["instance"]++
		}
	}
	for _, policy := range s.Seen.Policies {
		if policy.Unread != "" {
			unread["policy"]++
		}
	}
	for _, kind := range []string{slurm.JobRow, slurm.NodeRow, slurm.ReservationRow, slurm.PartitionRow, "group", "instance", "policy"} {
		g.add("slurmflex_unread_rows", "Records of Slurm and Compute that the last pass could not read and left alone.", float64(unread[kind]), "kind", kind)
	}
}

// readAt returns when the region was last read; false if that is unknown.
func readAt(snap scene.Snapshot, unseen map[string]error, region string) (time.Time, bool) {
	if unseen[region] == nil {
		return snap.Now, true
	}
	known, ok := snap.LastKnown[region]
	return known.At, ok
}

// word returns a request's state as a label. All unknown states share one label, so that labels
// stay few.
func word(s mig.RequestState) string {
	if s == mig.Creating || s == mig.Accepted {
		return strings.ToLower(string(s))
	}
	return "other"
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
