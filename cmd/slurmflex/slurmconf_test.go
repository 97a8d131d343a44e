package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// manyKinds has one nodeset of each kind: by job, static, with parameters of its own, and not ours.
const manyKinds = `slurm_cluster_name: alpha
project: demo
slurm_bin_dir: DIR/bin
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3], partition_conf: {Default: "YES", ResumeTimeout: 65535}}
  serve: {partition_name: serve, partition_nodeset: [g2, cpu]}
  batch: {partition_name: batch, partition_nodeset: [cpu]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: &subnet projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: &zones [us-central1-a]
    dws_flex: {use_job_duration: true, job_duration_margin: 600}
  g2:
    nodeset_name: g2
    node_count_static: 2
    node_count_dynamic_max: 2
    instance_template: projects/demo/regions/us-central1/instanceTemplates/g2
    subnetwork: *subnet
    zone_policy_allow: *zones
    node_conf: {CPUs: 48, CoresPerSocket: 12, ThreadsPerCore: 2, RealMemory: 190000, Gres: "", Feature: l4}
    dws_flex: {max_run_duration: 86400}
  cpu:
    nodeset_name: cpu
    node_count_static: 1
    node_count_dynamic_max: 9
slurmflex:
  compute_endpoint: ENDPOINT
`

func manyKindsWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	must.Get(w.cloud.AddTemplate("us-central1", fakegce.FlexTemplate("g2", "g2-standard-48")))
	w.write("config.yaml", manyKinds)
	w.serve(w.cloud)
	return w
}

// A8: 26.05 has Exclusive=NODE instead of OverSubscribe=EXCLUSIVE.
func TestSlurmConfWritesWhatTheConfigurationNeeds(t *testing.T) {
	for _, version := range []string{"22.05", "24.11", "26.05"} {
		t.Run(version, func(t *testing.T) {
			w := manyKindsWorld(t)
			r := w.runs("config", "slurm-conf", "--slurm-version", version, "--programs", "/opt/slurmflex")
			requireGolden(t, "slurm-conf-"+version+".golden", r.stdout.String())
			r.isQuiet()
			w.assertUntouched()
		})
	}
}

func TestSlurmConfUsesItsTableWithoutCompute(t *testing.T) {
	w := manyKindsWorld(t)
	r := w.runs("config", "slurm-conf", "--slurm-version", "24.11", "--machine", "a3=a4-highgpu-8g,g2=g2-standard-96")
	r.shows("# nodeset a3: a4-highgpu-8g, from slurmflex's built-in table\n" +
		"NodeName=alpha-a3-[0-7] CPUs=224 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=3819438 Gres=gpu:b200:8 State=CLOUD\n")
	assert.Empty(t, w.cloud.Calls())

	w.cloud.Withdraw("us-central1-a", "a3-highgpu-8g")
	r = w.runs("config", "slurm-conf", "--slurm-version", "24.11")
	r.shows("# nodeset a3: a3-highgpu-8g, from slurmflex's built-in table, because Compute could not be queried: read machine type us-central1-a/a3-highgpu-8g: 404 notFound: ")
}
