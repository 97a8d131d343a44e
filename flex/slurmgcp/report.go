// Package slurmgcp describes how to move a cluster from slurm-gcp's scripts to slurmflex. It
// changes nothing.
package slurmgcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/check"
	"slurmflex/flex/slurmconf"
	"slurmflex/slurm"
)

// Cluster is a cluster run by slurm-gcp's scripts.
type Cluster struct {
	Config    *config.Config
	SlurmConf *slurmconf.File // with its cloud.conf; nil if none is given
	Version   slurm.Version   // of Slurm
	Programs  string          // folder of slurmflex's hooks

	keys *config.Keys // of the configuration
}

// Read returns the cluster of a configuration. conf is the path of its slurm.conf; empty: unknown.
func Read(ctx context.Context, cfg *config.Config, s slurmconf.Slurm, o slurmconf.Options, conf string) (c Cluster, err error) {
	c = Cluster{Config: cfg, Programs: o.Programs}
	if c.Version, err = o.SlurmVersion(ctx, s); err != nil {
		return c, err
	}
	if err := o.Check(cfg); err != nil {
		return c, config.Misuse(err)
	}
	if conf != "" {
		if c.SlurmConf, err = slurmconf.Read(conf); err != nil {
			return c, config.Misuse(err)
		}
	}
	return c, nil
}

// Report lists what to append to the configuration and which lines to edit. With verbose it also
// lists the changes for users and admins, advice, and the ignored keys.
func Report(c Cluster, verbose bool) string {
	c.keys = c.Config.Keys()
	var b strings.Builder
	ours, others := c.sets()
	fmt.Fprintf(&b, "%s loads as it is. Cluster %s: slurmflex will provision %s", c.keys.File, c.Config.Cluster, counted(ours))
	if len(others) > 0 {
		fmt.Fprintf(&b, "; slurm-gcp's scripts keep %s", strings.Join(others, ", "))
	}
	b.WriteString(".\n")
	found := slices.DeleteFunc(check.Advise(c.Config), func(f check.Finding) bool {
		return f.Key == "slurmflex.delegate" // see additions
	})
	advice, ignoredKeys := found.Of(check.Advice), found.Of(check.Ignored)
	if verbose {
		section(&b, "What changes", c.changes())
		section(&b, "What to consider in "+c.keys.File, texts(advice))
	}
	section(&b, "What to append to a copy of it", c.additions(others))
	section(&b, "Lines to edit, in cloud.conf or the file that is named", c.edits())
	if !verbose {
		fmt.Fprintf(&b, "\nWith --verbose: what changes, advice (%d), ignored keys (%d).\n", len(advice), len(ignoredKeys))
		return b.String()
	}
	section(&b, "Keys of the file that slurmflex ignores and slurm-gcp's scripts still use", ignored(ignoredKeys))
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

func texts(found check.Findings) []string {
	var all []string
	for _, f := range found {
		all = append(all, f.String())
	}
	return all
}

// ignored groups the ignored keys by their place: the cluster's first, then each partition's and
// nodeset's.
func ignored(found check.Findings) []string {
	const wrapAt = 100
	keys, order := map[string][]string{}, []string{"cluster"}
	for _, f := range found {
		at, key := "cluster", f.Key
		if cut := strings.LastIndexByte(f.Key, '.'); cut >= 0 {
			at, key = f.Key[:cut], f.Key[cut+1:]
		}
		if !slices.Contains(order, at) {
			order = append(order, at)
		}
		keys[at] = append(keys[at], key)
	}
	var lines []string
	for _, at := range order {
		line := at + ":"
		for i, key := range keys[at] {
			if i+1 < len(keys[at]) {
				key += ","
			}
			if len(line)+1+len(key) > wrapAt {
				lines, line = append(lines, line), "  "
			}
			line += " " + key
		}
		if len(keys[at]) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// sets returns the names of the nodesets that slurmflex provisions, and of the others.
func (c Cluster) sets() (ours, others []string) {
	for _, set := range c.Config.NodeSets {
		if set.Flex != nil {
			ours = append(ours, set.Name)
		} else {
			others = append(others, set.Name)
		}
	}
	return ours, others
}

func counted(names []string) string {
	if len(names) == 0 {
		return "no nodeset"
	}
	return strings.Join(names, ", ")
}

// changes returns the changes that users and admins will notice.
func (c Cluster) changes() []string {
	all := []string{
		"The programs that Slurm calls return at once; slurmflex daemon does the work, or slurmflex sync from cron.",
		fmt.Sprintf("slurmflex requests all nodes of a job at once, or none, in a group %s-NODESET-job-ID.", c.Config.Cluster),
		"A waiting job says so in its AdminComment (scontrol show job), can wait longer than ResumeTimeout, and costs nothing once it is cancelled.",
		fmt.Sprintf("A reservation slurmflex-%s-EPOCH, in place of dws-eol-NODE, keeps jobs off the end of each node's lease.", c.Config.Cluster),
		"A job of less than 10 minutes gets a lease of its time limit plus job_duration_margin, at least 10 minutes, instead of the longest one.",
	}
	for _, set := range c.Config.NodeSets {
		switch {
		case set.Flex == nil:
		case set.Flex.UseBulkInsert && !set.Flex.Capacity.AtOnce():
			all = append(all, fmt.Sprintf("%s still uses bulk insert, without a queue; remove use_bulk_insert to let its jobs wait for capacity.", set.Name))
		case set.Static > 0:
			all = append(all, fmt.Sprintf("The static nodes of %s get a new lease whenever the old one ends; renew_before renews idle ones earlier.", set.Name))
		}
	}
	return all
}

// additions returns the YAML document with slurmflex's own keys that the file needs.
func (c Cluster) additions(others []string) []string {
	d := c.Config.Options.Delegate
	if len(others) == 0 || d.ResumeProgram != "" && d.SuspendProgram != "" {
		return nil
	}
	note := "  # what ResumeProgram and SuspendProgram are now"
	if c.SlurmConf != nil {
		note = ""
	}
	lines := []string{"---", "slurmflex:", "  delegate:" + note}
	if d.ResumeProgram == "" {
		lines = append(lines, "    resume_program: "+c.delegate("ResumeProgram", "/slurm/scripts/resume_wrapper.sh"))
	}
	if d.SuspendProgram == "" {
		lines = append(lines, "    suspend_program: "+c.delegate("SuspendProgram", "/slurm/scripts/suspend_wrapper.sh"))
	}
	return lines
}

// delegate returns the program of a setting that slurmflex's hook replaces, or has replaced. usual
// is slurm-gcp's.
func (c Cluster) delegate(key, usual string) string {
	if c.SlurmConf != nil {
		for _, program := range c.SlurmConf.Values(key) {
			if !slurmconf.IsHook(program, c.Programs) {
				return program
			}
		}
	}
	return usual
}

// edits returns the settings of slurm.conf and of the partitions that must change.
func (c Cluster) edits() []string {
	var all []string
	for _, h := range slurmconf.Hooks() {
		at, value, _ := c.setting(h.Key)
		if want := h.Program(c.Programs); value != want {
			all = append(all, edit(at, h.Key, value, want))
		}
	}
	// The cluster's ResumeTimeout still applies to slurm-gcp's other nodes.
	needs := slurmconf.Needs{Config: c.Config, Version: c.Version, PartitionsResume: true}
	needs.PartitionsSuspend = c.SlurmConf == nil || c.SlurmConf.AnyHas("PartitionName", "SuspendTime")
	for _, rule := range slurmconf.Rules(needs) {
		at, value, _ := c.setting(rule.Key)
		if wrong, write := rule.Judge(value); wrong != "" {
			all = append(all, edit(at, rule.Key, value, write))
		}
	}
	for _, p := range c.Config.Partitions {
		if line := c.partition(p); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func (c Cluster) setting(key string) (at slurmconf.Place, value string, ok bool) {
	if c.SlurmConf == nil {
		return slurmconf.Place{File: "cloud.conf"}, "", false
	}
	return c.SlurmConf.Setting(key)
}

func edit(at slurmconf.Place, key, value, write string) string {
	if at.Line == 0 {
		return fmt.Sprintf("%s: set %s=%s", at, key, write)
	}
	return fmt.Sprintf("%s: %s=%s: set %[2]s=%[4]s", at, key, value, write)
}

// resumeTimeout returns the value for a partition without its own: the cluster's or, if cloud.conf
// is not given, the value that slurm-gcp would write there.
func (c Cluster) resumeTimeout() string {
	if c.SlurmConf != nil {
		_, value, _ := c.SlurmConf.Setting("ResumeTimeout")
		return value
	}
	value, _ := c.keys.Value("cloud_parameters.resume_timeout")
	return value
}

// line returns the place and the parameters of a partition's line. If cloud.conf is not given, only
// the parameters of partition_conf are known, which slurm-gcp would write there.
func (c Cluster) line(p config.Partition) (at slurmconf.Place, is []slurmconf.Parameter, known bool) {
	if c.SlurmConf == nil {
		return slurmconf.Place{File: "cloud.conf"}, slurmconf.PartitionConf(c.keys, p), false
	}
	return c.SlurmConf.Record("PartitionName", p.Name)
}

// partition returns the changes to a partition's line; empty if the line needs none.
func (c Cluster) partition(p config.Partition) string {
	if !c.Config.IsOurs(p) {
		return ""
	}
	at, is, known := c.line(p)
	value := func(key string) string {
		i := slices.IndexFunc(is, func(p slurmconf.Parameter) bool { return strings.EqualFold(p.Key, key) })
		if i < 0 {
			return ""
		}
		return is[i].Value
	}
	var all []string
	say := func(text string) { all = append(all, text) }
	lacks := func(need slurmconf.Parameter) bool { // slurm-gcp writes what partition_conf does not set
		is := value(need.Key)
		return p.Exclusive && !strings.EqualFold(is, need.Value) && (known || is != "")
	}
	needs := slurmconf.Needs{Config: c.Config}
	if wrong, write := needs.ResumeTimeout(cmp.Or(value("ResumeTimeout"), c.resumeTimeout())); wrong != "" {
		say("set ResumeTimeout=" + write + " (" + wrong + ")")
	}
	if write := needs.MaxTime(p, maxTime(value("MaxTime"))); write != "" {
		say("set MaxTime=" + write + " (the longest that every lease covers)")
	}
	if exclusive := slurmconf.Exclusive(c.Version); lacks(exclusive) {
		say("add " + exclusive.String())
	}
	if idle := (slurmconf.Parameter{Key: "PowerDownOnIdle", Value: "YES"}); lacks(idle) && slurmconf.PowersDownOnIdle(c.Version) && c.Config.KeepIdle(p) == 0 {
		say("add " + idle.String())
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: PartitionName=%s: %s", at, p.Name, strings.Join(all, "; "))
}

// maxTime returns a time limit as slurm.conf has it. A value that is not a time is an unknown limit.
func maxTime(value string) slurm.Limit {
	limit, err := slurm.ParseTime(value)
	if err != nil {
		return slurm.Limit{}
	}
	return slurm.Limit{Kind: slurm.LimitSet, Duration: limit}
}
