package setup

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// template replaces the site's template.
func (w *site) template(change func(*compute.InstanceProperties)) {
	w.t.Helper()
	spec := fakegce.FlexTemplate("other", "a3-highgpu-8g")
	change(spec.Properties)
	must.Get(w.compute.AddTemplate("us-central1", spec))
	w.configure("instanceTemplates/a3", "instanceTemplates/other")
}

func TestCheckFindsMistakesInTheCloud(t *testing.T) {
	const h100 = "PREEMPTIBLE_NVIDIA_H100_GPUS"
	template := func(change func(*compute.InstanceProperties)) func(*site) {
		return func(w *site) { w.template(change) }
	}
	for name, m := range map[string]mistake{
		"credentials that may list nothing": {
			plant: func(w *site) {
				require.NoError(w.t, w.compute.AddFault(fakegce.Fault{Method: "*GroupManagers.list", Status: 403, Message: "Required 'compute.instanceGroupManagers.list' permission"}))
			},
			fault: "config.yaml:2: project: list groups of us-central1: 403 forbidden: Required 'compute.instanceGroupManagers.list' permission; check the project id and the credentials, which need the role in scripts/toolkit/slurmflex/slurmflex-role.yaml",
		},
		"no such template": {
			plant: func(w *site) { w.configure("instanceTemplates/a3", "instanceTemplates/a4") },
			fault: "config.yaml:11: nodeset.a3.instance_template: read instance template projects/demo/regions/us-central1/instanceTemplates/a4: 404 notFound: The resource 'projects/demo/regions/us-central1/instanceTemplates/a4' was not found; use an existing template that the credentials may read",
		},
		"a template of standard machines": {
			plant: template(func(p *compute.InstanceProperties) { p.Scheduling.ProvisioningModel = "STANDARD" }),
			fault: "config.yaml:11: nodeset.a3.instance_template: provisioningModel is STANDARD; make a template with FLEX_START",
		},
		"a template with a shorter maxRunDuration": {
			plant:  template(func(p *compute.InstanceProperties) { p.Scheduling.MaxRunDuration.Seconds = 7200 }),
			advice: "config.yaml:14: nodeset.a3.dws_flex.max_run_duration: advice: the template's maxRunDuration is 7200 s, and Google does not document which of the two applies; set both to the same value",
		},
		"machines that flex-start does not have": {
			plant: template(func(p *compute.InstanceProperties) { p.MachineType = "n2-standard-2" }),
			fault: "config.yaml:11: nodeset.a3.instance_template: flex-start does not offer n2-standard-2, only H4D and types with GPUs other than A4X; use a template with one of them" + "\n" +
				"slurm.conf: NodeName=alpha-a3-[0-7]: Gres=gpu:h100:8 is more than the 0 GPUs of n2-standard-2, so Slurm drains the nodes; set no Gres",
		},
		"machines that cannot be placed close together": {
			plant: func(w *site) {
				w.configure("    dws_flex:", "    enable_placement: true\n    dws_flex:")
			},
			fault: "config.yaml:14: nodeset.a3.enable_placement: a3-highgpu-8g machines cannot be placed that close together; set this to false",
		},
		"a zone that is not there": {
			plant: func(w *site) { w.configure("us-central1-b]", "us-central1-z]") },
			fault: "config.yaml:13: nodeset.a3.zone_policy_allow: zone us-central1-z does not exist; use another zone of us-central1",
		},
		"a zone that is down": {
			plant: func(w *site) { w.compute.SetZoneUp("us-central1-b", false) },
			fault: "config.yaml:13: nodeset.a3.zone_policy_allow: zone us-central1-b is DOWN according to Compute; wait, or remove it",
		},
		"a zone without such machines": {
			plant: func(w *site) { w.compute.Withdraw("us-central1-a", "a3-highgpu-8g") },
			fault: "config.yaml:13: nodeset.a3.zone_policy_allow: zone us-central1-a has no a3-highgpu-8g; remove it, or use a template with a machine type that the zone has",
		},
		"no quota for a single machine": {
			plant: func(w *site) { require.NoError(w.t, w.compute.SetQuota("us-central1", h100, 0)) },
			fault: "config.yaml:10: nodeset.a3.node_count_dynamic_max: quota PREEMPTIBLE_NVIDIA_H100_GPUS of us-central1 is 0, too little for a single a3-highgpu-8g; ask Google for 64",
		},
		"more live requests than a project has": {
			plant:  func(w *site) { w.configure("  interval: 1h", "  max_active_requests: 200") },
			advice: "config.yaml:16: slurmflex.max_active_requests: advice: 200 active requests in us-central1 are more than the default quota of 100, and Compute does not show the project's quota ACTIVE_RESIZE_REQUESTS; look it up in the console",
		},
	} {
		t.Run(name, m.check)
	}
}
