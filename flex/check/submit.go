package check

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/slurmconf"
)

// submitScript returns the job_submit.lua that slurmctld runs: it is in slurm.conf's directory.
func submitScript(slurmConf string) string {
	return filepath.Join(filepath.Dir(slurmConf), "job_submit.lua")
}

// submits is about fallback_after without a job_submit.lua that keeps the partition lists of
// jobs. Slurm shows a list only while the job is pending, so jobs that start at once stay where
// they are.
func (j *judge) submits() {
	at := slices.IndexFunc(j.cfg.FlexSets(), func(set *config.NodeSet) bool {
		return set.Flex.FallbackAfter > 0 && !set.Flex.Capacity.AtOnce()
	})
	if at < 0 {
		return
	}
	key := "nodeset." + j.cfg.FlexSets()[at].Name + ".dws_flex.fallback_after"
	if lacks := j.submitLacks(); lacks != "" {
		j.say(Advice, key, "jobs that no pass has seen pending stay in their partition, because %s", lacks)
	}
}

// submitLacks says why Slurm does not run a job_submit.lua of slurmflex that keeps partition
// lists, and what to do; empty if it does, or if the file cannot be read here.
func (j *judge) submitLacks() string {
	path := submitScript(j.world.Conf.Is["SLURM_CONF"])
	write := "slurmflex config lua job_submit --output " + path
	switch text, err := j.world.Submit.Is, j.world.Submit.Err; {
	case !slices.Contains(j.world.Conf.Is.List("JobSubmitPlugins"), "lua"):
		return fmt.Sprintf("Slurm runs no job_submit.lua; run %s, and set JobSubmitPlugins=lua", write)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s does not exist; run %s", path, write)
	case err != nil:
		return ""
	case !strings.Contains(text, "slurmflex"):
		return fmt.Sprintf("%s does not call slurmflex's; add that", path)
	case slurmconf.IsJobSubmit(text) && !slurmconf.KeepsLists(text):
		return fmt.Sprintf("%s was written without fallback_after; run %s", path, write)
	}
	return ""
}
