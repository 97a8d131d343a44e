package setup

import (
	"cmp"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"slurmflex/config"
	"slurmflex/slurm"
)

// slurm checks Slurm's configuration.
func (j *judge) slurm() {
	conf := j.world.Conf
	if conf.Err != nil {
		j.say(Unread, "slurm_bin_dir", "%v; check that slurmctld is running and SLURM_CONF is correct", conf.Err)
		return
	}
	var err error
	if j.version, err = slurm.ParseVersion(conf.Is["SLURM_VERSION"]); err != nil {
		j.say(Unread, "slurm_bin_dir", "%v; check which version of Slurm this is", err)
		return
	}
	if old := tooOld(j.version); old != "" {
		j.conf(Fault, "SLURM_VERSION", "%s; upgrade it", old)
		return
	}
	if hole := vulnerable(j.version); hole != "" {
		j.conf(Advice, "SLURM_VERSION", "%s", hole)
	}
	j.settings()
	j.health()
	j.accounts()
	j.hooks()
	j.formerGate()
	j.user()
	j.pending()
	if j.world.Partitions.Err != nil {
		j.say(Unread, "partitions", "%v", j.world.Partitions.Err)
	} else {
		j.partitions()
	}
	if j.world.Nodes.Err != nil {
		j.say(Unread, "nodeset", "%v", j.world.Nodes.Err)
	} else {
		j.nodes()
	}
}

// conf adds a finding about a setting in slurm.conf such as ResumeTimeout, or about a record such as
// PartitionName=train. An included file may have it.
func (j *judge) conf(level severity, key, format string, args ...any) {
	j.found = append(j.found, Finding{Level: level, File: j.world.Conf.Is["SLURM_CONF"], Key: key, Text: fmt.Sprintf(format, args...)})
}

// settings compares slurm.conf with the needs of flex-start nodes.
func (j *judge) settings() {
	needs := requirements{Config: j.cfg, Version: j.version}
	for _, p := range j.world.Partitions.Is {
		needs.PartitionsSuspend = needs.PartitionsSuspend || p.SuspendTime.Kind != slurm.LimitUnknown
		if slices.Contains(j.world.Conf.Is.List("SuspendExcParts"), p.Name) {
			needs.Exempt = append(needs.Exempt, p.Nodes...)
		}
	}
	needs.PartitionsResume = j.partitionsResume()
	needs.Ordinary = j.ordinary()
	for _, rule := range rulesFor(needs) {
		wrong, write := rule.Judge(j.world.Conf.Is[rule.Key])
		if wrong == "" {
			continue
		}
		level := Fault
		if rule.Advice {
			level = Advice
		}
		j.conf(level, rule.Key, "%s; set %s=%s", wrong, rule.Key, write)
	}
}

// health checks that slurmd runs a health check, if a nodeset needs one.
func (j *judge) health() {
	sets, conf := j.cfg.FlexSets(), j.world.Conf.Is
	at := slices.IndexFunc(sets, func(set *config.NodeSet) bool { return set.Flex.HealthCheck > 0 })
	switch {
	case at < 0:
	case conf["HealthCheckProgram"] == "":
		j.conf(Fault, "HealthCheckProgram", "is not set, so machines of nodeset %s (health_check) are not checked; set it to a program that drains unhealthy nodes", sets[at].Name)
	case conf.Seconds("HealthCheckInterval") == slurm.Limit{Kind: slurm.LimitSet} && !strings.HasSuffix(conf["HealthCheckNodeState"], "_ONLY"):
		j.conf(Fault, "HealthCheckInterval", "0 turns HealthCheckProgram off; set HealthCheckInterval=300")
	}
}

// accounts checks that Slurm knows the accounts of limits, and that jobs cannot choose others.
func (j *judge) accounts() {
	for _, l := range j.cfg.Options.Limits {
		key, seen := "slurmflex.limits."+l.Name+".account", j.world.Allowances
		switch {
		case l.Account == "":
		case seen.Err != nil:
			j.say(Unread, key, "%v", seen.Err)
		case !slices.Contains(j.world.Conf.Is.List("AccountingStorageEnforce"), "associations"):
			j.advise(key, "a job's owner may choose any account; set AccountingStorageEnforce=associations in slurm.conf")
		case seen.Is.Associations[slurm.AssociationKey{Account: l.Account}] == nil:
			j.say(Fault, key, "Slurm has no account %s; correct the name or add it with sacctmgr", l.Account)
		}
	}
}

// partitionsResume reports whether every slurmflex partition has its own ResumeTimeout, so that the
// cluster's applies to no slurmflex node.
func (j *judge) partitionsResume() bool {
	own := map[string]bool{}
	for _, p := range j.world.Partitions.Is {
		own[p.Name] = p.ResumeTimeout.Kind != slurm.LimitUnknown
	}
	ours := slices.DeleteFunc(slices.Clone(j.cfg.Partitions), func(p config.Partition) bool { return !j.cfg.IsOurs(p) })
	return len(ours) > 0 && !slices.ContainsFunc(ours, func(p config.Partition) bool { return !own[p.Name] })
}

// ordinary returns the nodes that are always on and not in a nodeset. Without a SuspendTime for the
// whole cluster, Slurm never powers them down.
func (j *judge) ordinary() []string {
	if j.world.Conf.Is.Seconds("SuspendTime").Kind != slurm.LimitSet {
		return nil
	}
	return j.unknown(false)
}

// hooks checks the programs that Slurm calls.
func (j *judge) hooks() {
	for _, h := range hooks() {
		value := j.world.Conf.Is[h.Key]
		if wrong := j.wrongHook(h, value); wrong != "" {
			j.conf(Fault, h.Key, "%s; set %s=%s", wrong, h.Key, h.program(j.programs()))
		}
	}
}

// programs returns the folder of slurmflex's hooks: the folder of a hook in slurm.conf, or else the
// folder of this installation.
func (j *judge) programs() string {
	for _, h := range hooks() {
		if path := programPath(j.world.Conf.Is[h.Key]); j.world.Programs[path].Ours {
			return path[:strings.LastIndexByte(path, '/')]
		}
	}
	return cmp.Or(j.world.Hooks, hookFolder)
}

// wrongHook returns why Slurm does not call a program, or calls one that is not slurmflex's.
func (j *judge) wrongHook(h hook, value string) string {
	path := programPath(value)
	p := j.world.Programs[path]
	switch {
	case path == "":
		return "is not set"
	case !strings.HasPrefix(path, "/"):
		return fmt.Sprintf("%q is not an absolute path", path)
	case p.Err != nil:
		return fmt.Sprintf("Slurm cannot call %s: %v", path, p.Err)
	case p.Mode&0o111 == 0:
		return fmt.Sprintf("Slurm cannot call %s: it is not executable", path)
	case p.Mode&0o022 != 0:
		return fmt.Sprintf("Slurm does not call %s, because other users can write to it (mode %04o)", path, p.Mode.Perm())
	case !p.Ours:
		return path + " is not slurmflex's"
	case p.Bare:
		return path + " is called without a verb"
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, other := range hooks() {
		if other.Verb == name && other != h {
			return fmt.Sprintf("%s is the program for %s", path, other.Key)
		}
	}
	return ""
}

// user checks the user of this check, because files and credentials must be those of SlurmUser.
func (j *judge) user() {
	name, uid, ok := j.world.Conf.Is.User("SlurmUser")
	if ok && uid != j.world.User {
		j.conf(Advice, "SlurmUser", "slurmflex runs as %s, but this check runs as %s, which may have different files and credentials; run it with sudo -u %[1]s",
			name, userName(j.world.User))
	}
}

// userName returns the name of a user, or the uid if the name is unknown.
func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", uid)
}
