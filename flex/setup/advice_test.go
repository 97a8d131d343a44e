package setup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/test/must"
)

const right = `slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
  serve: {partition_name: serve, partition_nodeset: [one, cpu]}
nodeset:
  a3:
    node_count_dynamic_max: 8
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {use_job_duration: true, job_duration_margin: 600}
  one:
    node_count_static: 2
    node_count_dynamic_max: 4
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {provisioning: node_by_node, renew_before: 600}
  cpu: {node_count_dynamic_max: 2}
slurmflex:
  max_active_requests: 6
  delegate: {resume_program: /r, suspend_program: /s}
`

// changed returns the valid configuration with one part replaced.
func changed(t *testing.T, old, text string) *config.Config {
	t.Helper()
	require.Contains(t, right, old)
	return must.Get(config.Parse("c.yaml", []byte(strings.Replace(right, old, text, 1))))
}

func TestAdvice(t *testing.T) {
	in := func(name, old, text string, want ...string) {
		t.Run(name, func(t *testing.T) {
			var advice []string
			for _, f := range adviceOn(changed(t, old, text), nil).of(Advice) {
				advice = append(advice, f.problem().Error())
			}
			assert.Equal(t, want, advice)
		})
	}
	in("no advice if all is well", "project", "project")
	in("a region with an endpoint and no nodeset", "  delegate:", "  regions: {us-central2: {endpoint: 'http://127.0.0.1:8930'}}\n  delegate:",
		"c.yaml:23: slurmflex.regions.us-central2: advice: is the region of no nodeset's subnetwork, so its endpoint is never called; correct the name or remove this")
	in("pods of the Toolkit's gke-nodeset need no delegate", "cpu: {node_count_dynamic_max: 2}\nslurmflex:\n  max_active_requests: 6\n  delegate: {resume_program: /r, suspend_program: /s}",
		"cpu: {node_count_static: 2, gke_nodepool: l4}\nslurmflex:\n  max_active_requests: 6")
	in("a lease as long as its job", "margin: 600", "margin: 0",
		"c.yaml:12: nodeset.a3.dws_flex.job_duration_margin: advice: the lease starts before the job does, so a lease equal to the time limit ends too early; set this to 600 (longer than a boot)")
	in("a margin without use_job_duration", "use_job_duration: true, ", "",
		"c.yaml:12: nodeset.a3.dws_flex.job_duration_margin: advice: takes effect only with use_job_duration; set use_job_duration: true or remove this")
	in("a warning at the time of the requeue", "margin: 600", "margin: 600, lease_end_warning: 120, on_lease_end: requeue",
		"c.yaml:12: nodeset.a3.dws_flex.lease_end_warning: advice: a script cannot save its work: its job is requeued 120 s before the lease ends; set this to 240 or more")
	in("an action without a time-out", "margin: 600", "margin: 600, on_provision_timeout: hold",
		"c.yaml:12: nodeset.a3.dws_flex.on_provision_timeout: advice: takes effect only with provision_timeout; set provision_timeout or remove this")
	in("a salvage_timeout without salvage", "margin: 600", "margin: 600, salvage_timeout: 600",
		"c.yaml:12: nodeset.a3.dws_flex.salvage_timeout: advice: takes effect only with salvage; set salvage: true or remove this")
	in("shared requests", "margin: 600", "margin: 600, share_requests: 50")
	in("unshared requests: bulk insert", "margin: 600", "margin: 600, share_requests: 50, use_bulk_insert: true",
		"c.yaml:12: nodeset.a3.dws_flex.share_requests: advice: is ignored with use_bulk_insert, which creates no requests; remove this")
	in("unshared requests: node_by_node", "renew_before: 600", "renew_before: 600, share_requests: 50",
		"c.yaml:19: nodeset.one.dws_flex.share_requests: advice: is ignored with provisioning: node_by_node, because each node has its own request; remove this")
	in("unshared requests: placement", "dws_flex: {use", "enable_placement: true\n    dws_flex: {share_requests: 2, use",
		"c.yaml:13: nodeset.a3.dws_flex.share_requests: advice: is ignored with enable_placement, because each job then has its own group; remove this")
	in("renew_before without static nodes", "margin: 600", "margin: 600, renew_before: 60",
		"c.yaml:12: nodeset.a3.dws_flex.renew_before: advice: only static nodes are renewed; set node_count_static or remove this")
	in("a boot_timeout in minutes, C17", "margin: 600", "margin: 600, boot_timeout: 20",
		"c.yaml:12: nodeset.a3.dws_flex.boot_timeout: advice: 20 s is shorter than a GPU machine takes to boot, so its node would be powered down again; set this to 1800")
	in("no limit for boots", "margin: 600", "margin: 600, boot_timeout: 0",
		"c.yaml:12: nodeset.a3.dws_flex.boot_timeout: advice: a machine that never boots costs money until its lease ends; set this to 1800 or remove it")
	in("static nodes of an exclusive partition", "[one, cpu]", "[one, cpu], enable_job_exclusive: true",
		"c.yaml:14: nodeset.one.node_count_static: advice: exclusive partition serve powers its nodes down after each job, including static ones, which then wait for capacity again; remove the nodeset from it or set enable_job_exclusive: false")
	in("nodes no job can use", "[a3]", "[]",
		"c.yaml:7: nodeset.a3: advice: is in no partition, so no job can use its nodes; add it to a partition_nodeset")
	in("a nodeset in a shared and in an exclusive partition", "[one, cpu]", "[one, cpu, a3]",
		"c.yaml:7: nodeset.a3: advice: is in partition serve, whose jobs share nodes, so jobs of partition train wait CONFIGURING and not PENDING; move the shared partition to a nodeset of its own")
	in("a nodeset without nodes", "node_count_dynamic_max: 8", "node_count_dynamic_max: 0",
		"c.yaml:7: nodeset.a3: advice: has no nodes; set node_count_dynamic_max")
	in("more nodes than requests", "max_active_requests: 6", "max_active_requests: 5",
		"c.yaml:19: nodeset.one.dws_flex.provisioning: advice: the 6 nodes of one need a request each, and only 5 requests may be active in us-central1 at once, so the others wait; raise max_active_requests and the project's quota, or set provisioning: queued")
	in("no program for the other nodes", ", suspend_program: /s", "",
		"c.yaml:23: slurmflex.delegate: advice: no program is called for the nodes of cpu, which do not use flex-start; set resume_program and suspend_program to the programs that power them up and down")
}

func TestDelegateMustNotBeSlurmflexItself(t *testing.T) {
	found := adviceOn(changed(t, "suspend_program: /s", "suspend_program: /usr/libexec/slurmflex/suspend"), nil).of(Fault)
	require.Len(t, found, 1)
	assert.Equal(t, "c.yaml:23: slurmflex.delegate.suspend_program: /usr/libexec/slurmflex/suspend is slurmflex itself; set this to the program that powers the other nodes", found[0].problem().Error())
}

func TestSalvageOfUncoveredNodesGetsAdvice(t *testing.T) {
	const uncovered = "c.yaml:12: nodeset.a3.dws_flex.salvage: advice: takes effect only with waiting: pending and exclusive partitions; change that or remove this"
	for name, test := range map[string]struct {
		old, text string
		advises   bool
	}{
		"covered":              {"project: demo", "project: demo", false},
		"waiting: configuring": {"  max_active_requests: 6", "  waiting: configuring", true},
		"a shared partition":   {"enable_job_exclusive: true, ", "", true},
		"another nodeset":      {"partition_nodeset: [a3]", "partition_nodeset: [a3, one]", false},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(right, "margin: 600", "margin: 600, salvage: true", 1)
			require.Contains(t, text, test.old)
			cfg := must.Get(config.Parse("c.yaml", []byte(strings.Replace(text, test.old, test.text, 1))))
			assert.Equal(t, test.advises, says(adviceOn(cfg, nil), uncovered))
		})
	}
}

// C17
func TestKeysOfSlurmGCPAloneAreIgnored(t *testing.T) {
	ignored := adviceOn(changed(t, "project: demo\n", "project: demo\nlogin_groups: {}\n"), nil).of(Ignored)
	require.Len(t, ignored, 2)
	assert.Equal(t, "c.yaml:3: login_groups: ignored (slurmflex does not use this key)", ignored[0].problem().Error())
	assert.Equal(t, "nodeset.cpu", ignored[1].Key)
}
