package setup

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/slurm"
	"slurmflex/test/must"
)

func TestReportNamesTheDelegatesOfOtherNodesets(t *testing.T) {
	const (
		cluster = "slurm_cluster_name: hpc\nproject: demo\nnodeset:\n"
		a3      = `  a3:
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {}
`
		cpu   = "  cpu: {node_count_dynamic_max: 1}\n"
		lists = "# As SlurmUser on the controller, slurmflex --config FILE config check --live lists the lines of slurm.conf to edit.\n"
		keeps = "# slurm-gcp's scripts keep cpu. For them, append this output to a copy of it:\n\n---\nslurmflex:\n  delegate:\n"
		usual = "    resume_program: /slurm/scripts/resume_wrapper.sh\n    suspend_program: /slurm/scripts/suspend_wrapper.sh\n\n"
	)
	for name, c := range map[string]struct {
		file string
		conf slurm.Config
		want string
	}{
		"only flex-start":    {cluster + a3, nil, "will provision a3.\n" + lists},
		"no flex-start":      {cluster + cpu, nil, "will provision no nodeset.\n" + keeps + usual + lists},
		"no Slurm here":      {cluster + a3 + cpu, nil, "will provision a3.\n" + keeps + usual + lists},
		"programs of a site": {cluster + a3 + cpu, slurm.Config{"ResumeProgram": "/r", "SuspendProgram": "/s"}, "will provision a3.\n" + keeps + "    resume_program: /r\n    suspend_program: /s\n\n" + lists},
		"slurmflex's hooks":  {cluster + a3 + cpu, slurm.Config{"ResumeProgram": "/usr/libexec/slurmflex/resume"}, "will provision a3.\n" + keeps + usual + lists},
	} {
		cfg := must.Get(config.Parse("config.yaml", []byte(c.file)))
		text := FromSlurmGCP(cfg, c.conf)
		assert.Equal(t, "# config.yaml loads as it is. Cluster hpc: slurmflex "+c.want, text, name)
		_, err := config.Parse("config.yaml", []byte(c.file+text))
		assert.NoError(t, err, "%s: appended to the file", name)
	}
}
