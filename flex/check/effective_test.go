package check

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
)

// everything sets each key that has an effect to a value other than its default. Keys that
// exclude each other are in different nodesets.
const everything = `slurm_cluster_name: alpha
project: demo
slurm_bin_dir: /b
slurm_log_dir: /g
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [job, warm, bulk, cheap, booked, cpu]}
nodeset:
  plain: &place
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {}
  job:
    <<: *place
    node_count_static: 2
    node_count_dynamic_max: 8
    zone_policy_allow: [us-central1-b, us-central1-a]
    enable_placement: true
    placement_max_distance: 2
    node_conf: {CPUs: 4, Gres: ""}
    dws_flex:
      use_job_duration: true
      job_duration_margin: 600
      provision_timeout: 86400
      on_provision_timeout: cancel
      fallback_after: 600
      refresh_after: 7200
      max_attempts: 2
      gang_timeout: 0
      boot_timeout: 60
      boot_failures: 0
      on_lease_end: requeue
      lease_end_warning: 900
      lease_end_signal: USR2
  warm:
    <<: *place
    dws_flex: {max_run_duration: 86400, keep_idle: 1800, salvage: true, salvage_timeout: 600, renew_before: 3600, share_requests: 50}
  bulk:
    <<: *place
    dws_flex: {use_bulk_insert: true, provisioning: node_by_node}
  cheap:
    instance_template: projects/demo/regions/us-central1/instanceTemplates/flex
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    capacity: spot
    provision_timeout: 600
    on_provision_timeout: hold
    boot_timeout: 0
    keep_idle: 60
  booked:
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: projects/demo/regions/europe-west4/subnetworks/other
    zone_policy_allow: [europe-west4-a]
    capacity: reservation
    reservation_name: projects/demo/reservations/r
  cpu: {node_count_static: 1, node_count_dynamic_max: 2}
slurmflex:
  interval: 90s
  max_active_requests: 6
  max_active_requests_per_user: 2
  yield_after: 90m
  max_deletions_per_round: 0
  max_gates: 0
  api_calls_per_second: 3
  capacity_advice: true
  metrics_by_account: true
  http_address: 127.0.0.1:1
  compute_endpoint: http://127.0.0.1:2
  run_dir: /r
  state_dir: /s
  log_file: /l
  log_format: json
  log_level: debug
  credentials_file: /c
  delegate: {resume_program: /r, suspend_program: /s}
`

// fewest is a file that sets only what it must.
const fewest = `slurm_cluster_name: beta
project: test
partitions: {all: {}}
nodeset:
  plain:
    instance_template: projects/demo/global/instanceTemplates/plain
    subnetwork: projects/demo/regions/us-west1/subnetworks/plain
    zone_policy_allow: [us-west1-a]
    dws_flex: {}
  soon:
    instance_template: projects/demo/global/instanceTemplates/plain
    subnetwork: projects/demo/regions/us-west1/subnetworks/plain
    zone_policy_allow: [us-west1-a]
    capacity: on_demand
`

func TestEffectiveKeepsEveryField(t *testing.T) {
	all, least := loaded(t, everything), loaded(t, fewest)

	// Each field differs from its default at least once, so that a field that Effective leaves
	// out makes a difference below.
	var sets, defaultSets []any
	for _, set := range all.NodeSets {
		plain, soon := least.NodeSets[0], least.NodeSets[1]
		if set.Flex != nil && set.Flex.Capacity.AtOnce() {
			plain = soon
		}
		sets, defaultSets = append(sets, *set), append(defaultSets, *plain)
	}
	const fix = "set these keys in everything to values other than their defaults, and have Effective write them"
	assert.Empty(t, alike("NodeSet", sets, defaultSets), fix)
	assert.Empty(t, alike("Partition", []any{all.Partitions[0]}, []any{least.Partitions[0]}), fix)
	assert.Empty(t, alike("Config", []any{said(all)}, []any{said(least)}), fix)

	text, err := Effective(all)
	require.NoError(t, err)
	assert.Equal(t, said(all), said(loaded(t, string(text))))
}

func loaded(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("c.yaml", []byte(text))
	require.NoError(t, err)
	for _, set := range cfg.NodeSets { // lines are those of the file
		set.Line = 0
	}
	for i := range cfg.Partitions {
		cfg.Partitions[i].Line = 0
	}
	return cfg
}

// said is a configuration without its file.
func said(c *config.Config) config.Config {
	said := config.Config{}
	from, to := reflect.ValueOf(*c), reflect.ValueOf(&said).Elem()
	for i := range from.NumField() {
		if f := from.Type().Field(i); f.IsExported() && f.Name != "Ignored" {
			to.Field(i).Set(from.Field(i))
		}
	}
	return said
}

// alike returns the fields that are the same in all values as in the defaults. It looks into
// structs, and not at lines and what follows from other fields.
func alike(name string, values, defaults []any) (fields []string) {
	of := reflect.TypeOf(defaults[0])
	if of.Kind() != reflect.Struct {
		for i := range values {
			if !reflect.DeepEqual(values[i], defaults[i]) {
				return nil
			}
		}
		return []string{name}
	}
	for i := range of.NumField() {
		f := of.Field(i)
		if !f.IsExported() || f.Name == "Line" || f.Name == "Ignored" {
			continue
		}
		var inValues, inDefaults []any
		for j := range values {
			v, d := reflect.ValueOf(values[j]).Field(i), reflect.ValueOf(defaults[j]).Field(i)
			if f.Type.Kind() == reflect.Pointer {
				if v.IsNil() || d.IsNil() {
					continue
				}
				v, d = v.Elem(), d.Elem()
			}
			inValues, inDefaults = append(inValues, v.Interface()), append(inDefaults, d.Interface())
		}
		fields = append(fields, alike(fmt.Sprintf("%s.%s", name, f.Name), inValues, inDefaults)...)
	}
	return fields
}
