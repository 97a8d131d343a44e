package setup

import (
	"fmt"
	"strings"

	"slurmflex/config"
	"slurmflex/slurm"
)

// FromSlurmGCP says which nodesets slurmflex will provision, and what to append to the configuration for
// the others. The text itself can be appended: all but the keys are comments. conf is Slurm's configuration, or nil if it cannot be read here.
func FromSlurmGCP(cfg *config.Config, conf slurm.Config) string {
	ours, others := []string{}, []string{}
	for _, set := range cfg.NodeSets {
		if set.Flex != nil {
			ours = append(ours, set.Name)
		} else {
			others = append(others, set.Name)
		}
	}
	if len(ours) == 0 {
		ours = []string{"no nodeset"}
	}
	text := fmt.Sprintf("# %s loads as it is. Cluster %s: slurmflex will provision %s.\n", cfg.Keys().File, cfg.Cluster, strings.Join(ours, ", "))
	if len(others) > 0 {
		text += fmt.Sprintf("# slurm-gcp's scripts keep %s. For them, append this output to a copy of it:\n\n", strings.Join(others, ", ")) + "---\nslurmflex:\n  delegate:\n" +
			"    resume_program: " + delegate(conf["ResumeProgram"], "/slurm/scripts/resume_wrapper.sh") + "\n" +
			"    suspend_program: " + delegate(conf["SuspendProgram"], "/slurm/scripts/suspend_wrapper.sh") + "\n\n"
	}
	return text + "# As SlurmUser on the controller, slurmflex --config FILE config check --live lists the lines of slurm.conf to edit.\n"
}

// delegate returns the program that slurmflex's hook replaces: Slurm's, or slurm-gcp's usual one.
func delegate(program, usual string) string {
	if program == "" || isHook(program) {
		return usual
	}
	return program
}
