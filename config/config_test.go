package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// minimal is the smallest file with a nodeset of ours.
const minimal = `slurm_cluster_name: hpc
project: example-project
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    nodeset_name: a3
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

func TestTheSmallestFileHasTheDefaults(t *testing.T) {
	want := &Config{
		Cluster: "hpc", Project: "example-project", SlurmLogDir: "/var/log/slurm",
		NodeSets: []*NodeSet{{
			Name:       "a3",
			DynamicMax: 64, Line: 6, NodeConf: map[string]string{},
			Template:   "projects/p/global/instanceTemplates/a3",
			Subnetwork: "projects/p/regions/us-central1/subnetworks/default",
			Region:     "us-central1", Zones: []string{"us-central1-a"},
			Flex: &Flex{
				Capacity: FlexStart, MaxRunDuration: 604_800 * time.Second, Provisioning: Queued, OnProvisionTimeout: Requeue, ShareRequests: 1, MaxAttempts: 5,
				GangTimeout: 600 * time.Second, BootTimeout: 1800 * time.Second, BootFailures: 5,
				OnLeaseEnd: LetEnd, LeaseEndSignal: "USR1", SalvageTimeout: time.Hour,
			},
		}},
		Partitions: []Partition{{Name: "train", Exclusive: true, NodeSets: []string{"a3"}, Line: 4}},
		Options: Options{
			Interval: 30 * time.Second, MaxActiveRequests: 100, YieldAfter: time.Hour, MaxDeletions: 10, MaxGates: 10, APICalls: 20, HTTPAddress: "127.0.0.1:8918",
			RunDir: "/run/slurmflex", StateDir: "/var/lib/slurmflex", LogFile: "/var/log/slurm/slurmflex.log", LogFormat: "auto", LogLevel: "info",
		},
	}
	c := parse(t, minimal)
	c.file, c.root = "", nil
	assert.Equal(t, want, c)
	assert.Equal(t, want.Options, parse(t, minimal+"slurmflex:\n").Options, "an empty section says nothing")
	o := parse(t, minimal+"slurm_log_dir: /logs/\ngoogle_app_cred_path: /etc/app.json\n").Options
	assert.Equal(t, []string{"/logs/slurmflex.log", "/etc/app.json"}, []string{o.LogFile, o.CredentialsFile}, "where slurm-gcp has its own")
}

func TestEveryKeyOfOursIsRead(t *testing.T) {
	c := parse(t, `
slurm_cluster_name: alpha
project: example.com:my-project
slurm_bin_dir: /opt/slurm/bin
slurm_log_dir: /logs/
google_app_cred_path: /etc/default.json
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
      max_run_duration: 86400
      use_job_duration: false
      use_bulk_insert: false
      provisioning: node_by_node
      job_duration_margin: 600
      provision_timeout: 7200
      on_provision_timeout: hold
      max_attempts: 3
      share_requests: 50
      gang_timeout: 900
      boot_timeout: 1200
      boot_failures: 2
      on_lease_end: requeue
      lease_end_warning: 1800
      lease_end_signal: TERM
      keep_idle: 1800
      renew_before: 3600
      salvage_timeout: 1200
slurmflex:
  interval: 90
  max_active_requests: 40
  max_active_requests_per_user: 10
  yield_after: 7200
  max_deletions_per_round: 3
  max_gates: 4
  api_calls_per_second: 40
  capacity_advice: true
  metrics_by_account: true
  http_address: "[::1]:80"
  compute_endpoint: http://127.0.0.1:8080
  delegate: {resume_program: /slurm/resume.sh, suspend_program: /slurm/suspend.sh}
  run_dir: /tmp/flex
  state_dir: /tmp/state
  log_file: /tmp/flex.log
  log_format: console
  log_level: debug
  credentials_file: /etc/flex.json
`)
	assert.Equal(t, "example.com:my-project", c.Project)
	assert.Equal(t, "/opt/slurm/bin", c.SlurmBinDir)
	assert.Empty(t, c.Ignored)
	assert.Equal(t, &NodeSet{
		Name: "a3", Static: 2, DynamicMax: 6, Line: 8,
		Template:          "https://www.googleapis.com/compute/v1/projects/p/regions/us-central1/instanceTemplates/a3",
		Subnetwork:        "https://www.googleapis.com/compute/beta/projects/p/regions/us-central1/subnetworks/default",
		Region:            "us-central1",
		Zones:             []string{"us-central1-c", "us-central1-ai1a"},
		Placement:         true,
		PlacementDistance: 2,
		NodeConf:          map[string]string{"CoresPerSocket": "52", "Gres": "gpu:8", "Exclusive": "true"},
		Flex: &Flex{
			Capacity: FlexStart, MaxRunDuration: 24 * time.Hour,
			Provisioning: NodeByNode, JobDurationMargin: 10 * time.Minute, ProvisionTimeout: 2 * time.Hour,
			OnProvisionTimeout: Hold, ShareRequests: 50, MaxAttempts: 3, GangTimeout: 15 * time.Minute,
			BootTimeout: 20 * time.Minute, BootFailures: 2, KeepIdle: 30 * time.Minute, SalvageTimeout: 20 * time.Minute,
			OnLeaseEnd: RequeueFirst, LeaseEndWarning: 30 * time.Minute, LeaseEndSignal: "TERM", RenewBefore: time.Hour,
		},
	}, c.NodeSets[0])
	assert.Equal(t, Options{
		Interval: 90 * time.Second, MaxActiveRequests: 40, MaxActivePerUser: 10, YieldAfter: 2 * time.Hour, MaxDeletions: 3, MaxGates: 4, APICalls: 40, CapacityAdvice: true, MetricsByAccount: true, HTTPAddress: "[::1]:80",
		ComputeEndpoint: "http://127.0.0.1:8080",
		Delegate:        Delegate{ResumeProgram: "/slurm/resume.sh", SuspendProgram: "/slurm/suspend.sh"},
		RunDir:          "/tmp/flex", StateDir: "/tmp/state", LogFile: "/tmp/flex.log", LogFormat: "console", LogLevel: "debug", CredentialsFile: "/etc/flex.json",
	}, c.Options)
}

// loadExisting loads the file of a cluster of slurm-gcp from a folder that is
// ours alone, whatever the modes in this working copy are.
func loadExisting(t testing.TB) *Config {
	t.Helper()
	data, err := os.ReadFile("testdata/slurm-gcp.yaml")
	require.NoError(t, err)
	path := filepath.Join(ownFolder(t), "config.yaml")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	c, err := Load(path)
	require.NoError(t, err)
	return c
}

func TestTheFileOfAnExistingClusterLoadsAsItIs(t *testing.T) {
	c := loadExisting(t)

	names := func(sets []*NodeSet) (names []string) {
		for _, ns := range sets {
			names = append(names, ns.Name)
		}
		return names
	}
	assert.Equal(t, []string{"a3mega", "cpu", "dyn", "g2static", "h4dlegacy", "v4"}, names(c.NodeSets))
	assert.Equal(t, []string{"a3mega", "g2static", "h4dlegacy"}, names(c.FlexSets()))
	assert.True(t, c.HasFlexSet("a3mega"))
	assert.False(t, c.HasFlexSet("cpu"), "which is not ours")
	assert.Equal(t, "a3mega", c.FlexSetOf("hpc-a3mega-0").Name)
	assert.Nil(t, c.FlexSetOf("hpc-cpu-0"), "which is not ours")
	assert.Nil(t, c.FlexSetOf("hpc-gone-0"))
	assert.Equal(t, []string{"europe-west4", "us-central1"}, c.FlexRegions())
	assert.Equal(t, "/usr/local/bin", c.SlurmBinDir)

	a3 := nodeSet(t, c, "a3mega")
	assert.Equal(t, []string{"us-central1-a", "us-central1-c"}, a3.Zones)
	assert.Equal(t, "gpu:8", a3.NodeConf["Gres"])
	assert.True(t, a3.Flex.UseJobDuration)
	assert.Zero(t, a3.PlacementDistance)
	assert.Equal(t, 24*time.Hour, nodeSet(t, c, "g2static").Flex.MaxRunDuration)
	assert.True(t, nodeSet(t, c, "h4dlegacy").Flex.UseBulkInsert)

	assert.True(t, c.Exclusive("train"))
	assert.False(t, c.Exclusive("infer"))
	assert.False(t, c.Exclusive("nowhere"))
	train, ok := c.Partition("train")
	require.True(t, ok)
	assert.Equal(t, []string{"a3mega"}, train.NodeSets)
	_, ok = c.Partition("trai")
	assert.False(t, ok)
}

func TestWhatIsIgnoredIsListed(t *testing.T) {
	c := loadExisting(t)
	want, err := os.ReadFile("testdata/slurm-gcp.ignored")
	require.NoError(t, err)
	var got strings.Builder
	for _, i := range c.Ignored {
		fmt.Fprintf(&got, "%d: %s\n", i.Line, i.Key)
	}
	assert.Equal(t, string(want), got.String())
}

// C1: each release of the Cluster Toolkit adds keys.
func TestAnUnknownKeyOutsideOurSectionsIsListedAndNoError(t *testing.T) {
	c := parse(t, `enable_expedited_requeue: true
enabled: true
experimental: {anything: [1, 2]}
`+strings.Replace(strings.Replace(minimal, "dws_flex: {}", "brand_new: 1\n    dws_flex: {}", 1),
		"partition_nodeset:", "brand_new: 1, partition_nodeset:", 1))
	var keys []string
	for _, i := range c.Ignored {
		keys = append(keys, i.Key)
	}
	assert.Equal(t, []string{"enable_expedited_requeue", "enabled", "experimental", "partitions.train.brand_new", "nodeset.a3.brand_new"}, keys)
}

// Whatever keys dws_flex gets, they have no effect beside it and are no key of slurm-gcp.
func TestNoKeyOfDWSFlexIsIgnoredBesideIt(t *testing.T) {
	r := &reader{faulty: make(map[string]bool)}
	block := r.newSection("", "", 0, nil)
	readFlex(block, true)
	require.Contains(t, block.known(), "salvage")
	for _, key := range block.known() {
		for beside, want := range map[string]string{
			"dws_flex: {}":               "has no effect here; give it inside dws_flex",
			"dws_flex: {enabled: false}": "has no effect here; give it inside dws_flex",
			"zone_policy_deny: []":       "has no effect here; give it inside dws_flex",
			"capacity: spot":             "has no effect with capacity, whose machines come at once or are refused, and have no lease; remove it",
		} {
			if beside == "capacity: spot" && slices.Contains([]string{"provision_timeout", "on_provision_timeout", "boot_timeout", "keep_idle"}, key) {
				continue
			}
			_, err := Parse("config.yaml", []byte(strings.Replace(minimal, "dws_flex: {}", beside+"\n    "+key+": null", 1)))
			require.ErrorContains(t, err, ": nodeset.a3."+key+": "+want, "beside %s", beside)
		}
	}
}

func TestANodesetOfSlurmGCPThatDoesNotPlaceTakesCapacity(t *testing.T) {
	c := parse(t, strings.Replace(minimal, "dws_flex: {}",
		"dws_flex: {enabled: false, max_run_duration: 604800}\n    enable_placement: false\n    placement_max_distance: null\n    capacity: spot\n    provision_timeout: 61", 1))
	assert.Equal(t, Spot, c.NodeSets[0].Flex.Capacity)
	assert.Empty(t, c.Ignored)
}

func TestPlacementIsIgnoredByBulkInsertAndListed(t *testing.T) {
	c := parse(t, strings.Replace(minimal, "dws_flex: {}", "enable_placement: true\n    dws_flex: {use_bulk_insert: true}", 1))
	assert.True(t, c.NodeSets[0].Flex.UseBulkInsert)
	assert.False(t, c.NodeSets[0].Placement)
	assert.Equal(t, []Ignored{{Key: "nodeset.a3.enable_placement", Line: 12}}, c.Ignored)
}

func TestADWSFlexBlockAloneMakesANodeSetOurs(t *testing.T) {
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
		c := parse(t, strings.Replace(minimal, "dws_flex: {}", block, 1))
		assert.Equal(t, ours, c.NodeSets[0].Flex != nil, "%q", block)
	}
}

func TestWhatIsNotOursIsNotCheckedForFlexStart(t *testing.T) {
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
	assert.Equal(t, []Ignored{{"nodeset.cpu", 5}, {"nodeset_tpu.v4", 12}, {"nodeset_dyn.Dyn_1", 14}}, c.Ignored)
	p, ok := c.Partition("p")
	require.True(t, ok)
	assert.Equal(t, []string{"cpu", "v4", "Dyn_1"}, p.NodeSets)
	ns, index, ok := c.Find("hpc-cpu-2")
	require.True(t, ok, "we can say whose node it is")
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
	assert.Equal(t, 8, b.Size(), "a key of its own wins over one that is merged")
	assert.Equal(t, "r1", b.Region)
	assert.Equal(t, Flex{
		Capacity: FlexStart, MaxRunDuration: 600 * time.Second, UseJobDuration: true, ShareRequests: 1, MaxAttempts: 2, GangTimeout: 600 * time.Second,
		BootTimeout: 1800 * time.Second, BootFailures: 5,
		Provisioning: Queued, OnProvisionTimeout: Requeue, OnLeaseEnd: LetEnd, LeaseEndSignal: "USR1", SalvageTimeout: time.Hour,
	}, *b.Flex, "of two merged ones, the first wins")
	assert.Equal(t, a.Flex, cc.Flex)
	assert.Equal(t, []string{"r1-a"}, cc.Zones)
}

func TestFindTakesExactNamesOnly(t *testing.T) {
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
		"hpc-n-11", "hpc-n-1-1", "hpc-gpu-8x-12", "hpc-none-0", // beyond the last
		"hpc-n-01", "hpc-n--1", "hpc-n-+1", "hpc-n-1 ", "hpc-n-1_0", "hpc-n-99999999999999999999", // no index
		"hpc-n-", "hpc-n", "hpc-", "hpc", "", "hpc-x-0", "xhpc-n-1", "hp-n-1", "HPC-n-1",
	} {
		_, _, ok := c.Find(node)
		assert.False(t, ok, "%q is nobody's", node)
	}
	n := nodeSet(t, c, "n")
	assert.True(t, n.IsStatic(0) && n.IsStatic(1))
	assert.False(t, n.IsStatic(2) || n.IsStatic(-1))
}

func TestFindServesManyReaders(t *testing.T) {
	c := parse(t, minimal)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				_, index, ok := c.Find(c.NodeSets[0].NodeName("hpc", i%64))
				assert.True(t, ok && index == i%64)
			}
		})
	}
	wg.Wait()
}

func BenchmarkFind(b *testing.B) {
	c := loadExisting(b)
	for b.Loop() {
		if _, _, ok := c.Find("hpc-a3mega-63"); !ok {
			b.Fatal("not found")
		}
	}
}

func TestAFileThatCannotBeReadIsNamed(t *testing.T) {
	dir := ownFolder(t)
	_, err := Load(filepath.Join(dir, "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, "read configuration: open "+dir+"/none.yaml: no such file or directory; write the file or give another path", err.Error())

	_, err = Load(dir)
	require.Error(t, err)
	assert.Equal(t, "read configuration: open "+dir+": is a directory; give a file", err.Error())

	huge := filepath.Join(dir, "huge.yaml")
	require.NoError(t, os.WriteFile(huge, []byte(minimal), 0o600))
	require.NoError(t, os.Truncate(huge, MaxSize+1))
	_, err = Load(huge)
	require.EqualError(t, err, huge+": larger than 4 MiB; a configuration is much smaller, so give another file")
}

func TestANodesetWithCapacityIsOursAndHasNoLease(t *testing.T) {
	c := parse(t, strings.Replace(minimal, "dws_flex: {}", "capacity: reservation\n    reservation_name: h100s\n    keep_idle: 600", 1))
	assert.Equal(t, &Flex{
		Capacity: Reservation, Reservation: "h100s", UseBulkInsert: true, Provisioning: Queued, OnProvisionTimeout: Requeue, ShareRequests: 1,
		FallbackAfter: time.Minute, MaxAttempts: 5, GangTimeout: 10 * time.Minute, BootTimeout: 30 * time.Minute, BootFailures: 5,
		OnLeaseEnd: LetEnd, KeepIdle: 10 * time.Minute,
	}, c.NodeSets[0].Flex)
	assert.True(t, c.IsOurs(c.Partitions[0]))
	assert.True(t, c.LongerThanLeases(c.Partitions[0]))
	assert.Zero(t, c.LongestJob(c.Partitions[0]))
	assert.True(t, c.FallsBack()("train"), "what comes at once is refused at once")
	spot := parse(t, strings.Replace(minimal, "dws_flex: {}", "capacity: spot\n    spot: true", 1)).NodeSets[0]
	assert.Equal(t, Spot, spot.Flex.Capacity)
}
