// Package slurmgcp tells what to do to bring a cluster of slurm-gcp's scripts
// to slurmflex. It only tells.
package slurmgcp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/check"
	"slurmflex/flex/slurmconf"
	"slurmflex/slurm"
)

// Cluster is a cluster of slurm-gcp's scripts.
type Cluster struct {
	Config    *config.Config
	SlurmConf *slurmconf.File // with its cloud.conf; nil if it is not given
	Version   slurm.Version   // of Slurm
	Programs  string          // folder of slurmflex's hooks

	keys *config.Keys // of the configuration
}

// Report says what changes, what is ignored, which lines to edit and in which
// order to do it.
func Report(c Cluster) string {
	c.keys = c.Config.Keys()
	var b strings.Builder
	ours, others := c.sets()
	fmt.Fprintf(&b, "%s loads as it is: of cluster %s, %s will come by slurmflex", c.keys.File, c.Config.Cluster, counted(ours))
	if len(others) > 0 {
		fmt.Fprintf(&b, ", and %s stay with slurm-gcp's scripts", strings.Join(others, ", "))
	}
	b.WriteString(".\n")
	found := slices.DeleteFunc(check.Advise(c.Config), func(f check.Finding) bool {
		return f.Key == "slurmflex.delegate" // see additions
	})
	section(&b, "What changes", c.changes())
	section(&b, "What to consider in "+c.keys.File, texts(found.Of(check.Advice)))
	section(&b, "What to write at the end of a copy of it", c.additions(others))
	section(&b, "Which lines to edit, in cloud.conf or where they stand", c.edits())
	section(&b, "What to do, in this order", c.steps(others))
	section(&b, "Keys of the file that slurmflex ignores; slurm-gcp's scripts still use them", ignored(found.Of(check.Ignored)))
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

// ignored lists keys by what they are in: the cluster's, then each partition's
// and nodeset's.
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

// sets are the names of the nodesets that are ours, and of the others.
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

// changes are what users and admins will see to be different.
func (c Cluster) changes() []string {
	all := []string{
		"Slurm's programs return at once; the work is done by slurmflex daemon, or by slurmflex sync from cron.",
		fmt.Sprintf("A job's nodes come in a group %s-NODESET-job-ID with one request; all of them or none.", c.Config.Cluster),
		"A job that waits says so in its AdminComment (scontrol show job), may wait longer than ResumeTimeout, and costs nothing once it is cancelled.",
		fmt.Sprintf("The end of a lease is reserved as slurmflex-%s-EPOCH on every node, in place of dws-eol-NODE.", c.Config.Cluster),
		"A job of less than 10 minutes gets a lease of its time limit and job_duration_margin, at least 10 minutes, not the longest one.",
	}
	for _, set := range c.Config.NodeSets {
		switch {
		case set.Flex == nil:
		case set.Flex.UseBulkInsert:
			all = append(all, fmt.Sprintf("%s comes by bulk insert as before, without a queue; take use_bulk_insert out to have its jobs wait for capacity.", set.Name))
		case set.Static > 0:
			all = append(all, fmt.Sprintf("The static nodes of %s get a new lease whenever the old one ends; renew_before has idle ones renewed earlier.", set.Name))
		}
	}
	return all
}

// additions are the keys of our own that the file needs.
func (c Cluster) additions(others []string) []string {
	d := c.Config.Options.Delegate
	if len(others) == 0 || d.ResumeProgram != "" && d.SuspendProgram != "" {
		return nil
	}
	resume, suspend := "/slurm/scripts/resume_wrapper.sh", "/slurm/scripts/suspend_wrapper.sh"
	note := "  # what ResumeProgram and SuspendProgram are now"
	if c.SlurmConf != nil {
		note = ""
		if _, v, ok := c.SlurmConf.Setting("ResumeProgram"); ok {
			resume = v
		}
		if _, v, ok := c.SlurmConf.Setting("SuspendProgram"); ok {
			suspend = v
		}
	}
	return []string{
		"slurmflex:",
		"  delegate:" + note,
		"    resume_program: " + resume,
		"    suspend_program: " + suspend,
	}
}

// edits are the settings of slurm.conf and of the partitions that must change.
func (c Cluster) edits() []string {
	var all []string
	for _, h := range slurmconf.Hooks() {
		at, value, _ := c.setting(h.Key)
		if want := h.Program(c.Programs); value != want {
			all = append(all, edit(at, h.Key, value, want))
		}
	}
	// The cluster's ResumeTimeout stays that of slurm-gcp's other nodes.
	needs := slurmconf.Needs{Config: c.Config, Version: c.Version, PartitionsResume: true}
	needs.PartitionsSuspend = c.SlurmConf == nil || c.SlurmConf.AnyHas("PartitionName", "SuspendTime")
	for _, rule := range slurmconf.Rules(needs) {
		at, value, _ := c.setting(rule.Key)
		if wrong, write := rule.Judge(value); wrong != "" {
			all = append(all, edit(at, rule.Key, value, write))
		}
	}
	for _, p := range c.Config.Partitions {
		all = append(all, c.partition(p)...)
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
		return fmt.Sprintf("%s: write %s=%s", at, key, write)
	}
	return fmt.Sprintf("%s: %s=%s: write %[2]s=%[4]s", at, key, value, write)
}

// resumeTimeout is what counts for a partition whose line has none: the
// cluster's, and where cloud.conf is not given what slurm-gcp would write there.
func (c Cluster) resumeTimeout(p config.Partition) string {
	if c.SlurmConf != nil {
		_, value, _ := c.SlurmConf.Setting("ResumeTimeout")
		return value
	}
	own, _ := c.keys.Value("partitions." + p.Name + ".partition_conf.ResumeTimeout")
	all, _ := c.keys.Value("cloud_parameters.resume_timeout")
	return cmp.Or(own, all)
}

// partition are the parameters of a partition's line that must change.
func (c Cluster) partition(p config.Partition) []string {
	longest := c.Config.LongestJob(p)
	if longest == 0 {
		return nil
	}
	at, is := slurmconf.Place{File: "cloud.conf"}, []slurmconf.Parameter(nil)
	known := false
	if c.SlurmConf != nil {
		at, is, known = c.SlurmConf.Record("PartitionName", p.Name)
	}
	value := func(key string) string {
		i := slices.IndexFunc(is, func(p slurmconf.Parameter) bool { return strings.EqualFold(p.Key, key) })
		if i < 0 {
			return ""
		}
		return is[i].Value
	}
	var all []string
	say := func(text string) {
		all = append(all, fmt.Sprintf("%s: PartitionName=%s: %s", at, p.Name, text))
	}
	timeout := cmp.Or(value("ResumeTimeout"), c.resumeTimeout(p))
	if wrong, write := (slurmconf.Needs{Config: c.Config}).ResumeTimeout(timeout); wrong != "" {
		say("write ResumeTimeout=" + write + " in it: " + wrong)
	}
	if value("MaxTime") == "" {
		say("add MaxTime=" + slurm.Limit{Kind: slurm.LimitSet, Duration: longest}.String() + ", the longest that every lease lasts")
	}
	exclusive := slurmconf.Exclusive(c.Version)
	if p.Exclusive && !strings.EqualFold(value(exclusive.Key), exclusive.Value) && known {
		say("add " + exclusive.String())
	}
	if p.Exclusive && !strings.EqualFold(value("PowerDownOnIdle"), "YES") && known && slurmconf.PowersDownOnIdle(c.Version) {
		say("add PowerDownOnIdle=YES")
	}
	return all
}

// steps are the way from the one to the other.
func (c Cluster) steps(others []string) []string {
	all := []string{
		"1. Copy " + c.keys.File + " to /etc/slurmflex/config.yaml, for slurm-gcp's scripts write theirs anew. What is to be written",
		"   in it belongs into the copy.",
		"2. Wait until no flex node is powering up: slurmflex does not know what slurm-gcp's scripts have asked for.",
		"3. Edit the lines above. slurm-gcp's scripts write cloud.conf anew when they reconfigure; lines behind the include of",
		"   cloud.conf in slurm.conf (slurm_conf_tpl) stay, and of a setting that is given twice the last counts. What stands",
		"   in a partition's line comes from its partition_conf.",
		"4. scontrol reconfigure; then, as the user that slurmctld runs as:  slurmflex config check --live",
		"5. Start the daemon:  systemctl enable --now slurmflex",
		"6. When the flex jobs that ran at the time have ended:  slurmflex gc --adopt-slurm-gcp --dry-run  names the requests, machines",
		"   and groups that slurm-gcp's scripts have left, and without --dry-run removes them.",
	}
	stays := "7. slurmsync stays in the crontab of slurm-gcp: it brings changes of the blueprint"
	if len(others) == 0 {
		return append(all, stays+".")
	}
	return append(all, stays+", and looks after "+strings.Join(others, ", ")+".")
}
