package setup

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// rule is a setting in slurm.conf that flex-start nodes need.
type rule struct {
	Key    string
	Advice bool // not required, but recommended

	// Judge returns what is wrong with a value, as in slurm.conf or scontrol's output, and the
	// value to set instead; "" if the value is right. An empty value means that the setting is not
	// set.
	Judge func(value string) (wrong, write string)
}

// longestWait is the longest ResumeTimeout, in seconds, that every version of Slurm takes
// literally. 65534 means unset. 65535 means infinite; before 25.05 it still means 65,535 s, and it
// needs a restart like any other value. Source: tests on Slurm 22.05 to 26.05, and slurm.conf(5).
const longestWait = 65533

// tooOld returns a message for a Slurm older than 22.05; empty for other versions.
func tooOld(v slurm.Version) string {
	if v.AtLeast(22, 5) {
		return ""
	}
	return fmt.Sprintf("Slurm %s is older than 22.05, the oldest that slurmflex works with", v)
}

// vulnerable returns a message for a release that lacks the fixes of September 2026, with the
// release that has them. It is empty for other releases, and for those that only a distribution
// still maintains. Source: SchedMD's announcement of CVE-2026-65107 to 65168.
func vulnerable(v slurm.Version) string {
	fixed := map[slurm.Version]int{{Major: 25, Minor: 5}: 9, {Major: 25, Minor: 11}: 8}
	least, known := fixed[slurm.Version{Major: v.Major, Minor: v.Minor}]
	if !known || v.Patch >= least {
		return ""
	}
	return fmt.Sprintf("Slurm %s has the vulnerabilities of September 2026 (CVE-2026-65107 to 65168); upgrade it to %d.%02d.%d or later",
		v, v.Major, v.Minor, least)
}

// requirements is the input of the rules.
type requirements struct {
	Config  *config.Config
	Version slurm.Version
	// PartitionsSuspend is true if some partition has its own SuspendTime.
	PartitionsSuspend bool
	// PartitionsResume is true if each partition with slurmflex nodes has its own ResumeTimeout,
	// which overrides the cluster's.
	PartitionsResume bool
	// Ordinary are nodes that are always on and not in any nodeset. Slurm suspends them like all
	// other nodes.
	Ordinary []string
	// Exempt are nodes that are exempt from suspension for a reason other than SuspendExcNodes:
	// they are in partitions of SuspendExcParts.
	Exempt []string
}

// rulesFor returns the settings that this configuration needs on this Slurm, without the programs, in
// the best order for writing.
func rulesFor(n requirements) []rule {
	var rules []rule
	if !n.PartitionsResume {
		rules = append(rules, rule{Key: "ResumeTimeout", Judge: n.resumeTimeout})
	}
	rules = append(rules, []rule{
		{Key: "SuspendTimeout", Advice: true, Judge: suspendTimeout},
		{Key: "SuspendTime", Judge: n.suspendTime},
		{Key: "ResumeRate", Judge: rate("splits a job's nodes across several calls")},
		{Key: "SuspendRate", Judge: rate("powers nodes down one by one")},
		{Key: "ReturnToService", Judge: returnToService},
		{Key: "SlurmctldParameters", Judge: slurmctldParameters},
	}...)
	if !n.Version.AtLeast(23, 2) {
		rules = append(rules, rule{Key: "PrivateData", Judge: privateData})
	}
	static := slices.DeleteFunc(append(staticNodes(n.Config), n.Ordinary...), func(name string) bool { return slices.Contains(n.Exempt, name) })
	if len(static) > 0 {
		rules = append(rules, rule{Key: "SuspendExcNodes", Judge: func(v string) (string, string) { return suspendExcNodes(v, static) }})
	}
	return rules
}

// resumeTimeout is the rule for ResumeTimeout, for the whole of slurm.conf or for a partition.
func (n requirements) resumeTimeout(value string) (wrong, write string) {
	write = strconv.Itoa(longestWait)
	limit, least := slurm.ParseSeconds(value), bootTime(n.Config)
	seconds := int(limit.Duration.Seconds())
	switch {
	case value == "":
		return "is not set, which means 60 s", write
	case limit.Kind == slurm.LimitUnknown:
		return fmt.Sprintf("%q is not a number of seconds", value), write
	case limit.Kind == slurm.Unlimited || seconds == 65535:
		return "", ""
	case seconds > longestWait:
		return fmt.Sprintf("Slurm does not accept %d", seconds), write
	case limit.Duration < least:
		return fmt.Sprintf("%d s is shorter than a boot, which may take %s", seconds, slurm.Clock(least)), write
	}
	return "", ""
}

// maxTime returns the MaxTime to set for a partition whose limit lets jobs run longer than their
// leases, which end them; empty if the limit is right.
func (n requirements) maxTime(p config.Partition, is slurm.Limit) (write string) {
	longest := n.Config.LongestJob(p)
	if longerThanLeases(n.Config, p) || is.Kind == slurm.LimitSet && is.Duration <= longest {
		return ""
	}
	return slurm.Limit{Kind: slurm.LimitSet, Duration: longest}.String()
}

// bootTime returns the longest time that a slurmflex machine may take to boot.
func bootTime(cfg *config.Config) time.Duration {
	longest := 10 * time.Minute
	for _, set := range cfg.FlexSets() {
		longest = max(longest, set.Flex.BootTimeout)
	}
	return longest
}

func suspendTimeout(value string) (wrong, write string) {
	if limit := slurm.ParseSeconds(value); limit.Kind == slurm.Unlimited || limit.Duration >= time.Minute {
		return "", ""
	}
	return said(value, "30 s") + " is shorter than it takes to delete a machine, so jobs may be given nodes that are not available yet", "300"
}

func (n requirements) suspendTime(value string) (wrong, write string) {
	if n.PartitionsSuspend || slurm.ParseSeconds(value).Kind == slurm.LimitSet {
		return "", ""
	}
	return said(value, "INFINITE") + " turns power saving off where a partition has none of its own, so Slurm powers no node up or down there", "300"
}

func rate(effect string) func(string) (string, string) {
	return func(value string) (wrong, write string) {
		if strings.TrimSuffix(value, " nodes/min") == "0" {
			return "", ""
		}
		return said(value, "a limit") + " " + effect, "0"
	}
}

func returnToService(value string) (wrong, write string) {
	if value == "2" {
		return "", ""
	}
	return said(value, "0") + " leaves a node DOWN that stopped answering and is back", "2"
}

func slurmctldParameters(value string) (wrong, write string) {
	has := list(value)
	var lacks []string
	if !slices.Contains(has, "idle_on_node_suspend") {
		lacks = append(lacks, "idle_on_node_suspend")
	}
	if !slices.Contains(has, "cloud_dns") && !slices.Contains(has, "cloud_reg_addrs") {
		lacks = append(lacks, "cloud_dns")
	}
	if len(lacks) == 0 {
		return "", ""
	}
	why := map[string]string{
		"idle_on_node_suspend": "a node that was DOWN does not return to service",
		"cloud_dns":            "Slurm does not find a node by its name",
	}
	return fmt.Sprintf("lacks %s; without it %s", strings.Join(lacks, " and "), why[lacks[0]]), strings.Join(append(has, lacks...), ",")
}

func privateData(value string) (wrong, write string) {
	has := slices.DeleteFunc(list(value), func(word string) bool { return word == "none" })
	if slices.Contains(has, "cloud") {
		return "", ""
	}
	return "lacks cloud; without it Slurm before 23.02 hides powered-down nodes", strings.Join(append(has, "cloud"), ",")
}

// counted matches a part of SuspendExcNodes such as NODES:2, which Slurm accepts since 23.02. It
// exempts any two of its nodes.
var (
	counted = regexp.MustCompile(`[^,\[\]]+(?:\[[^\]]*\])?:\d+`)
	commas  = regexp.MustCompile(`,+`)
)

// suspendExcNodes requires that SuspendExcNodes contains the nodes that are always on.
func suspendExcNodes(value string, static []string) (wrong, write string) {
	some := counted.FindAllString(value, -1)
	all := commas.ReplaceAllString(counted.ReplaceAllString(value, ""), ",")
	exempt, _ := slurm.Expand(strings.Trim(all, ",")) // an unparsable list exempts no nodes
	missing := slices.DeleteFunc(slices.Clone(static), func(name string) bool { return slices.Contains(exempt, name) })
	if len(missing) == 0 {
		return "", ""
	}
	return "lacks the nodes " + slurm.Fold(missing) + ", which Slurm would power down when they are idle",
		strings.Join(append([]string{slurm.Fold(append(exempt, missing...))}, some...), ",")
}

// staticNodes returns the static nodes of all nodesets, including those that slurmflex does not
// provision, because slurm.conf has one list for all.
func staticNodes(cfg *config.Config) []string {
	var names []string
	for _, set := range cfg.NodeSets {
		for i := range set.Static {
			names = append(names, set.NodeName(cfg.Cluster, i))
		}
	}
	return names
}

// hook is a slurmflex program that slurm.conf names.
type hook struct{ Key, Verb string }

// hooks returns the programs that slurm.conf must name. Each program recognizes its verb by the
// name under which Slurm calls it.
func hooks() []hook {
	return []hook{{"ResumeProgram", "resume"}, {"SuspendProgram", "suspend"}, {"ResumeFailProgram", "resume-fail"}}
}

// program returns the path of a hook in the folder of slurmflex's programs.
func (h hook) program(folder string) string { return path.Join(folder, h.Verb) }

// isHook reports whether a program is one of slurmflex's hooks, in one of these folders or where its
// packages put them.
func isHook(program string, folders ...string) bool {
	return slices.ContainsFunc(hooks(), func(h hook) bool {
		return slices.ContainsFunc(append(folders, hookFolder), func(folder string) bool { return h.program(folder) == path.Clean(program) })
	})
}

// said describes a value, or the meaning of an unset value.
func said(value, unset string) string {
	if value == "" {
		return "not set, which means " + unset + ","
	}
	return strings.Replace(value, " sec", " s", 1)
}

func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// hookFolder is the folder where slurmflex's packages install the programs that Slurm calls.
const hookFolder = "/usr/libexec/slurmflex"
