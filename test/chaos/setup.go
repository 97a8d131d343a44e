package chaos

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
)

// The cluster, and unrelated clusters in the same project.
const (
	cluster = "alpha"
	project = "demo"
	us      = "us-central1"
	europe  = "europe-west4"
)

// nodeSet is a nodeset of the cluster, with a partition of the same name.
type nodeSet struct {
	name             string
	region           string
	zones            []string
	template         string
	static, dynamic  int
	exclusive        bool
	flex             string        // content of dws_flex in addition to the common keys
	capacity         string        // instead of dws_flex; empty: flex-start
	placement        bool          // compact placement
	shortest, widest int           // of its jobs, in nodes
	longest          time.Duration // longest time limit of its jobs
}

// nodeSets returns one nodeset of each kind.
func nodeSets() []nodeSet {
	return []nodeSet{
		{
			name: "gang", region: us, zones: []string{"us-central1-a", "us-central1-b"}, template: "flex", dynamic: 6,
			exclusive: true, flex: "use_job_duration: true", shortest: 2, widest: 5, longest: 70 * time.Minute,
		},
		{
			name: "a3-pool", region: us, zones: []string{"us-central1-a"}, template: "flex", dynamic: 4,
			flex: "max_run_duration: 10800", shortest: 1, widest: 2, longest: time.Hour,
		},
		{
			name: "each", region: europe, zones: []string{"europe-west4-a", "europe-west4-b"}, template: "flex", dynamic: 4,
			flex: "provisioning: node_by_node, max_run_duration: 14400", shortest: 1, widest: 2, longest: time.Hour,
		},
		{
			name: "bulk", region: us, zones: []string{"us-central1-a", "us-central1-b"}, template: "flex", dynamic: 3,
			exclusive: true, flex: "use_bulk_insert: true, use_job_duration: true", shortest: 1, widest: 3, longest: 70 * time.Minute,
		},
		{
			name: "close", region: europe, zones: []string{"europe-west4-b"}, template: "tight", dynamic: 4,
			exclusive: true, flex: "use_job_duration: true", placement: true, shortest: 2, widest: 4, longest: time.Hour,
		},
		{
			name: "base", region: us, zones: []string{"us-central1-b"}, template: "flex", static: 2, dynamic: 1,
			flex: "max_run_duration: 5400", shortest: 1, widest: 2, longest: 40 * time.Minute,
		},
		{
			name: "spot", region: us, zones: []string{"us-central1-a", "us-central1-b"}, template: "plain", dynamic: 4,
			exclusive: true, capacity: "capacity: spot", shortest: 1, widest: 3, longest: 70 * time.Minute,
		},
		{
			name: "demand", region: us, zones: []string{"us-central1-a", "us-central1-b"}, template: "plain", static: 1, dynamic: 3,
			exclusive: true, capacity: "capacity: on_demand", shortest: 1, widest: 3, longest: 70 * time.Minute,
		},
		{
			name: "mine", region: europe, zones: []string{"europe-west4-a"}, template: "plain", dynamic: 4,
			exclusive: true, capacity: "capacity: reservation, reservation_name: " + reservation, shortest: 1, widest: 3, longest: 70 * time.Minute,
		},
	}
}

// bulk reports whether bulk insert creates the nodeset's machines, without a group.
func (s nodeSet) bulk() bool { return s.capacity != "" || strings.Contains(s.flex, "use_bulk_insert") }

// setup is the state of a world before the first event.
type setup struct {
	dice    dice
	keep    time.Duration // idle time of whole nodes after their jobs, with full-length leases; 0: deleted at once
	saves   bool          // pending jobs keep surviving whole nodes after a loss
	checks  bool          // machines with groups have a health check
	limit   int           // GPU hours a day of limitedSet, until the storm is over; 0: any
	waiting string        // how jobs wait for machines
	cloud   fakegce.Options
	slurm   fakeslurm.Options
}

func newSetup(d dice) setup {
	s := setup{dice: d, keep: pick(d, []time.Duration{0, 0, 10 * time.Minute, time.Hour}, "keep idle"), saves: d.oneIn(2, "salvage"), checks: d.oneIn(2, "health check"), limit: pick(d, []int{0, 0, 30, 80}, "limit"), waiting: config.Configuring}
	if d.oneIn(2, "pending") {
		s.waiting = config.Pending
	}
	s.cloud = fakegce.Options{
		Project:       project,
		OperationTime: d.span(time.Second, 12*time.Second, "operation time"),
		QueueTime:     d.span(0, time.Minute, "queue time"),
		BootTime:      d.span(20*time.Second, 2*time.Minute, "boot time"),
		DeleteTime:    d.span(10*time.Second, 90*time.Second, "delete time"),
		PageLimit:     pick(d, []int{0, 0, 0, 2, 4}, "page limit"),
		Switches: fakegce.Switches{
			TargetSizeAt:          pick(d, []string{"", fakegce.AtAccepted, fakegce.AtSucceeded}, "target size"),
			ExpiryKeepsTargetSize: d.oneIn(3, "expiry"), LostInstancesLeave: d.oneIn(3, "lost"),
			QueuedDeletable: d.oneIn(3, "queued deletable"), CancelWhileCreating: d.oneIn(3, "cancel creating"),
			LateRefusals: d.oneIn(3, "late refusals"), RequestErrorStatus: d.oneIn(3, "error status"),
			ForgetRefused: d.oneIn(3, "forget"), NoStaging: d.oneIn(3, "staging"),
			NameConflictFails: d.oneIn(3, "name conflict"), NoActionOnceCreated: d.oneIn(3, "no action"),
		},
	}
	s.slurm = fakeslurm.Options{
		Version: pick(d, fakeslurm.Releases(), "version"), Accounting: d.oneIn(2, "slurmdbd"),
		ResumeTimeout:  pick(d, []time.Duration{time.Hour, time.Hour, 2 * time.Hour, 65_533 * time.Second}, "resume timeout"),
		SuspendTimeout: d.minutes(1, 5, "suspend timeout"),
		SuspendTime:    d.minutes(3, 10, "suspend time"),
		SlurmdTimeout:  d.minutes(2, 5, "slurmd timeout"),
		Features:       map[string][]string{}, Switches: map[string]string{}, Gres: map[string]string{},
	}
	for _, set := range nodeSets() {
		p := slurm.Partition{Name: set.name, Exclusive: set.exclusive, PowerDownOnIdle: set.exclusive && !s.keeps(set) && !s.salvages(set)}
		if stay := s.stay(set); stay > 0 {
			p.SuspendTime = slurm.Limit{Kind: slurm.LimitSet, Duration: stay}
		}
		for i := range set.static + set.dynamic {
			node := fmt.Sprintf("%s-%s-%d", cluster, set.name, i)
			p.Nodes = append(p.Nodes, node)
			s.slurm.Features[node] = []string{fmt.Sprint("rack", i%2)}
			s.slurm.Switches[node] = fmt.Sprint(set.name, 2*i/(set.static+set.dynamic))
			if s.slurm.Gres[node] = "gpu:h100:8"; set.capacity != "" {
				s.slurm.Gres[node] = "gpu:l4:4"
			}
			if i < set.static {
				s.slurm.SuspendExc = append(s.slurm.SuspendExc, node)
			}
		}
		s.slurm.Nodes = append(s.slurm.Nodes, p.Nodes...)
		s.slurm.Partitions = append(s.slurm.Partitions, p)
	}
	return s
}

// edition numbers the configurations of a day. A reload switches to another edition.
type edition int

// file returns the configuration file of an edition.
func (s setup) file(e edition) string {
	d := s.dice
	text := &strings.Builder{}
	fmt.Fprintf(text, "slurm_cluster_name: %s\nproject: %s\n", cluster, project)
	fmt.Fprintf(text, "slurmflex: {interval: %ds, max_active_requests: %d, yield_after: %d, max_deletions_per_pass: %d, waiting: %s%s}\n",
		d.number(60, 180, "interval", e), d.number(3, 8, "active requests", e), pick(d, []int{0, 900, 900, 3600}, "yield after", e), d.number(1, 10, "deletions", e), s.waiting, s.limits(e))
	fmt.Fprintln(text, "partitions:")
	for _, set := range nodeSets() {
		fmt.Fprintf(text, "  %s: {partition_name: %[1]s, enable_job_exclusive: %t, partition_nodeset: [%[1]s]}\n", set.name, set.exclusive)
	}
	fmt.Fprintln(text, "nodeset:")
	for _, set := range nodeSets() {
		fmt.Fprintf(text, "  %s:\n    nodeset_name: %[1]s\n    node_count_static: %d\n    node_count_dynamic_max: %d\n", set.name, set.static, set.dynamic)
		fmt.Fprintf(text, "    instance_template: projects/%s/regions/%s/instanceTemplates/%s\n", project, set.region, set.template)
		fmt.Fprintf(text, "    subnetwork: projects/%s/regions/%s/subnetworks/default\n", project, set.region)
		fmt.Fprintf(text, "    zone_policy_allow: [%s]\n", strings.Join(set.zones, ", "))
		if set.placement {
			fmt.Fprint(text, "    enable_placement: true\n    placement_max_distance: 2\n")
		}
		if set.capacity != "" {
			fmt.Fprintf(text, "    %s\n", strings.ReplaceAll(set.capacity+s.warm(set)+", "+s.waits(set, e), ", ", "\n    "))
			continue
		}
		fmt.Fprintf(text, "    dws_flex: {%s}\n", strings.Join([]string{s.flex(set), s.patience(set, e)}, ", "))
	}
	return text.String()
}

// limits returns the limit on the nodeset limitedSet in an edition.
func (s setup) limits(e edition) string {
	if s.limit == 0 || e == raised {
		return ""
	}
	return fmt.Sprintf(", limits: {some: {partition: %s, gpu_hours: %d, per: day}}", limitedSet, s.limit)
}

// keeps reports whether the nodeset's machines stay warm after their jobs.
func (s setup) keeps(set nodeSet) bool { return s.keep > 0 && set.exclusive }

// checked reports whether the nodeset's machines have a health check.
func (s setup) checked(set nodeSet) bool { return s.checks && !set.bulk() }

// salvageTimeout is how long a job keeps its surviving machines after a loss.
const salvageTimeout = 20 * time.Minute

// salvages reports whether the nodeset has salvage.
func (s setup) salvages(set nodeSet) bool {
	return s.saves && set.exclusive && set.widest > 1 && !set.bulk()
}

// stay returns how long the nodeset's machines may be idle; 0 means that they are deleted with
// their jobs.
func (s setup) stay(set nodeSet) (longest time.Duration) {
	if s.keeps(set) {
		longest = s.keep
	}
	if s.salvages(set) {
		longest = max(longest, salvageTimeout)
	}
	return longest
}

// flex returns the content of dws_flex in addition to the common keys.
func (s setup) flex(set nodeSet) string {
	if s.stay(set) == 0 {
		return set.flex
	}
	keys := "max_run_duration: 14400" + s.warm(set)
	if s.salvages(set) {
		keys += fmt.Sprintf(", salvage: true, salvage_timeout: %d", int(salvageTimeout.Seconds()))
	}
	return strings.Replace(set.flex, "use_job_duration: true", keys, 1)
}

// patience returns a nodeset's timeouts in an edition. A lease is ten minutes longer than its
// job, which starts later than the lease.
func (s setup) patience(set nodeSet, e edition) string {
	d := s.dice
	keys := []string{
		s.waits(set, e),
		fmt.Sprintf("failover_after: %d", pick(d, []int{0, 0, 600}, "ask elsewhere", set.name, e)),
		fmt.Sprintf("max_attempts: %d", d.number(1, 5, "attempts", set.name, e)),
		fmt.Sprintf("share_requests: %d", pick(d, []int{1, 2, 5}, "share requests", set.name, e)),
		fmt.Sprintf("gang_timeout: %d", pick(d, []int{600, 600, 1200}, "gang timeout", set.name, e)),
		fmt.Sprintf("boot_failures: %d", pick(d, []int{0, 2, 5}, "boot failures", set.name, e)),
		"on_lease_end: " + pick(d, []string{"none", "requeue"}, "on lease end", set.name, e),
		fmt.Sprintf("lease_end_warning: %d", pick(d, []int{0, 300}, "lease end warning", set.name, e)),
	}
	if s.checked(set) {
		keys = append(keys, "health_check: 180")
	}
	if set.static > 0 {
		keys = append(keys, fmt.Sprintf("renew_before: %d", pick(d, []int{0, 600}, "renew", set.name, e)))
	}
	return strings.Join(keys, ", ")
}

// waits returns the timeouts of a nodeset of any kind, in an edition.
func (s setup) waits(set nodeSet, e edition) string {
	return fmt.Sprintf("provision_timeout: %d, on_provision_timeout: %s, boot_timeout: %d",
		pick(s.dice, []int{0, 0, 1800, 3600}, "provision timeout", set.name, e),
		pick(s.dice, []string{"requeue", "requeue", "hold", "cancel"}, "on timeout", set.name, e),
		pick(s.dice, []int{600, 900}, "boot timeout", set.name, e))
}

// warm returns the key of a nodeset whose machines stay warm after their jobs.
func (s setup) warm(set nodeSet) string {
	if !s.keeps(set) {
		return ""
	}
	return fmt.Sprintf(", keep_idle: %d", int(s.keep.Seconds()))
}

// ordinal formats a number for a sentence.
func ordinal(n int) string {
	return fmt.Sprint(n) + cmp.Or(map[int]string{1: "st", 2: "nd", 3: "rd"}[n], "th")
}
