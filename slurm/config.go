package slurm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Config is slurmctld's configuration: values by key, as scontrol show config prints them.
type Config map[string]string

// ParseConfig parses the output of scontrol show config. Output without the heading or without
// SLURM_VERSION is an error. For a duplicate key, the first value counts, because the values of
// slurm.conf are printed first.
func ParseConfig(out []byte) (Config, error) {
	text := string(out)
	if !strings.HasPrefix(text, "Configuration data as of ") {
		return nil, fmt.Errorf("scontrol show config: %s: not a configuration", quote(text))
	}
	config := make(Config)
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if _, known := config[key]; !found || known {
			continue
		}
		config[key] = notNull(strings.TrimSpace(value))
	}
	if config["SLURM_VERSION"] == "" {
		return nil, errors.New("scontrol show config: no SLURM_VERSION")
	}
	return config, nil
}

// Seconds parses a value such as "60 sec" or INFINITE.
func (c Config) Seconds(key string) Limit { return ParseSeconds(c[key]) }

// Booted returns the time at which slurmctld started; zero if the configuration lacks it. Source:
// BOOT_TIME under TZ=UTC.
func (c Config) Booted() time.Time {
	at, err := parseTime(c["BOOT_TIME"])
	if err != nil {
		return time.Time{}
	}
	return at
}

// Unplanned returns the parameter that keeps slurmflex from requesting what Slurm has planned, and why;
// empty if none does.
func (c Config) Unplanned() (parameter, why string) {
	least := c.parameter("bf_min_prio_reserve", 0)
	switch {
	case c["PreemptType"] != "" && c["PreemptType"] != "preempt/none":
		return "PreemptType", "Slurm preempts jobs (PreemptType), and jobs that wait PENDING would preempt others"
	case c["SchedulerType"] != "sched/backfill":
		return "SchedulerType", "only sched/backfill plans jobs (SchedulerType)"
	case c.BackfillWindow() <= time.Hour:
		return "SchedulerParameters", "Slurm plans no jobs for more than an hour ahead (bf_window), as it must while they wait PENDING"
	case least > 0:
		return "SchedulerParameters", fmt.Sprintf("Slurm plans no jobs of a priority below %d (bf_min_prio_reserve)", least)
	}
	return "", ""
}

// userForm matches a user name followed by the uid in parentheses.
var userForm = regexp.MustCompile(`^(.+)\((\d+)\)$`)

// User parses a value such as "slurm(64030)". ok is false for any other text.
func (c Config) User(key string) (name string, uid int, ok bool) {
	fields := userForm.FindStringSubmatch(c[key])
	if fields == nil {
		return "", 0, false
	}
	uid, err := strconv.Atoi(fields[2])
	return fields[1], uid, err == nil
}

// List parses a value such as "idle_on_node_suspend,cloud_dns".
func (c Config) List(key string) []string { return splitList(c[key]) }

// BackfillWindow returns how far ahead backfill plans jobs (bf_window, in minutes; a day by
// default). It returns 0 if slurmctld runs no backfill.
func (c Config) BackfillWindow() time.Duration {
	if c["SchedulerType"] != "sched/backfill" {
		return 0
	}
	return time.Duration(c.parameter("bf_window", 24*60)) * time.Minute
}

// BackfillInterval returns how often backfill plans jobs (bf_interval, in seconds; 30 by default).
func (c Config) BackfillInterval() time.Duration {
	return time.Duration(c.parameter("bf_interval", 30)) * time.Second
}

// parameter returns a positive number in SchedulerParameters, or the default.
func (c Config) parameter(name string, otherwise int) int {
	for _, item := range c.List("SchedulerParameters") {
		if text, found := strings.CutPrefix(item, name+"="); found {
			if number, err := strconv.Atoi(text); err == nil && number > 0 {
				return number
			}
		}
	}
	return otherwise
}
