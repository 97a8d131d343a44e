package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/slurmconf"
)

// Advise holds a configuration that is right against good sense, and lists what
// of the file is ignored. It asks nobody.
func Advise(cfg *config.Config) Findings {
	a := adviser{cfg: cfg, keys: cfg.Keys()}
	for _, set := range cfg.FlexSets() {
		a.flex(set)
		a.static(set)
	}
	a.requests()
	a.resumeTimeouts()
	a.others()
	for _, i := range cfg.Ignored {
		if strings.HasSuffix(i.Key, ".partition_conf") || a.advises(i.Key) {
			continue // config slurm-conf writes it into slurm.conf, or advice says what matters about it
		}
		a.found = append(a.found, Finding{Ignored, a.keys.File, i.Line, i.Key, "slurmflex does not use it"})
	}
	return a.found.sort()
}

type adviser struct {
	cfg   *config.Config
	keys  *config.Keys
	found Findings
}

func (a *adviser) advise(key, format string, args ...any) {
	a.found = append(a.found, Finding{Advice, a.keys.File, a.keys.Line(key), key, fmt.Sprintf(format, args...)})
}

// advises reports whether there is advice about a key, or one below it.
func (a *adviser) advises(key string) bool {
	return slices.ContainsFunc(a.found, func(f Finding) bool { return f.Key == key || strings.HasPrefix(f.Key, key+".") })
}

// quickestBoot is about the least that a GPU machine takes from its start to
// slurmd's registration.
const quickestBoot = 2 * time.Minute

// flex is about the dws_flex block of a nodeset.
func (a *adviser) flex(set *config.NodeSet) {
	block := "nodeset." + set.Name + ".dws_flex."
	if set.Flex.UseJobDuration && set.Flex.JobDurationMargin == 0 {
		a.advise(block+"job_duration_margin",
			"a lease that is exactly the job's time limit ends before the job, for it begins first; set it to 600, longer than a machine boots")
	}
	if !set.Flex.UseJobDuration && a.keys.Has(block+"job_duration_margin") {
		a.advise(block+"job_duration_margin", "means nothing without use_job_duration; set use_job_duration: true or take it out")
	}
	if set.Flex.ProvisionTimeout == 0 && a.keys.Has(block+"on_provision_timeout") {
		a.advise(block+"on_provision_timeout", "means nothing without provision_timeout; set provision_timeout or take it out")
	}
	if set.Flex.RenewBefore > 0 && set.Static == 0 {
		a.advise(block+"renew_before", "only static nodes are renewed, and there are none; set node_count_static or take it out")
	}
	if t := set.Flex.BootTimeout; t > 0 && t < quickestBoot {
		a.advise(block+"boot_timeout", "%.0f s is shorter than a GPU machine takes to boot, so its node would be powered down again; set it to 1800", t.Seconds())
	}
	if set.Flex.BootTimeout == 0 {
		a.advise(block+"boot_timeout", "a machine that never comes up is paid for until its lease ends; set it to 1800 or take it out")
	}
}

// static is about static nodes in exclusive partitions, and about nodes that no
// job can have.
func (a *adviser) static(set *config.NodeSet) {
	key := "nodeset." + set.Name
	used := false
	for _, p := range a.cfg.Partitions {
		for _, name := range p.NodeSets {
			if name != set.Name {
				continue
			}
			used = true
			if p.Exclusive && set.Static > 0 {
				a.advise(key+".node_count_static",
					"exclusive partition %s powers its nodes down after each job, also static ones, which then wait for capacity again; take the nodeset out of it or set enable_job_exclusive: false", p.Name)
			}
		}
	}
	if !used && set.Size() > 0 {
		a.advise(key, "is in no partition, so that no job can have its nodes; add it to a partition_nodeset")
	}
	if set.Size() == 0 {
		a.advise(key, "has no nodes; set node_count_dynamic_max")
	}
}

// requests is about nodes that are asked for one by one.
func (a *adviser) requests() {
	most := a.cfg.Options.MaxActiveRequests
	nodes, sets := map[string]int{}, map[string][]string{}
	for _, set := range a.cfg.FlexSets() {
		if set.Flex.Provisioning == config.NodeByNode && !set.Flex.UseBulkInsert {
			nodes[set.Region] += set.Size()
			sets[set.Region] = append(sets[set.Region], set.Name)
		}
	}
	for _, region := range a.cfg.FlexRegions() {
		if nodes[region] > most {
			a.advise("nodeset."+sets[region][0]+".dws_flex.provisioning",
				"the %d nodes of %s each need a request, and only %d may be live in %s at once; the others wait, unless max_active_requests and the project's quota allow more, or provisioning is queued",
				nodes[region], strings.Join(sets[region], ", "), most, region)
		}
	}
}

// resumeTimeouts is about those that slurm-gcp's scripts write into cloud.conf
// for partitions with nodes of ours: their own, and for those that have none the
// cluster's.
func (a *adviser) resumeTimeouts() {
	needs := slurmconf.Needs{Config: a.cfg}
	var others []string
	for _, p := range a.cfg.Partitions {
		key := "partitions." + p.Name + ".partition_conf.ResumeTimeout"
		value, own := a.keys.Value(key)
		switch wrong, write := needs.ResumeTimeout(value); {
		case a.cfg.LongestJob(p) == 0:
		case !own:
			others = append(others, p.Name)
		case wrong != "":
			a.advise(key, "slurm-gcp's scripts write it into cloud.conf: %s; set it to %s", wrong, write)
		}
	}
	const key = "cloud_parameters.resume_timeout"
	value, given := a.keys.Value(key)
	if wrong, write := needs.ResumeTimeout(value); given && wrong != "" && len(others) > 0 {
		a.advise(key, "counts for the nodes of %s: %s; set ResumeTimeout to %s in their partition_conf", strings.Join(others, ", "), wrong, write)
	}
}

// others is about the nodes that do not come by flex-start.
func (a *adviser) others() {
	var sets []string
	for _, set := range a.cfg.NodeSets {
		if set.Flex == nil && set.Size() > 0 {
			sets = append(sets, set.Name)
		}
	}
	d := a.cfg.Options.Delegate
	if len(sets) > 0 && (d.ResumeProgram == "" || d.SuspendProgram == "") {
		a.advise("slurmflex.delegate",
			"nobody is called for the nodes of %s, which do not come by flex-start; name the programs that power them up and down in resume_program and suspend_program",
			strings.Join(sets, ", "))
	}
}
