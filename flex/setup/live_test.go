package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// cloud is a Compute without problems, except for the fields that a test sets.
type cloud struct {
	unseen  map[string]error
	quotas  map[string]float64
	zone    error
	region  error
	lacking []string
	asked   int // number of calls except Groups
}

func (c *cloud) Groups(context.Context, string, []string) ([]mig.Group, map[string]error) {
	return nil, c.unseen
}

func (c *cloud) Template(_ context.Context, link string) (mig.Template, error) {
	c.asked++
	return mig.Template{
		Link: link, MachineType: "a3-highgpu-8g", Model: "FLEX_START", MaxRun: mig.MaxDuration,
		Termination: "DELETE", Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
	}, nil
}

func (c *cloud) Region(context.Context, string) (mig.Region, error) {
	return mig.Region{Up: true, Quotas: c.quotas}, c.region
}

func (c *cloud) ZoneIsUp(context.Context, string) (bool, error) { return true, c.zone }

func (c *cloud) MachineType(_ context.Context, _, name string) (mig.MachineType, error) {
	c.asked++
	m, _ := mig.KnownMachine(name)
	return m, nil
}

func (c *cloud) Lacking(context.Context, string) ([]string, error) { return c.lacking, nil }

// controller is a Slurm without problems, except for the fields that a test sets.
type controller struct {
	config                slurm.Config // besides its version and file
	version               string       // empty: 24.11.5
	partitions            []slurm.Partition
	nodes                 []slurm.Node
	noPartitions, noNodes error // why they are unknown
}

func (c controller) Config(context.Context) (slurm.Config, error) {
	all := slurm.Config{"SLURM_VERSION": cmp.Or(c.version, "24.11.5"), "SLURM_CONF": "/nonexistent/slurm.conf"}
	maps.Copy(all, c.config)
	return all, nil
}

func (c controller) Partitions(context.Context) ([]slurm.Partition, error) {
	return c.partitions, c.noPartitions
}

func (c controller) Nodes(context.Context) ([]slurm.Node, error) { return c.nodes, c.noNodes }

func (c controller) Allowances(context.Context, []string) (slurm.Allowances, error) {
	return slurm.Allowances{}, nil
}

// keys returns the findings of one level about the configuration, by key.
func keys(found Findings, level severity) map[string]string {
	all := map[string]string{}
	for _, f := range found.of(level) {
		if f.File == "c.yaml" {
			all[f.Key] = f.Text
		}
	}
	return all
}

func compared(t *testing.T, c *cloud, s scheduler) Findings {
	t.Helper()
	cfg := changed(t, "project", "project")
	return compare(cfg, observe(t.Context(), cfg, s, c, nil))
}

func TestEndpointsAreCheckedForTheMethodsThatNodesetsNeed(t *testing.T) {
	const key = "slurmflex.regions.us-central1.endpoint"
	cfg := changed(t, "project", "project")
	cfg.Options.Regions = []config.Region{{Name: "us-central1", Endpoint: "http://127.0.0.1:8930"}}
	c := &cloud{lacking: []string{mig.BulkInsert, mig.InsertPolicy}}
	found := func(level severity) string {
		return keys(compare(cfg, observe(t.Context(), cfg, controller{}, c, nil)), level)[key]
	}
	assert.Empty(t, found(Fault))
	c.lacking = []string{"instances.list", mig.BulkInsert}
	assert.Equal(t, "lacks instances.list, which the nodesets of us-central1 need; use a program with these methods, or change the nodesets", found(Fault))
	cfg.FlexSets()[0].Flex.UseBulkInsert = true
	assert.Contains(t, found(Fault), "instances.list, instances.bulkInsert,")
	c.unseen = map[string]error{"us-central1": &mig.Error{Op: "list", Object: "x", Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: "no answer"}}}
	assert.Equal(t, "list x: no answer; check that this host can reach the endpoint, and that it runs", found(Unread))
}

func TestUnreadableRegionIsNotQueriedFurther(t *testing.T) {
	c := &cloud{unseen: map[string]error{"us-central1": &mig.Error{Op: "list", Object: "x", Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: "no answer"}}}}
	found := compared(t, c, controller{})
	assert.Contains(t, keys(found, Unread), "project")
	assert.Zero(t, c.asked)
	for key := range keys(found, Fault) {
		assert.NotContains(t, key, "zone", "an unread zone is not a fault")
		assert.NotContains(t, key, "instance_template")
	}
}

func TestSlurmIsCheckedWithoutCompute(t *testing.T) {
	cfg := changed(t, "project", "project")
	world := observe(t.Context(), cfg, controller{}, nil, nil)
	world.Client, world.Hooks = errors.New("no credentials"), "/opt/slurmflex"
	found := compare(cfg, world)
	assert.Equal(t, "no credentials; Compute was not queried; outside Compute Engine, set this to a file with Google credentials", keys(found, Fault)["google_app_cred_path"])
	assert.Contains(t, found.problems().Error(), "/nonexistent/slurm.conf: ResumeProgram: is not set; set ResumeProgram=/opt/slurmflex/resume")
}

func TestShownQuotaIsComparedWithTheConfiguration(t *testing.T) {
	const key = "slurmflex.max_active_requests"
	for limit, want := range map[float64]string{
		5: "6 active requests in us-central1 are more than the project's quota ACTIVE_RESIZE_REQUESTS of 5; set this to 5 or ask Google for more",
		6: "",
	} {
		assert.Equal(t, want, keys(compared(t, &cloud{quotas: map[string]float64{mig.ActiveRequestsQuota: limit}}, controller{}), Fault)[key])
	}
}

// B5: each job has its own group.
func TestGroupQuotaLimitsTheJobsWithNodes(t *testing.T) {
	for _, metric := range []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"} {
		found := compared(t, &cloud{quotas: map[string]float64{metric: 3}}, controller{})
		assert.Contains(t, fmt.Sprint(found), "quota "+metric+" of us-central1 is 3: each waiting or running job on flex-start nodes has its own group, so at most 3 jobs can have nodes at once")
		found = compared(t, &cloud{quotas: map[string]float64{metric: 1e6}}, controller{})
		assert.NotContains(t, fmt.Sprint(found), metric)
	}
}

func TestNodesetsOfARegionShareItsQuota(t *testing.T) {
	const h100 = "PREEMPTIBLE_NVIDIA_H100_GPUS"
	for limit, wrong := range map[float64]bool{112: false, 111: true} { // 8 nodes of a3 and 6 of one, 8 GPUs each
		found := compared(t, &cloud{quotas: map[string]float64{h100: limit}}, controller{})
		assert.Equal(t, wrong, keys(found, Advice)["nodeset.a3.node_count_dynamic_max"] != "", limit)
	}
}

func TestUnansweredQueriesAreNotChecked(t *testing.T) {
	passing := &mig.Error{Op: "read", Object: "x", Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: "503"}}
	denied := &mig.Error{Op: "read", Object: "x", Trouble: mig.Trouble{Cause: mig.CausePermission, Message: "403"}}
	found := compared(t, &cloud{zone: passing, region: nil}, controller{noPartitions: errors.New("hung"), noNodes: errors.New("hung")})
	assert.Equal(t, "hung", keys(found, Unread)["partitions"])
	assert.Equal(t, "hung", keys(found, Unread)["nodeset"])
	assert.Contains(t, keys(found, Unread), "nodeset.a3.zone_policy_allow")
	found = compared(t, &cloud{region: denied}, controller{})
	assert.Equal(t, "read x: 403; use a subnetwork in an existing region, and grant the credentials the permission compute.regions.get", keys(found, Fault)["nodeset.a3.subnetwork"])
}

func TestOldSlurmIsTheOnlyFinding(t *testing.T) {
	found := compared(t, &cloud{}, controller{version: "21.08.8", noNodes: errors.New("no nodes")})
	assert.Equal(t, []string{"/nonexistent/slurm.conf: SLURM_VERSION: Slurm 21.08.8 is older than 22.05, the oldest that slurmflex works with; upgrade it"},
		strings.Split(found.problems().Error(), "\n"))
}

func TestVulnerableSlurmGetsAdvice(t *testing.T) {
	for version, least := range map[string]string{
		"25.05.8": "25.05.9", "25.11.0": "25.11.8",
		"25.05.9": "", "25.11.12": "", "24.11.5": "", "26.05.4": "", // unknown, or without a fix
	} {
		says := fmt.Sprint(compared(t, &cloud{}, controller{version: version}).of(Advice))
		if least == "" {
			assert.NotContains(t, says, "SLURM_VERSION", version)
		} else {
			assert.Contains(t, says, "upgrade it to "+least+" or later", version)
		}
	}
}

func TestFindingsFollowTheOrderOfTheFile(t *testing.T) {
	found := Findings{{File: "b"}, {File: "a", Line: 9, Text: "x\ny"}, {File: "a", Line: 2}}.sort()
	require.Equal(t, []int{2, 9, 0}, []int{found[0].Line, found[1].Line, found[2].Line})
	assert.Equal(t, "a:9: x y", found[1].problem().Error(), "in one line")
}

func TestAlwaysOnNodesMustBeExemptFromPowerSaving(t *testing.T) {
	const names = "SuspendExcNodes: lacks the nodes alpha-one-[0-1],node[01-02], which Slurm would power down"
	site := controller{
		config:     slurm.Config{"SuspendTime": "300 sec", "SuspendExcParts": "login"},
		partitions: []slurm.Partition{{Name: "login", Nodes: []string{"login1"}}},
		nodes:      []slurm.Node{{Name: "login1"}, {Name: "node01"}, {Name: "node02"}},
	}
	assert.Contains(t, compared(t, &cloud{}, site).problems().Error(), names)
	site.config["SuspendTime"] = "INFINITE"
	assert.NotContains(t, compared(t, &cloud{}, site).problems().Error(), "node[01-02]")
}

func TestPartitionsResumeTimeoutsOverrideTheClusters(t *testing.T) {
	const wrong = "ResumeTimeout: is not set, which means 60 s"
	own := slurm.Limit{Kind: slurm.Unlimited}
	for name, c := range map[string]struct {
		partitions []slurm.Partition
		counts     bool
	}{
		"all have":  {[]slurm.Partition{{Name: "train", ResumeTimeout: own}, {Name: "serve", ResumeTimeout: own}}, false},
		"one has":   {[]slurm.Partition{{Name: "train", ResumeTimeout: own}, {Name: "serve"}}, true},
		"none has":  {[]slurm.Partition{{Name: "train"}, {Name: "serve"}}, true},
		"not there": {nil, true},
	} {
		found := compared(t, &cloud{}, controller{partitions: c.partitions}).problems()
		require.Error(t, found, name)
		assert.Equal(t, c.counts, strings.Contains(found.Error(), wrong), name)
	}
	cfg := changed(t, "partition_nodeset: [a3]}\n  serve: {partition_name: serve, partition_nodeset: [one, cpu]}", "partition_nodeset: [cpu]}")
	assert.ErrorContains(t, compare(cfg, observe(t.Context(), cfg, controller{}, &cloud{}, nil)).problems(), wrong, "for nodes in no partition")
}

func TestGresThatDiffersFromTheMachineIsReported(t *testing.T) {
	for gres, want := range map[string]string{
		"gpu:h100:8":  "",
		"gpu:8":       "Gres=\"gpu:8\" is not what config slurm-conf writes for a3-highgpu-8g; set Gres=gpu:h100:8, and Type=h100 in gres.conf, or add Gres: \"gpu:8\" to node_conf to keep it",
		"gpu:h100:16": "Gres=gpu:h100:16 is more than the 8 GPUs of a3-highgpu-8g, so Slurm drains the nodes; set Gres=gpu:h100:8",
		"":            "Gres=\"\" is not what",
	} {
		site := controller{nodes: []slurm.Node{{Name: "alpha-a3-0", Gres: gres}, {Name: "alpha-a3-1", Gres: "gpu:h100:8"}}}
		var found []string
		for _, f := range compared(t, &cloud{}, site) {
			if f.Key == "NodeName=alpha-a3-0" && strings.Contains(f.Text, "in gres.conf") {
				found = append(found, f.Text)
			}
		}
		if want == "" {
			assert.Empty(t, found)
		} else if assert.Len(t, found, 1, gres) {
			assert.Contains(t, found[0], want)
		}
	}
}

func TestMissingDefaultTimeIsReportedIfLeasesFollowJobs(t *testing.T) {
	const advice = "has no DefaultTime, so slurmflex requests machines for MaxTime=7-00:00:00 for a job without --time"
	for limit, named := range map[string]bool{"NONE": true, "UNLIMITED": true, "1:00:00": false} {
		site := controller{partitions: []slurm.Partition{{Name: "train", MaxTime: slurm.ParseLimit("7-00:00:00"), DefaultTime: slurm.ParseLimit(limit)}}}
		assert.Equal(t, named, strings.Contains(fmt.Sprint(compared(t, &cloud{}, site).of(Advice)), advice), limit)
	}
}
