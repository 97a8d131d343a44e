package main

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
)

// The cluster, in one region.
const (
	cluster = "alpha"
	project = "demo"
	region  = "us-central1"
	zone    = "us-central1-a"
)

// The templates, named after their machine types. Only machines of the second can be placed close
// together.
const (
	loose = "a3-highgpu-8g"
	tight = "a4-highgpu-8g"
)

// nodeSet is a nodeset with a partition of the same name.
type nodeSet struct {
	name            string
	static, dynamic int
	exclusive       bool
	template        string
	flex            string
	widest          int // its largest job, in nodes
}

// nodeSets returns one nodeset for each way of obtaining nodes.
func nodeSets() []nodeSet {
	return []nodeSet{
		{name: "gang", dynamic: 24, exclusive: true, template: loose, flex: "use_job_duration: true, job_duration_margin: 3600", widest: 8},
		{name: "close", dynamic: 8, exclusive: true, template: tight, flex: "use_job_duration: true, job_duration_margin: 3600", widest: 4},
		{name: "pool", dynamic: 12, template: loose, flex: "max_run_duration: 21600", widest: 2},
		{name: "each", dynamic: 12, template: loose, flex: "provisioning: node_by_node, max_run_duration: 28800", widest: 2},
		{name: "bulk", dynamic: 8, exclusive: true, template: loose, flex: "use_bulk_insert: true, use_job_duration: true, job_duration_margin: 3600", widest: 4},
		{name: "base", static: 2, dynamic: 2, template: loose, flex: "max_run_duration: 43200", widest: 2},
	}
}

// longest is the longest time limit of a job: the limit plus the wait for the job's machines fits
// in the shortest lease.
const longest = 2 * time.Hour

func (s nodeSet) node(i int) string { return fmt.Sprintf("%s-%s-%d", cluster, s.name, i) }

// soakConfig returns the daemon's configuration. It sets the longest interval between passes,
// because a real second is long in the model's time: wake-ups start the passes.
func soakConfig(w *world) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "slurm_cluster_name: %s\nproject: %s\nslurm_bin_dir: %s/bin\n", cluster, project, w.dir)
	fmt.Fprintf(text, "slurmflex: {interval: 10s, waiting: configuring, api_calls_per_second: 1000, compute_endpoint: %q, http_address: %q, run_dir: %s/run, state_dir: %s/history}\n",
		w.endpoint, w.page, w.dir, w.dir)
	fmt.Fprintln(text, "partitions:")
	for _, set := range nodeSets() {
		fmt.Fprintf(text, "  %s: {partition_name: %[1]s, enable_job_exclusive: %t, partition_nodeset: [%[1]s]}\n", set.name, set.exclusive)
	}
	fmt.Fprintln(text, "nodeset:")
	for _, set := range nodeSets() {
		fmt.Fprintf(text, "  %s:\n    nodeset_name: %[1]s\n    node_count_static: %d\n    node_count_dynamic_max: %d\n", set.name, set.static, set.dynamic)
		fmt.Fprintf(text, "    instance_template: projects/%s/regions/%s/instanceTemplates/%s\n", project, region, set.template)
		fmt.Fprintf(text, "    subnetwork: projects/%s/regions/%s/subnetworks/default\n    zone_policy_allow: [%s]\n", project, region, zone)
		if set.template == tight {
			fmt.Fprint(text, "    enable_placement: true\n    placement_max_distance: 2\n")
		}
		fmt.Fprintf(text, "    dws_flex: {%s}\n", set.flex)
	}
	return text.String()
}

// slurmOptions returns the options of the Slurm model, without its programs.
func slurmOptions(now func() time.Time) fakeslurm.Options {
	o := fakeslurm.Options{
		ResumeTimeout: 65_533 * time.Second, SuspendTimeout: 5 * time.Minute, SuspendTime: 10 * time.Minute, Now: now,
	}
	for _, set := range nodeSets() {
		p := slurm.Partition{Name: set.name, Exclusive: set.exclusive, PowerDownOnIdle: set.exclusive}
		for i := range set.static + set.dynamic {
			p.Nodes = append(p.Nodes, set.node(i))
			if i < set.static {
				o.SuspendExc = append(o.SuspendExc, set.node(i))
			}
		}
		o.Nodes = append(o.Nodes, p.Nodes...)
		o.Partitions = append(o.Partitions, p)
	}
	return o
}

// cloudOptions returns the options of the Compute model, without its hooks.
func cloudOptions(c fakegce.Clock) fakegce.Options {
	return fakegce.Options{
		Project: project, Clock: c,
		OperationTime: 10 * time.Second, QueueTime: time.Minute, BootTime: 2 * time.Minute, DeleteTime: time.Minute,
	}
}
