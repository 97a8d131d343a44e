package slurmconf

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

// Rule is a setting of slurm.conf that flex-start nodes need.
type Rule struct {
	Key    string
	Advice bool // it works without, but worse

	// Judge says what is wrong with a value, as slurm.conf has it or scontrol
	// shows it, and what to set instead; "" if nothing is. An empty value is
	// one that is not set.
	Judge func(value string) (wrong, write string)
}

// longestWait is the longest ResumeTimeout that every Slurm understands as
// itself: 65534 means unset, and 65535 is infinite, which before 25.05 means
// 65,535 s all the same, and is restarted like any other. Source: trials on 22.05 to
// 26.05, and slurm.conf(5).
const longestWait = 65533

// TooOld says so of a Slurm that is older than 22.05; it is empty for others.
func TooOld(v slurm.Version) string {
	if v.AtLeast(22, 5) {
		return ""
	}
	return fmt.Sprintf("Slurm %s is older than 22.05, the oldest that slurmflex works with", v)
}

// Vulnerable says so of a release that lacks the fixes of September 2026, and names the
// one that has them; it is empty for others, and for those that only a distribution
// still maintains. Source: SchedMD's announcement of CVE-2026-65107 to 65168.
func Vulnerable(v slurm.Version) string {
	fixed := map[slurm.Version]int{{Major: 25, Minor: 5}: 9, {Major: 25, Minor: 11}: 8}
	least, known := fixed[slurm.Version{Major: v.Major, Minor: v.Minor}]
	if !known || v.Patch >= least {
		return ""
	}
	return fmt.Sprintf("Slurm %s has the vulnerabilities of September 2026 (CVE-2026-65107 to 65168); upgrade it to %d.%02d.%d or later",
		v, v.Major, v.Minor, least)
}

// Needs is what the rules go by.
type Needs struct {
	Config  *config.Config
	Version slurm.Version
	// PartitionsSuspend: some partition has a SuspendTime of its own.
	PartitionsSuspend bool
	// PartitionsResume: each partition with nodes of ours has a ResumeTimeout of
	// its own, which counts for them instead of the cluster's.
	PartitionsResume bool
	// Ordinary are nodes that are always on and that no nodeset has. Slurm
	// suspends them as all others.
	Ordinary []string
	// Exempt are nodes that are never suspended for another reason than
	// SuspendExcNodes: the partitions of SuspendExcParts have them.
	Exempt []string
}

// Rules are the settings that this configuration needs of this Slurm, but for
// the programs, in the order in which they are best written.
func Rules(n Needs) []Rule {
	var rules []Rule
	if !n.PartitionsResume {
		rules = append(rules, Rule{Key: "ResumeTimeout", Judge: n.ResumeTimeout})
	}
	rules = append(rules, []Rule{
		{Key: "SuspendTimeout", Advice: true, Judge: suspendTimeout},
		{Key: "SuspendTime", Judge: n.suspendTime},
		{Key: "ResumeRate", Judge: rate("splits a job's nodes across several calls")},
		{Key: "SuspendRate", Judge: rate("powers nodes down one by one")},
		{Key: "ReturnToService", Judge: returnToService},
		{Key: "SlurmctldParameters", Judge: slurmctldParameters},
	}...)
	if !n.Version.AtLeast(23, 2) {
		rules = append(rules, Rule{Key: "PrivateData", Judge: privateData})
	}
	static := slices.DeleteFunc(append(staticNodes(n.Config), n.Ordinary...), func(name string) bool { return slices.Contains(n.Exempt, name) })
	if len(static) > 0 {
		rules = append(rules, Rule{Key: "SuspendExcNodes", Judge: func(v string) (string, string) { return suspendExcNodes(v, static) }})
	}
	return rules
}

// Seconds reads a time in seconds as slurm.conf has it or scontrol shows it:
// "300", "300 sec". What is infinite is -1.
func Seconds(value string) (seconds int, ok bool) {
	switch strings.ToUpper(value) {
	case "INFINITE", "UNLIMITED", "NONE", "-1":
		return -1, true
	}
	seconds, err := strconv.Atoi(strings.TrimSuffix(value, " sec"))
	return seconds, err == nil
}

// ResumeTimeout is the rule for it, in slurm.conf as a whole or in a partition.
func (n Needs) ResumeTimeout(value string) (wrong, write string) {
	write = strconv.Itoa(longestWait)
	seconds, ok := Seconds(value)
	least := bootTime(n.Config)
	switch {
	case value == "":
		return "is not set, which means 60 s", write
	case !ok:
		return fmt.Sprintf("%q is not a number of seconds", value), write
	case seconds < 0 || seconds == 65535:
		return "", ""
	case seconds > longestWait:
		return fmt.Sprintf("Slurm does not accept %d", seconds), write
	case seconds < int(least.Seconds()):
		return fmt.Sprintf("%d s is shorter than a boot, which may take %s", seconds, clock(least)), write
	}
	return "", ""
}

// bootTime is the longest time that a machine of ours may take to boot.
func bootTime(cfg *config.Config) time.Duration {
	longest := 10 * time.Minute
	for _, set := range cfg.FlexSets() {
		longest = max(longest, set.Flex.BootTimeout)
	}
	return longest
}

func suspendTimeout(value string) (wrong, write string) {
	if seconds, ok := Seconds(value); ok && (seconds < 0 || seconds >= 60) {
		return "", ""
	}
	return said(value, "30 s") + " is shorter than it takes to delete a machine, so jobs may be given nodes that are not available yet", "300"
}

func (n Needs) suspendTime(value string) (wrong, write string) {
	if seconds, ok := Seconds(value); n.PartitionsSuspend || ok && seconds >= 0 {
		return "", ""
	}
	return said(value, "INFINITE") + " turns power saving off, so Slurm powers no node up or down", "300"
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

// counted is a part of SuspendExcNodes such as NODES:2, from Slurm 23.02 on: it
// exempts two of its nodes, whichever they are.
var (
	counted = regexp.MustCompile(`[^,\[\]]+(?:\[[^\]]*\])?:\d+`)
	commas  = regexp.MustCompile(`,+`)
)

// suspendExcNodes wants the nodes that are always on among those that are never suspended.
func suspendExcNodes(value string, static []string) (wrong, write string) {
	some := counted.FindAllString(value, -1)
	all := commas.ReplaceAllString(counted.ReplaceAllString(value, ""), ",")
	exempt, _ := slurm.Expand(strings.Trim(all, ",")) // what cannot be parsed exempts no node
	missing := slices.DeleteFunc(slices.Clone(static), func(name string) bool { return slices.Contains(exempt, name) })
	if len(missing) == 0 {
		return "", ""
	}
	return "lacks the nodes " + slurm.Fold(missing) + ", which Slurm would power down when they are idle",
		strings.Join(append([]string{slurm.Fold(append(exempt, missing...))}, some...), ",")
}

// staticNodes are the static nodes of all nodesets, ours and others', because
// slurm.conf has one list for all.
func staticNodes(cfg *config.Config) []string {
	var names []string
	for _, set := range cfg.NodeSets {
		for i := range set.Static {
			names = append(names, set.NodeName(cfg.Cluster, i))
		}
	}
	return names
}

// Hook is a program that slurm.conf names and that is ours.
type Hook struct{ Key, Verb string }

// Hooks are the programs that slurm.conf must name. Each is called by the name
// of its verb, which is how it knows what to do.
func Hooks() []Hook {
	return []Hook{{"ResumeProgram", "resume"}, {"SuspendProgram", "suspend"}, {"ResumeFailProgram", "resume-fail"}}
}

// Program is the path of a hook in the folder of our programs.
func (h Hook) Program(folder string) string { return path.Join(folder, h.Verb) }

// said is a value, or what it means that none is set.
func said(value, unset string) string {
	if value == "" {
		return "not set, which means " + unset + ","
	}
	return strings.Replace(value, " sec", " s", 1)
}

func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// clock writes a duration as Slurm writes time limits.
func clock(d time.Duration) string {
	return slurm.Limit{Kind: slurm.LimitSet, Duration: d}.String()
}

// Folder is where slurmflex's packages put the programs that Slurm calls.
const Folder = "/usr/libexec/slurmflex"
