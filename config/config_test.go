package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// minimal is the smallest file with a nodeset that slurmflex provisions.
const minimal = `slurm_cluster_name: hpc
project: example-project
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    node_count_dynamic_max: 64
    instance_template: projects/p/global/instanceTemplates/a3
    subnetwork: projects/p/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {}
`

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("config.yaml", []byte(text))
	require.NoError(t, err)
	return c
}

func nodeSet(t *testing.T, c *Config, name string) *NodeSet {
	t.Helper()
	for _, ns := range c.NodeSets {
		if ns.Name == name {
			return ns
		}
	}
	t.Fatalf("no nodeset %s", name)
	return nil
}

// TestEveryKeyIsExplainedAsItIsRead covers the defaults of all keys. This test covers defaults that depend on other
// keys.
func TestDefaultsFollowOtherKeys(t *testing.T) {
	assert.Equal(t, parse(t, minimal).Options, parse(t, minimal+"slurmflex:\n").Options, "an empty section sets nothing")
	assert.Equal(t, "/etc/app.json", parse(t, minimal+"google_app_cred_path: /etc/app.json\n").CredentialsFile, "slurm-gcp's own path")
	f := parse(t, minimal).NodeSets[0].Flex
	assert.Equal(t, 168*time.Hour, f.MaxRunDuration)
	assert.Equal(t, FlexStart, f.Capacity)
	assert.Equal(t, 10*time.Minute, f.JobDurationMargin, "N3: the lease is longer than the time limit")
}

func TestBoundsInTagsAreTheConstants(t *testing.T) {
	lease, nodes := fieldOf(t, Flex{}, "max_run_duration"), fieldOf(t, NodeSet{}, "node_count_static")
	assert.Equal(t, []time.Duration{MinRunDuration, 168 * time.Hour}, []time.Duration{time.Duration(lease.low), time.Duration(lease.high)})
	assert.EqualValues(t, MaxNodes, nodes.high)
}

// fieldOf returns the field of a struct with that key.
func fieldOf(t *testing.T, of any, key string) field {
	t.Helper()
	fields := fieldsOf(reflect.TypeOf(of))
	i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
	require.GreaterOrEqual(t, i, 0, key)
	return fields[i]
}

func TestNodesetListsItsNodes(t *testing.T) {
	c := parse(t, `
slurm_cluster_name: alpha
project: example.com:my-project
nodeset:
  a3:
    node_count_static: 2
    node_count_dynamic_max: 6
    node_conf: {CoresPerSocket: 52, Gres: "gpu:8", Feature: null, Exclusive: true}
    instance_template: https://www.googleapis.com/compute/v1/projects/p/regions/us-central1/instanceTemplates/a3
    subnetwork: https://www.googleapis.com/compute/beta/projects/p/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-c, us-central1-ai1a, us-central1-b, us-central1-c]
    zone_policy_deny: [us-central1-b]
    enable_placement: true
    placement_max_distance: 2
    dws_flex:
slurmflex:
  interval: 90
  yield_after: 7200
`)
	assert.Equal(t, "example.com:my-project", c.Project)
	assert.Empty(t, c.Ignored)
	flex := defaults[Flex]()
	flex.Capacity = FlexStart
	assert.Equal(t, &NodeSet{
		Name: "a3", Static: 2, DynamicMax: 6, Line: 5, Flex: &flex,
		Template:          "https://www.googleapis.com/compute/v1/projects/p/regions/us-central1/instanceTemplates/a3",
		Subnetwork:        "https://www.googleapis.com/compute/beta/projects/p/regions/us-central1/subnetworks/default",
		Region:            "us-central1",
		Zones:             []string{"us-central1-c", "us-central1-ai1a"},
		Placement:         true,
		PlacementDistance: 2,
		NodeConf:          map[string]string{"CoresPerSocket": "52", "Gres": "gpu:8", "Exclusive": "true"},
	}, c.NodeSets[0])
	assert.Equal(t, []time.Duration{90 * time.Second, 2 * time.Hour}, []time.Duration{c.Options.Interval, c.Options.YieldAfter}, "durations without a unit")
}

func TestEffectiveLoadsAsTheSameConfiguration(t *testing.T) {
	c := loadExisting(t)
	text := c.Effective()
	assert.Equal(t, without(c), without(parse(t, string(text))))
	assert.NotContains(t, string(text), "null")
}

// loadExisting loads the file of a slurm-gcp cluster from a private folder, whatever the file modes
// in this working copy are.
func loadExisting(t testing.TB) *Config {
	t.Helper()
	data := must.Get(os.ReadFile("testdata/slurm-gcp.yaml"))
	path := filepath.Join(ownFolder(t), "config.yaml")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	c, err := Load(path)
	require.NoError(t, err)
	return c
}

func TestFileOfAnExistingClusterLoadsUnchanged(t *testing.T) {
	c := loadExisting(t)

	names := func(sets []*NodeSet) (names []string) {
		for _, ns := range sets {
			names = append(names, ns.Name)
		}
		return names
	}
	assert.Equal(t, []string{"a3mega", "cpu", "dyn", "g2static", "h4dlegacy", "v4"}, names(c.NodeSets))
	assert.Equal(t, []string{"a3mega", "g2static", "h4dlegacy"}, names(c.FlexSets()))
	assert.NotNil(t, c.FlexSet("a3mega"))
	assert.Nil(t, c.FlexSet("cpu"), "not provisioned by slurmflex")
	assert.Equal(t, "a3mega", c.FlexSetOf("hpc-a3mega-0").Name)
	assert.Nil(t, c.FlexSetOf("hpc-cpu-0"), "not provisioned by slurmflex")
	assert.Nil(t, c.FlexSetOf("hpc-gone-0"))
	assert.Equal(t, []string{"europe-west4", "us-central1"}, c.FlexRegions())
	assert.Equal(t, "/usr/local/bin", c.SlurmBinDir)

	assert.True(t, c.Exclusive("train"))
	assert.False(t, c.Exclusive("infer"))
	assert.False(t, c.Exclusive("nowhere"))
	train, ok := c.Partition("train")
	require.True(t, ok)
	assert.Equal(t, []string{"a3mega"}, train.NodeSets)
	_, ok = c.Partition("trai")
	assert.False(t, ok)
}

func TestIgnoredKeysAreListed(t *testing.T) {
	c := loadExisting(t)
	assert.ElementsMatch(t, strings.Split(strings.TrimSpace(must.Text("testdata/slurm-gcp.ignored")), "\n"), ignored(c))
}

// ignored returns the ignored keys, each behind its line.
func ignored(c *Config) (all []string) {
	for _, key := range c.Ignored {
		all = append(all, fmt.Sprintf("%d: %s", c.Keys().Line(key), key))
	}
	return all
}

// C1: each release of the Cluster Toolkit adds keys.
func TestUnknownKeyOutsideOurSectionsIsIgnored(t *testing.T) {
	c := parse(t, `enable_expedited_requeue: true
enabled: true
experimental: {anything: [1, 2]}
`+strings.Replace(strings.Replace(minimal, "dws_flex: {}", "brand_new: 1\n    dws_flex: {}", 1),
		"partition_nodeset:", "brand_new: 1, partition_nodeset:", 1))
	assert.ElementsMatch(t, []string{"enable_expedited_requeue", "enabled", "experimental", "partitions.train.brand_new", "nodeset.a3.brand_new"}, c.Ignored)
}

// A bug report contains the effective configuration.
func TestEffectiveConfigurationLacksKeysOfOtherPrograms(t *testing.T) {
	assert.NotContains(t, string(parse(t, minimal+"cloudsql: {password: hunter2}\n").Effective()), "hunter2")
}

// Every key of dws_flex must be rejected outside dws_flex, because slurm-gcp does not know it.
func TestDWSFlexKeysOutsideDWSFlexAreErrors(t *testing.T) {
	for _, field := range fieldsOf(reflect.TypeFor[Flex]()) {
		for _, beside := range []string{"dws_flex: {}", "dws_flex: {enabled: false}", "zone_policy_deny: []", "capacity: spot"} {
			if !inFlexBlock(field) || beside == "capacity: spot" && besideCapacity(field) {
				continue
			}
			_, err := Parse("config.yaml", []byte(strings.Replace(minimal, "dws_flex: {}", beside+"\n    "+field.key+": null", 1)))
			require.ErrorContains(t, err, ": nodeset.a3."+field.key+": has no effect here; move it into dws_flex of a nodeset without capacity", "beside %s", beside)
		}
	}
}

func TestSlurmGCPNodesetWithoutPlacementAcceptsCapacity(t *testing.T) {
	c := parse(t, strings.Replace(minimal, "dws_flex: {}",
		"dws_flex: {enabled: false, max_run_duration: 604800}\n    enable_placement: false\n    placement_max_distance: null\n    capacity: spot\n    provision_timeout: 61", 1))
	assert.Equal(t, Spot, c.NodeSets[0].Flex.Capacity)
	assert.Empty(t, c.Ignored)
}

func TestPlacementWithBulkInsertIsListedAsIgnored(t *testing.T) {
	c := parse(t, strings.Replace(minimal, "dws_flex: {}", "enable_placement: true\n    dws_flex: {use_bulk_insert: true}", 1))
	assert.True(t, c.NodeSets[0].Flex.UseBulkInsert)
	assert.False(t, c.NodeSets[0].Placement)
	assert.Equal(t, []string{"11: nodeset.a3.enable_placement"}, ignored(c))
}

func TestDWSFlexBlockAloneEnablesSlurmflex(t *testing.T) {
	for block, ours := range map[string]bool{
		"dws_flex: {}":                               true,
		"dws_flex:":                                  true,
		"dws_flex: {enabled: null}":                  true,
		"dws_flex: {enabled: true}":                  true,
		"dws_flex: {max_attempts: 2}":                true,
		"dws_flex: {enabled: false}":                 false,
		"dws_flex: {enabled: false, provisioning: }": false,
		"": false,
	} {
		assert.Equal(t, ours, parse(t, strings.Replace(minimal, "dws_flex: {}", block, 1)).NodeSets[0].Flex != nil, "%q", block)
	}
}

func TestOtherNodesetsAreNotCheckedForFlexStart(t *testing.T) {
	c := parse(t, `
slurm_cluster_name: hpc
project: example-project
nodeset:
  cpu:
    node_count_static: 3
    reservation_name: res
    spot: maybe
    instance_template: bare
    zone_policy_allow: anywhere
nodeset_tpu:
  v4: {node_count_dynamic_max: 2, what_is_this: 1}
nodeset_dyn:
  Dyn_1: {nodeset_feature: dyn}
partitions:
  p: {partition_nodeset: [cpu], partition_nodeset_tpu: [v4], partition_nodeset_dyn: [Dyn_1]}
  empty: {}
`)
	assert.Empty(t, c.FlexRegions())
	assert.Equal(t, []string{"5: nodeset.cpu", "12: nodeset_tpu.v4", "14: nodeset_dyn.Dyn_1"}, ignored(c))
	p, ok := c.Partition("p")
	require.True(t, ok)
	assert.Equal(t, []string{"cpu", "v4", "Dyn_1"}, p.NodeSets)
	ns, index, ok := c.Find("hpc-cpu-2")
	require.True(t, ok, "the node's nodeset is found")
	assert.Equal(t, "cpu", ns.Name)
	assert.Equal(t, 2, index)
}

func TestAliasesAndMergesAreWrittenOut(t *testing.T) {
	c := parse(t, `
slurm_cluster_name: hpc
project: example-project
nodeset:
  a: &base
    node_count_dynamic_max: 4
    instance_template: projects/p/global/instanceTemplates/t
    subnetwork: &net projects/p/regions/r1/subnetworks/s
    zone_policy_allow: &zones [r1-a]
    dws_flex: &flex {max_attempts: 2, use_job_duration: true}
  b:
    <<: *base
    node_count_dynamic_max: 8
    dws_flex: {<<: [*flex, {max_attempts: 9, max_run_duration: 600}]}
  c:
    instance_template: projects/p/global/instanceTemplates/t
    subnetwork: *net
    zone_policy_allow: *zones
    dws_flex: *flex
`)
	a, b, cc := c.NodeSets[0], c.NodeSets[1], c.NodeSets[2]
	assert.Equal(t, 4, a.Size())
	assert.Equal(t, 8, b.Size(), "an own key overrides a merged key")
	assert.Equal(t, 600*time.Second, b.Flex.MaxRunDuration)
	assert.True(t, b.Flex.UseJobDuration)
	assert.Equal(t, 10*time.Minute, a.Flex.JobDurationMargin)
	assert.Zero(t, b.Flex.JobDurationMargin, "the default leaves ten minutes of the longest lease")
	assert.Equal(t, 2, b.Flex.MaxAttempts, "the first of two merged keys wins")
	assert.Equal(t, a.Flex, cc.Flex)
	assert.Equal(t, []string{"r1-a"}, cc.Zones)
}

func TestFindAcceptsOnlyExactNames(t *testing.T) {
	c := parse(t, `
slurm_cluster_name: hpc
project: example-project
nodeset:
  n: {node_count_static: 2, node_count_dynamic_max: 9}
  n-1: {node_count_static: 1}
  gpu-8x: {node_count_dynamic_max: 12}
  none: {}
`)
	for node, want := range map[string]struct {
		nodeset string
		index   int
	}{
		"hpc-n-0": {"n", 0}, "hpc-n-1": {"n", 1}, "hpc-n-10": {"n", 10}, "hpc-n-1-0": {"n-1", 0}, "hpc-gpu-8x-11": {"gpu-8x", 11},
	} {
		ns, index, ok := c.Find(node)
		require.True(t, ok, "%q", node)
		assert.Equal(t, want.nodeset, ns.Name, "%q", node)
		assert.Equal(t, want.index, index, "%q", node)
		assert.Equal(t, node, ns.NodeName(c.Cluster, index))
	}
	for _, node := range []string{
		"hpc-n-11", "hpc-n-1-1", "hpc-gpu-8x-12", "hpc-none-0", // past the last index
		"hpc-n-01", "hpc-n--1", "hpc-n-+1", "hpc-n-1 ", "hpc-n-1_0", "hpc-n-99999999999999999999", // malformed
		"hpc-n-", "hpc-n", "hpc-", "hpc", "", "hpc-x-0", "xhpc-n-1", "hp-n-1", "HPC-n-1",
	} {
		_, _, ok := c.Find(node)
		assert.False(t, ok, "%q is not a node", node)
	}
	n := nodeSet(t, c, "n")
	assert.True(t, n.IsStatic(0) && n.IsStatic(1))
	assert.False(t, n.IsStatic(2) || n.IsStatic(-1))
}

func TestUnreadableFileIsNamed(t *testing.T) {
	dir := ownFolder(t)
	_, err := Load(filepath.Join(dir, "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, "read configuration: open "+dir+"/none.yaml: no such file or directory; create the file or use another path", err.Error())

	_, err = Load(dir)
	assert.EqualError(t, err, "read configuration: open "+dir+": is a directory; use a file")

	huge := filepath.Join(dir, "huge.yaml")
	require.NoError(t, os.WriteFile(huge, []byte(minimal), 0o600))
	require.NoError(t, os.Truncate(huge, MaxSize+1))
	_, err = Load(huge)
	require.EqualError(t, err, huge+": larger than 4 MiB; a configuration is much smaller, so use another file")
}

func TestNodesetWithCapacityIsOursWithoutALease(t *testing.T) {
	c := parse(t, strings.Replace(minimal, "dws_flex: {}", "capacity: reservation\n    reservation_name: h100s\n    keep_idle: 600", 1))
	want := defaults[Flex]()
	want.Capacity, want.Reservation, want.KeepIdle = Reservation, "h100s", 10*time.Minute
	want.MaxRunDuration, want.SalvageTimeout, want.UseBulkInsert = 0, 0, true
	assert.Equal(t, &want, c.NodeSets[0].Flex)
	assert.Equal(t, without(c), without(parse(t, string(c.Effective()))), "config check --effective keeps the capacity")
	assert.True(t, c.IsOurs(c.Partitions[0]))
	assert.Zero(t, c.LongestJob(c.Partitions[0]))
	assert.Equal(t, Spot, parse(t, strings.Replace(minimal, "dws_flex: {}", "capacity: spot\n    spot: true", 1)).NodeSets[0].Flex.Capacity)
}

func TestLaterDocumentExtendsAndReplacesKeys(t *testing.T) {
	c := parse(t, `slurm_cluster_name: alpha
project: p1
partitions: {train: {partition_nodeset: [a3]}}
nodeset:
  a3: &a3
    node_count_dynamic_max: 1
    instance_template: projects/p1/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/p1/regions/us-central1/subnetworks/s
    zone_policy_allow: [us-central1-a, us-central1-b]
    dws_flex: {max_run_duration: 3600}
  same: *a3
---
nodeset:
  a3: {zone_policy_allow: [us-central1-c], dws_flex: {keep_idle: 60, use_job_duration: false}}
slurmflex: {interval: 1m}
`)
	a3, same := nodeSet(t, c, "a3"), nodeSet(t, c, "same")
	assert.Equal(t, []string{"us-central1-c"}, a3.Zones)
	assert.Equal(t, []time.Duration{time.Hour, time.Minute}, []time.Duration{a3.Flex.MaxRunDuration, a3.Flex.KeepIdle})
	assert.Equal(t, []string{"us-central1-a", "us-central1-b"}, same.Zones, "an alias keeps the first document's mapping")
	assert.Zero(t, same.Flex.KeepIdle)
	assert.Equal(t, time.Minute, c.Options.Interval)
}

func TestDocumentsThatContainThemselvesEnd(t *testing.T) {
	_, err := Parse("c.yaml", []byte("a: &a {x: *a}\n---\na: &b {x: *b}\n"))
	assert.ErrorContains(t, err, "use fewer aliases")
}
