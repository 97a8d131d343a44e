package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// valid is the file that the tests below make invalid.
const valid = `slurm_cluster_name: hpc
project: example-project
slurm_bin_dir: /usr/bin
nodeset:
  a3:
    nodeset_name: a3
    node_count_static: 0
    node_count_dynamic_max: 64
    instance_template: projects/p/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/p/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex:
      max_run_duration: 604800
  cpu: {nodeset_name: cpu, node_count_static: 1}
partitions:
  train: {partition_name: train, partition_nodeset: [a3]}
slurmflex:
  interval: 30s
`

func TestInvalidFiles(t *testing.T) {
	long := strings.Repeat("x", 47)
	tests := map[string]struct {
		replace string // a part of valid
		by      string
		want    string // for each line, the text after the name of the file
	}{
		"a limit of nothing":              {"interval: 30s", "limits: {bio: {account: bio, gpu_hours: }}", `18: slurmflex.limits.bio: limits nothing; set gpu_hours or cost`},
		"a limit of several":              {"interval: 30s", "limits: {bio: {account: bio, user: ada, cost: 1}}", `18: slurmflex.limits.bio: has several of partition, account and user; keep one`},
		"a limit of an unknown partition": {"interval: 30s", "limits: {bio: {partition: dev, cost: 1}}", `18: slurmflex.limits.bio.partition: unknown partition "dev"; define it or remove it`},
		"a limit with a bad name":         {"interval: 30s", "limits: {a b: {cost: 1}}", `18: slurmflex.limits."a b": the name of a limit has letters, digits, dashes and underscores only; rename it`},
		"a limit for an unknown period":   {"interval: 30s", "limits: {bio: {cost: 1, per: year}}", `18: slurmflex.limits.bio.per: "year" is not known; must be month, week or day`},

		// The file as a whole.
		"a misspelt key at the top": {"slurm_bin_dir:", "slurm_bindir:", `3: slurm_bindir: unknown key; did you mean slurm_bin_dir?`},
		"a key given twice":         {"slurm_bin_dir: /usr/bin", "project: other-project", `3: project: appears twice, first on line 2; keep one`},
		"a global template in a region with an endpoint": {
			"projects/p/regions/us-central1/instanceTemplates/a3\n    subnetwork: projects/p/regions/us-central1/subnetworks/default\n    zone_policy_allow: [us-central1-a]\n    dws_flex:\n      max_run_duration: 604800\n  cpu: {nodeset_name: cpu, node_count_static: 1}\npartitions:\n  train: {partition_name: train, partition_nodeset: [a3]}\nslurmflex:\n",
			"projects/p/global/instanceTemplates/a3\n    subnetwork: projects/p/regions/us-central1/subnetworks/default\n    zone_policy_allow: [us-central1-a]\n    dws_flex: {}\npartitions: {}\nslurmflex:\n  regions: {us-central1: {endpoint: http://127.0.0.1:8930}}\n",
			`5: nodeset.a3.instance_template: is a global template, which the endpoint of region us-central1 does not have; use projects/PROJECT/regions/us-central1/instanceTemplates/NAME`,
		},
		"a key of a hundred letters": {
			"  interval:", "  " + strings.Repeat("é", 50) + ":",
			`18: slurmflex."` + strings.Repeat("é", 40) + `…": unknown key; remove it`,
		},
		"a mapping as a key": {"slurm_bin_dir:", "{a: b}:", `3: a mapping is not a key; write a word`},
		"a region without endpoint": {
			"  interval: 30s", "  regions: {gke-us-central1: {token_file: /etc/token}}",
			`18: slurmflex.regions.gke-us-central1.endpoint: missing; must be http(s)://HOST[:PORT]`,
		},
		"a region's token in clear": {
			"  interval: 30s", "  regions: {gke-us-central1: {endpoint: http://gke.example, token_file: /etc/token}}",
			`18: slurmflex.regions.gke-us-central1.endpoint: the token in /etc/token would be sent to http://gke.example unencrypted; use https://HOST or an address of this host`,
		},
		"no cluster name": {
			"slurm_cluster_name: hpc", "slurm_cluster_name:",
			`1: slurm_cluster_name: missing; must be a letter, then lower-case letters, digits and inner dashes, at most 38 characters`,
		},
		"an ill-formed cluster name": {
			"slurm_cluster_name: hpc", "slurm_cluster_name: 1_hpc-",
			`1: slurm_cluster_name: "1_hpc-" is not valid; must be a letter, then lower-case letters, digits and inner dashes, at most 38 characters`,
		},
		"a cluster name that is too long": {
			"slurm_cluster_name: hpc", "slurm_cluster_name: " + long,
			`1: slurm_cluster_name: "` + long + `" is not valid; must be a letter, then lower-case letters, digits and inner dashes, at most 38 characters`,
		},
		"a project that is a link": {
			"project: example-project", "project: projects/x",
			`2: project: "projects/x" is not valid; must be a project's id, such as my-project-123`,
		},
		"a relative slurm_bin_dir": {
			"slurm_bin_dir: /usr/bin", "slurm_bin_dir: bin",
			`3: slurm_bin_dir: "bin" is not valid; must be an absolute path`,
		},
		"a list of nodesets": {"nodeset:\n", "nodeset: []\nnodeset_tpu:\n", `4: nodeset: a list is not a mapping; write keys and values`},

		// Nodesets.
		"a misspelt dws_flex": {"dws_flex:", "dws_flx:", `12: nodeset.a3.dws_flx: unknown key; did you mean dws_flex?`},
		"a nodeset that is not a mapping": {
			"cpu: {nodeset_name: cpu, node_count_static: 1}", "cpu: 5",
			`14: nodeset.cpu: 5 is not a mapping; write keys and values`,
		},
		"a TPU nodeset of the same name": {
			"partitions:", "nodeset_tpu: {a3: {}}\npartitions:",
			`15: nodeset_tpu.a3: has the same node names as nodeset "a3" on line 5; rename it`,
		},
		"a nodeset name that Compute refuses": {
			"a3:\n    nodeset_name: a3", "A_3:\n    nodeset_name: A_3",
			`5: nodeset.A_3: "A_3" cannot be part of a Compute name; must have only letters, digits and inner dashes, all lower case` + "\n" +
				`16: partitions.train.partition_nodeset[0]: unknown nodeset "a3"; define it or remove it`,
		},
		"names that are too long together": {
			"a3:\n    nodeset_name: a3", long + ":\n    nodeset_name: " + long,
			`5: nodeset.` + long + `: "` + long + `" has 47 characters; must have at most 36, because a group's name adds the cluster's name and a job id and has at most 63` + "\n" +
				`16: partitions.train.partition_nodeset[0]: unknown nodeset "a3"; define it or remove it`,
		},
		"too many dynamic nodes": {
			"node_count_dynamic_max: 64", "node_count_dynamic_max: 100001",
			`8: nodeset.a3.node_count_dynamic_max: 100001 is out of range; must be 0 to 100000`,
		},
		"too many nodes together": {
			"node_count_static: 0", "node_count_static: 99999",
			`8: nodeset.a3.node_count_dynamic_max: adds up to 100063 nodes with the static ones; the sum must be at most 100000`,
		},
		"a node count that is not whole": {
			"node_count_static: 0", `node_count_static: 1.5`,
			`7: nodeset.a3.node_count_static: 1.5 is not a whole number; must be 0 to 100000`,
		},
		"a renewal before the lease starts": {
			"max_run_duration: 604800", "max_run_duration: 600\n      renew_before: 600",
			`14: nodeset.a3.dws_flex.renew_before: 10m0s leaves less than 1s of a lease of 10m0s; must be at most 9m59s`,
		},
		"a margin as long as the lease": {
			"max_run_duration: 604800", "max_run_duration: 7200\n      use_job_duration: true\n      job_duration_margin: 7141",
			`15: nodeset.a3.dws_flex.job_duration_margin: 1h59m1s leaves less than 1m0s of a lease of 2h0m0s; must be at most 1h59m0s`,
		},
		"keep_idle with a lease for one job": {
			"max_run_duration: 604800", "use_job_duration: true\n      keep_idle: 600",
			`14: nodeset.a3.dws_flex.keep_idle: cannot be combined with use_job_duration, because such a lease ends with its job; remove use_job_duration or this`,
		},
		"keep_idle for a whole lease": {
			"max_run_duration: 604800", "max_run_duration: 3600\n      keep_idle: 3001",
			`14: nodeset.a3.dws_flex.keep_idle: 50m1s leaves less than 10m0s of a lease of 1h0m0s; must be at most 50m0s`,
		},
		"salvage with node_by_node": {
			"max_run_duration: 604800", "provisioning: node_by_node\n      salvage: true",
			`14: nodeset.a3.dws_flex.salvage: cannot be combined with provisioning: node_by_node, which requests each node separately; remove provisioning or this`,
		},
		"salvage with bulk insert": {
			"max_run_duration: 604800", "use_bulk_insert: true\n      salvage: true",
			`14: nodeset.a3.dws_flex.salvage: bulk insert does not wait for a replacement's capacity; remove use_bulk_insert or this`,
		},
		"a reservation together with dws_flex": {
			"dws_flex:", "reservation_name: res-1\n    dws_flex:",
			`12: nodeset.a3.reservation_name: a reservation excludes flex-start; remove it or set dws_flex.enabled: false`,
		},
		"a future reservation together with dws_flex": {
			"dws_flex:", "future_reservation: res-1\n    dws_flex:",
			`12: nodeset.a3.future_reservation: a reservation excludes flex-start; remove it or set dws_flex.enabled: false`,
		},
		"spot together with dws_flex, in all spellings": {
			"dws_flex:", "enable_spot_vm: true\n    spot: true\n    preemptible: true\n    dws_flex:",
			`12: nodeset.a3.enable_spot_vm: spot excludes flex-start; remove it or set dws_flex.enabled: false` + "\n" +
				`13: nodeset.a3.spot: spot excludes flex-start; remove it or set dws_flex.enabled: false` + "\n" +
				`14: nodeset.a3.preemptible: spot excludes flex-start; remove it or set dws_flex.enabled: false`,
		},
		"capacity beside dws_flex": {
			"dws_flex:", "capacity: spot\n    dws_flex:",
			`12: nodeset.a3.capacity: conflicts with dws_flex, which provisions these nodes with flex-start; remove this, or set dws_flex.enabled: false`,
		},
		"an empty capacity": {
			"dws_flex:\n      max_run_duration: 604800", "capacity: null",
			`12: nodeset.a3.capacity: empty; must be on_demand, spot or reservation`,
		},
		"a reservation without its name": {
			"dws_flex:\n      max_run_duration: 604800", "capacity: reservation",
			`5: nodeset.a3.reservation_name: missing; must be NAME or projects/PROJECT/reservations/NAME`,
		},
		"two kinds of capacity": {
			"dws_flex:\n      max_run_duration: 604800", "capacity: on_demand\n    spot: true\n    reservation_name: r",
			`13: nodeset.a3.spot: spot excludes capacity on_demand; remove one of the two` + "\n" +
				`14: nodeset.a3.reservation_name: a reservation excludes capacity on_demand; remove one of the two`,
		},
		"placement of other capacity": {
			"dws_flex:\n      max_run_duration: 604800", "capacity: spot\n    enable_placement: true\n    placement_max_distance: 2",
			`13: nodeset.a3.enable_placement: has no effect with capacity, because its machines are not in a group with a placement policy; remove it` + "\n" +
				`14: nodeset.a3.placement_max_distance: has no effect with capacity, because its machines are not in a group with a placement policy; remove it`,
		},
		"keys of slurmflex, dws_flex and nodesets at the top": {
			"slurm_bin_dir:", "interval: 60\nprovision_timeout: 60\ncapacity: spot\nresume_program: /x\nslurm_bin_dir:",
			`3: interval: has no effect here; move it into slurmflex` + "\n" +
				`4: provision_timeout: has no effect here; move it into dws_flex of a nodeset without capacity` + "\n" +
				`5: capacity: has no effect here; move it into a nodeset without dws_flex` + "\n" +
				`6: resume_program: has no effect here; move it into slurmflex.delegate`,
		},
		"a target shape of many zones": {
			"dws_flex:", "zone_target_shape: BALANCED\n    dws_flex:",
			`12: nodeset.a3.zone_target_shape: "BALANCED" is not supported, because slurmflex requests a job's nodes in one zone; must be ANY_SINGLE_ZONE`,
		},
		"no subnetwork": {
			"    subnetwork: projects/p/regions/us-central1/subnetworks/default\n", "",
			`5: nodeset.a3.subnetwork: missing; must be projects/PROJECT/regions/REGION/subnetworks/NAME`,
		},
		"a subnetwork without a region": {
			"projects/p/regions/us-central1/subnetworks/default", "default",
			`10: nodeset.a3.subnetwork: "default" is not valid; must be projects/PROJECT/regions/REGION/subnetworks/NAME`,
		},
		"a bare instance template": {
			"projects/p/regions/us-central1/instanceTemplates/a3", "a3",
			`9: nodeset.a3.instance_template: "a3" is not valid; must be projects/PROJECT/global/instanceTemplates/NAME or projects/PROJECT/regions/REGION/instanceTemplates/NAME`,
		},
		"a template of another region": {
			"regions/us-central1/instanceTemplates", "regions/us-east4/instanceTemplates",
			`9: nodeset.a3.instance_template: is in region "us-east4", but the subnetwork is in "us-central1"; use a template in "us-central1" or a global template`,
		},
		"no zones": {
			"zone_policy_allow: [us-central1-a]", "zone_policy_allow: []",
			`11: nodeset.a3.zone_policy_allow: no zone is left; allow at least one zone of the subnetwork's region and do not deny it`,
		},
		"zones outside the region": {
			"[us-central1-a]", "[us-central1-a, us-central2-a, us-central1, us-central1-a-b]",
			`11: nodeset.a3.zone_policy_allow[1]: "us-central2-a" is not a zone of the subnetwork's region; use zones of "us-central1"` + "\n" +
				`11: nodeset.a3.zone_policy_allow[2]: "us-central1" is not a zone of the subnetwork's region; use zones of "us-central1"` + "\n" +
				`11: nodeset.a3.zone_policy_allow[3]: "us-central1-a-b" is not a zone of the subnetwork's region; use zones of "us-central1"`,
		},
		"a zone instead of a list": {
			"[us-central1-a]", "us-central1-a",
			`11: nodeset.a3.zone_policy_allow: "us-central1-a" is not a list; write a list in brackets`,
		},
		"zones that are not strings": {
			"[us-central1-a]", "[1, [us-central1-a], null, \"\"]",
			`11: nodeset.a3.zone_policy_allow[0]: 1 is not a name; write a string` + "\n" +
				`11: nodeset.a3.zone_policy_allow[1]: a list is not a name; write a string` + "\n" +
				`11: nodeset.a3.zone_policy_allow[2]: null is not a name; write a string` + "\n" +
				`11: nodeset.a3.zone_policy_allow[3]: "" is not a name; write a string`,
		},
		"a placement distance out of range": {
			"dws_flex:", "placement_max_distance: 4\n    dws_flex:",
			`12: nodeset.a3.placement_max_distance: 4 is out of range; must be 1 to 3`,
		},
		"a topology for A4X": {
			"dws_flex:", "accelerator_topology: 1x72\n    dws_flex:",
			`12: nodeset.a3.accelerator_topology: "1x72" is for A4X machines, which slurmflex does not support; remove it, or provision these nodes without slurmflex`,
		},
		"a word for a boolean": {
			"dws_flex:", "enable_placement: \"true\"\n    dws_flex:",
			`12: nodeset.a3.enable_placement: "true" is not a boolean; must be true or false`,
		},
		"node parameters that are not single values": {
			"dws_flex:", "node_conf: {Gres: [gpu]}\n    dws_flex:",
			`12: nodeset.a3.node_conf.Gres: a list is not a single value; write a single value`,
		},

		// dws_flex.
		"an unknown key in dws_flex": {
			"max_run_duration:", "max_run_durations:",
			`13: nodeset.a3.dws_flex.max_run_durations: unknown key; did you mean max_run_duration?`,
		},
		"dws_flex that is not a mapping": {
			"dws_flex:\n      max_run_duration: 604800", "dws_flex: true",
			`12: nodeset.a3.dws_flex: true is not a mapping; write keys and values`,
		},
		"a run duration that is too short": {"604800", "300", `13: nodeset.a3.dws_flex.max_run_duration: 300 is out of range; must be 10m to 168h`},
		"a run duration in words":          {"604800", "7d", `13: nodeset.a3.dws_flex.max_run_duration: "7d" is not a duration in whole seconds; must be 10m to 168h`},
		"a key under its current and its former name": {
			"max_run_duration: 604800", "fallback_after: 30\n      failover_after: 60",
			`13: nodeset.a3.dws_flex.fallback_after: is the former name of failover_after, which is set too; remove this`,
		},

		// Partitions.
		"a partition of an unknown nodeset": {
			"{partition_name: train, partition_nodeset: [a3]}", "\n    partition_nodeset:\n    - cpu\n    - a33\n    - nothing",
			`19: partitions.train.partition_nodeset[1]: unknown nodeset "a33"; did you mean a3?` + "\n" +
				`20: partitions.train.partition_nodeset[2]: unknown nodeset "nothing"; define it or remove it`,
		},
		"the partition of defaults": {
			"train: {partition_name: train", "Default: {partition_name: Default",
			`16: partitions.Default: PartitionName=Default sets the defaults of all partitions in slurm.conf; choose another name`,
		},
		"a key of dws_flex in a partition": {
			"partition_name: train", "fallback_after: 3600",
			`16: partitions.train.fallback_after: has no effect here; move it into dws_flex of a nodeset without capacity`,
		},
		"an unknown key in a partition": {
			"partition_name: train", "enable_jobs_exclusive: true",
			`16: partitions.train.enable_jobs_exclusive: unknown key; did you mean enable_job_exclusive?`,
		},

		// slurmflex.
		"an unknown key in slurmflex":        {"interval:", "intervall:", `18: slurmflex.intervall: unknown key; did you mean interval?`},
		"a key of dws_flex in slurmflex":     {"interval: 30s", "max_attempts: 3", `18: slurmflex.max_attempts: unknown key; move it into dws_flex of a nodeset without capacity`},
		"an unknown key in delegate":         {"interval: 30s", "delegate: {resume: /x}", `18: slurmflex.delegate.resume: unknown key; remove it`},
		"an interval that is too short":      {"30s", "500ms", `18: slurmflex.interval: "500ms" is not a duration in whole seconds; must be 1s to 1h`},
		"an interval that is not a duration": {"30s", "often", `18: slurmflex.interval: "often" is not a duration in whole seconds; must be 1s to 1h`},
		"a removed key":                      {"interval: 30s", "max_gates: 10", `18: slurmflex.max_gates: no longer a key; remove it, and set waiting: pending for jobs that start as soon as their machines are up`},
		"an address without a port": {
			"interval: 30s", "http_address: localhost",
			`18: slurmflex.http_address: "localhost" is not valid; must be HOST:PORT`,
		},
		"an endpoint with a path": {
			"interval: 30s", `compute_endpoint: http://localhost:1/compute`,
			`18: slurmflex.compute_endpoint: "http://localhost:1/compute" is not valid; must be http(s)://HOST[:PORT]`,
		},
		"an endpoint that would receive unencrypted tokens": {
			"interval: 30s", "{compute_endpoint: \"http://10.0.0.5:8900\"}\ngoogle_app_cred_path: /etc/key.json",
			`18: slurmflex.compute_endpoint: the tokens of credentials file /etc/key.json would be sent to http://10.0.0.5:8900 unencrypted; use https://HOST or an address of this host`,
		},
		"relative paths": {
			"interval: 30s", `{run_dir: a, state_dir: f, log_file: b, delegate: {resume_program: d, suspend_program: e}}`,
			`18: slurmflex.delegate.resume_program: "d" is not valid; must be an absolute path` + "\n" +
				`18: slurmflex.delegate.suspend_program: "e" is not valid; must be an absolute path` + "\n" +
				`18: slurmflex.run_dir: "a" is not valid; must be an absolute path` + "\n" +
				`18: slurmflex.state_dir: "f" is not valid; must be an absolute path` + "\n" +
				`18: slurmflex.log_file: "b" is not valid; must be an absolute path`,
		},

		"several problems, each once, by line": {
			"slurm_cluster_name: hpc\nproject: example-project", "slurm_cluster_name: [hpc]\nprojct: x",
			`1: slurm_cluster_name: a list is not a string; write a string in quotes` + "\n" +
				`1: project: missing; must be a project's id, such as my-project-123` + "\n" +
				`2: projct: unknown key; did you mean project?`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(valid, tt.replace), "replaced once")
			_, err := Parse("config.yaml", []byte(strings.Replace(valid, tt.replace, tt.by, 1)))
			require.Error(t, err)
			assert.Equal(t, tt.want, strings.ReplaceAll(strings.TrimPrefix(err.Error(), "config.yaml:"), "\nconfig.yaml:", "\n"))
		})
	}
	parse(t, valid)
}
