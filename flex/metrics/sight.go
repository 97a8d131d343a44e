package metrics

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// sight holds the observation of the last pass as gauges, which all change together. Gauges of a
// region that could not be read keep their last values.
type sight struct {
	mu   sync.Mutex
	last []prometheus.Metric
}

// Describe lists the possible metrics.
func (s *sight) Describe(ch chan<- *prometheus.Desc) {
	d := descriptions()
	for _, desc := range []*prometheus.Desc{
		d.nodes, d.active, d.waiting, d.stuck, d.longest, d.leases, d.nextEnd, d.maintain, d.cutOff, d.idle, d.gpus, d.blocked, d.limits, d.limitsRead,
		d.readable, d.lastRead, d.orphans, d.reservations, d.held, d.unread,
	} {
		ch <- desc
	}
}

// Collect sends the last observation.
func (s *sight) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, metric := range s.last {
		ch <- metric
	}
}

func (s *sight) set(seen []prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = seen
}

// described are the possible gauges.
type described struct {
	nodes, active, waiting, stuck, longest, leases, nextEnd, maintain, cutOff, idle, gpus, blocked, limits, limitsRead, readable, lastRead, orphans, reservations, held, unread *prometheus.Desc
}

func descriptions() described {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("slurmflex_"+name, help, labels, nil)
	}
	return described{
		nodes:        desc("nodes", "Nodes by their state in Slurm.", "nodeset", "state"),
		active:       desc("active_requests", "Resize requests that can still provide machines.", "nodeset", "state"),
		waiting:      desc("waiting_nodes", "Nodes that are needed but lack a machine.", "nodeset"),
		stuck:        desc("stuck_jobs", "Pending jobs that have lacked only nodes for five minutes, with no request and no known reason.", "nodeset"),
		longest:      desc("longest_wait_seconds", "Longest wait of a node; 0 if none is waiting.", "nodeset"),
		leases:       desc("leases", "Existing machines, excluding those being deleted.", "nodeset"),
		nextEnd:      desc("next_lease_end_timestamp_seconds", "Time when the next lease ends; absent if none.", "nodeset"),
		maintain:     desc("next_maintenance_timestamp_seconds", "Time when announced host maintenance starts next; absent if none.", "nodeset"),
		cutOff:       desc("next_cutoff_timestamp_seconds", "Time when the next lease ends, or maintenance starts, before the time limit of a running job; absent if none.", "nodeset"),
		idle:         desc("longest_idle_seconds", "Longest time that a registered machine of a dynamic node has been without a job, less keep_idle; 0 if none.", "nodeset"),
		gpus:         desc("gpus", "GPUs of existing machines by the state of their nodes, and of waiting nodes; absent for an unknown machine type.", "nodeset", "state"),
		blocked:      desc("nodeset_blocked", "1 while no machines are requested for the nodeset: by=boots, too many failed boots in a row; by=admin, slurmflex block.", "nodeset", "by"),
		limits:       desc("limit_used_ratio", "Part of a limit on GPU hours or cost that is used in the present period; 1: all of it.", "limit", "unit"),
		limitsRead:   desc("limits_readable", "1 if limits on GPU hours and cost apply, 0 if they hold back no job, because the history or the prices could not be read; absent without limits."),
		readable:     desc("region_readable", "1 if the last pass could read the region, 0 if it did nothing there.", "region"),
		lastRead:     desc("region_last_read_timestamp_seconds", "Time when the region was last read; absent if never.", "region"),
		orphans:      desc("orphan_instances", "Machines of this cluster whose node Slurm or the configuration lacks.", "region"),
		reservations: desc("reservations", "Slurm reservations that keep jobs off the ends of leases."),
		held:         desc("held_jobs", "Jobs held for a reason that slurmflex wrote into their AdminComment."),
		unread:       desc("unread_rows", "Records of Slurm and Compute that the last pass could not read and left alone.", "kind"),
	}
}

// see returns gauges of a pass's observation.
func see(s *scene.Scene, p plan.Plan) []prometheus.Metric {
	cfg, unseen := s.Config, s.Seen.Unseen
	s = s.Recalled()
	sets := map[string]*tally{}
	for _, set := range cfg.FlexSets() {
		sets[set.Name] = &tally{
			nodes:    map[string]int{view.Word(slurm.State{}): 0}, // nodes with an unknown state
			active:   map[string]int{word(mig.Creating): 0, word(mig.Accepted): 0},
			machines: map[string]int{},
			keep:     set.Flex.KeepIdle,
		}
	}
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
	for _, b := range p.Blocks {
		if t := sets[b.NodeSet]; t != nil {
			t.blockedBy = byAdmin
			if b.Failed > 0 {
				t.blockedBy = byBoots
			}
		}
	}
	return append(gauges(s, unseen, sets, orphans), limits(s, p)...)
}

// limits returns what the limits on GPU hours and cost have used.
func limits(s *scene.Scene, p plan.Plan) (all []prometheus.Metric) {
	d := descriptions()
	if len(s.Config.Options.Limits) > 0 {
		all = append(all, prometheus.MustNewConstMetric(d.limitsRead, prometheus.GaugeValue, oneIf(s.Seen.Spent.Err == nil)))
	}
	for _, u := range p.Limits {
		for _, m := range u.Measures() {
			all = append(all, prometheus.MustNewConstMetric(d.limits, prometheus.GaugeValue, m.Used/m.Most, u.Name, m.Unit))
		}
	}
	return all
}

// count counts nodes, requests and machines. It returns the number of machines that belong to no
// node, by region.
func count(s *scene.Scene, sets map[string]*tally) (orphans map[string]int) {
	for _, n := range s.Nodes() {
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
	for _, in := range s.Machines() {
		switch {
		case in.Leaving() || !s.Belongs(in):
		case in.Node == nil:
			orphans[in.Region]++
		default:
			sets[in.Node.Set.Name].enter(in, s.Seen.Now)
		}
	}
	return orphans
}

// gauges returns the counts as metrics. Counts of an unread region, in unseen, keep their last
// values, or are left out.
func gauges(s *scene.Scene, unseen map[string]error, sets map[string]*tally, orphans map[string]int) []prometheus.Metric {
	cfg, snap := s.Config, s.Seen
	var all []prometheus.Metric
	add := func(d *prometheus.Desc, value float64, labels ...string) {
		all = append(all, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
	}
	d := descriptions()
	for _, set := range cfg.FlexSets() {
		t := sets[set.Name]
		for state, n := range t.nodes {
			add(d.nodes, float64(n), set.Name, state)
		}
		add(d.blocked, oneIf(t.blockedBy == byBoots), set.Name, byBoots)
		add(d.blocked, oneIf(t.blockedBy == byAdmin), set.Name, byAdmin)
		add(d.stuck, float64(t.stuck), set.Name)
		if snap.Unseen[set.Region] != nil {
			continue
		}
		for state, n := range t.active {
			add(d.active, float64(n), set.Name, state)
		}
		add(d.waiting, float64(t.waiting), set.Name)
		add(d.longest, t.longest.Seconds(), set.Name)
		leases := 0
		for _, n := range t.machines {
			leases += n
		}
		add(d.leases, float64(leases), set.Name)
		add(d.idle, t.idle.Seconds(), set.Name)
		if !t.nextEnd.IsZero() {
			add(d.nextEnd, seconds(t.nextEnd), set.Name)
		}
		if !t.maintain.IsZero() {
			add(d.maintain, seconds(t.maintain), set.Name)
		}
		if !t.cutOff.IsZero() {
			add(d.cutOff, seconds(t.cutOff), set.Name)
		}
		if machine, ok := mig.KnownMachine(snap.Templates[set.Template].MachineType); ok && machine.GPUs > 0 {
			add(d.gpus, float64(t.waiting*machine.GPUs), set.Name, "waiting")
			for state, n := range t.machines {
				add(d.gpus, float64(n*machine.GPUs), set.Name, state)
			}
		}
	}
	for _, region := range s.Regions() {
		add(d.readable, oneIf(unseen[region] == nil), region)
		if at, ok := readAt(snap, unseen, region); ok {
			add(d.lastRead, seconds(at), region)
		}
		if snap.Unseen[region] == nil {
			add(d.orphans, float64(orphans[region]), region)
		}
	}
	reserved := 0
	for _, h := range s.Holds() {
		if h.Kind == memo.LeaseHold {
			reserved++
		}
	}
	add(d.reservations, float64(reserved))
	add(d.held, float64(len(scene.HeldJobs(s))))
	unread := map[string]int{}
	for _, row := range snap.Unread {
		unread[row.Kind]++
	}
	for _, g := range snap.Groups {
		if g.Unread != "" && !g.Stamp.Newer() {
			unread["group"]++
		}
	}
	for _, in := range snap.Instances {
		if in.Unread != "" {
			unread["instance"]++
		}
	}
	for _, policy := range snap.Policies {
		if policy.Unread != "" {
			unread["policy"]++
		}
	}
	for _, kind := range append(slurm.RowKinds(), "group", "instance", "policy") {
		add(d.unread, float64(unread[kind]), kind)
	}
	return all
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
