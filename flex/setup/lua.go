package setup

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// SubmitRule is a check of job_submit.lua.
type SubmitRule struct {
	Name    string
	Default string // one of SubmitLevels
	Broken  string // the condition that breaks the rule
}

// SubmitRules returns all rules.
func SubmitRules() []SubmitRule {
	return []SubmitRule{
		{"time", "refuse", "the time limit is longer than any lease"},
		{"nodes", "refuse", "the job needs more nodes than the partition has"},
		{"placement", "warn", "it needs more nodes than can be placed close together"},
		{"gpus", "warn", "it requests no GPUs in a partition of whole nodes with GPUs"},
		{"requeue", "warn", "it has --no-requeue"},
		{"no_time", "warn", "it lacks --time, leases follow it, and its partition lacks DefaultTime"},
		{"comment", "warn", "its --comment has a word with slurmflex: that slurmflex does not know"},
		{"partitions", "warn", "only some partitions of its list refuse it"},
	}
}

// SubmitLevels returns the possible reactions to a job that breaks a rule.
func SubmitLevels() []string { return []string{"refuse", "warn", "off"} }

// CheckLevels returns an error for an unknown rule or level.
func CheckLevels(levels map[string]string) error {
	var names []string
	for _, rule := range SubmitRules() {
		names = append(names, rule.Name)
	}
	for name, level := range levels {
		if !slices.Contains(names, name) {
			return fmt.Errorf("--rule %s=%s: unknown rule %q; choose one of: %s", name, level, name, strings.Join(names, ", "))
		}
		if !slices.Contains(SubmitLevels(), level) {
			return fmt.Errorf("--rule %s=%s: choose one of: %s", name, level, strings.Join(SubmitLevels(), ", "))
		}
	}
	return nil
}

// submitMark is the first line of each job_submit.lua that JobSubmit has written.
const submitMark = "-- Written by slurmflex config lua job_submit"

//go:embed lua/job_submit.lua
var jobSubmit string

// JobSubmit returns a job_submit.lua that checks jobs against the configuration. levels has the
// rules with a level other than their default.
func JobSubmit(in Input, levels map[string]string) (string, error) {
	var b strings.Builder
	b.WriteString(submitMark + ". Regenerate it after changing the\n" +
		"-- configuration; --rule sets what the rules do.\nlocal rules = {")
	for i, rule := range SubmitRules() {
		level, given := levels[rule.Name]
		if !given {
			level = rule.Default
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s = %s", rule.Name, luaString(level))
	}
	b.WriteString("}\n\nlocal partitions = {\n")
	for _, p := range in.Config.Partitions {
		limits, err := submitLimits(in, p)
		if err != nil {
			return "", err
		}
		if limits != "" {
			fmt.Fprintf(&b, "  [%s] = {%s},\n", luaString(p.Name), limits)
		}
	}
	b.WriteString("}\n\n" + jobSubmit)
	return b.String(), nil
}

// submitLimits returns the limits of jobs in a partition as a Lua table. It is empty if slurmflex
// provisions none of the partition's nodes. The numbers of nodes and GPUs are included only if
// slurmflex provisions all nodes.
func submitLimits(in Input, p config.Partition) (string, error) {
	if !in.Config.IsOurs(p) {
		return "", nil
	}
	longest := in.Config.LongestJob(p)
	limits := fmt.Sprintf("minutes = %d, longest = %s", longest/time.Minute, luaString(slurm.Clock(longest)))
	if longerThanLeases(in.Config, p) {
		limits = "minutes = math.huge"
	}
	if leasesFollow(in.Config, p) {
		limits += ", follows = true"
	}
	sets := in.Config.SetsOf(p)
	if slices.ContainsFunc(sets, func(set *config.NodeSet) bool { return set.Flex == nil }) {
		return limits, nil
	}
	nodes, placed := 0, 0
	var gpus []int
	for _, set := range sets {
		m := in.Machines[set.Name]
		if _, err := nodeParameters(set, m); err != nil {
			return "", err
		}
		gpus = append(gpus, gpusOf(set, m.MachineType).Count)
		together := set.Size()
		if limit, _, ok := mig.PlacementLimit(m.Name, set.PlacementDistance); ok && set.Placement {
			together = min(limit, together)
		}
		nodes, placed = nodes+set.Size(), placed+together
	}
	limits += fmt.Sprintf(", nodes = %d", nodes)
	if placed < nodes {
		limits += fmt.Sprintf(", placed = %d", placed)
	}
	if least := slices.Min(gpus); p.Exclusive && least > 0 {
		limits += fmt.Sprintf(", gpus = %d", least)
	}
	return limits, nil
}

// luaString quotes a text for any version of Lua.
func luaString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
