package setup

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

func TestCheckAcceptsACorrectSlurmAndCompute(t *testing.T) {
	for _, version := range []string{"22.05.8", "23.02.8", "23.11.11", "24.11.5", "25.05.8", "26.05.3"} {
		t.Run(version, func(t *testing.T) {
			w := liveSite(t, version)
			advice := ""
			if version == "25.05.8" {
				advice = "slurm.conf: SLURM_VERSION: advice: Slurm 25.05.8 has the vulnerabilities of September 2026 (CVE-2026-65107 to 65168); upgrade it to 25.05.9 or later\n"
			}
			report := w.report()
			require.NoError(t, report.Err())
			assert.Equal(t, advice+"config.yaml: OK: cluster alpha: slurmflex provisions 1 of 1 nodeset; Slurm and Compute match\n", w.within(report.String()))
		})
	}
}

// mistake is one faulty setting. Its fault is the only error, or its advice is the only text before
// the last line.
type mistake struct {
	version string // of Slurm; default: 24.11.5
	plant   func(*site)
	fault   string
	advice  string
}

func (m mistake) check(t *testing.T) {
	t.Helper()
	w := liveSite(t, cmp.Or(m.version, "24.11.5"))
	m.plant(w)
	report := w.report()
	assert.Equal(t, m.fault == "", report.Valid)
	fault, advice := "", ""
	if err := report.Err(); err != nil {
		fault = w.within(err.Error())
	}
	assert.Equal(t, m.fault, fault)
	for line := range strings.Lines(w.within(report.String())) {
		if !strings.HasPrefix(line, "config.yaml: OK: ") {
			advice += line
		}
	}
	assert.Equal(t, m.advice, strings.TrimSuffix(advice, "\n"))
}

func TestCheckFindsMistakesInSlurmsSettings(t *testing.T) {
	set := func(key, old, value string) func(*site) {
		return func(w *site) { w.set(key, old, value) }
	}
	checked := func(program, states string) func(*site) {
		return func(w *site) {
			w.configure("use_job_duration: true", "use_job_duration: true, health_check: 120")
			w.set("HealthCheckProgram", "(null)", program)
			w.set("HealthCheckNodeState", "ANY", states)
		}
	}
	limited := func(account, enforced string) func(*site) {
		return func(w *site) {
			w.configure("interval: 1h", "interval: 1h\n  limits: {bio: {account: "+account+", gpu_hours: 1}}")
			w.change("config.txt", "AccountingStorageEnforce = none", "AccountingStorageEnforce = "+enforced)
		}
	}
	for name, m := range map[string]mistake{
		"no ResumeProgram": {
			plant: set("ResumeProgram", "DIR/bin/resume", "(null)"),
			fault: "slurm.conf: ResumeProgram: is not set; set ResumeProgram=bin/resume",
		},
		"the ResumeProgram of slurm-gcp": {
			plant: func(w *site) {
				w.write("bin/resume.py", "#!/usr/bin/env python3\n")
				w.set("ResumeProgram", "DIR/bin/resume", "DIR/bin/resume.py")
			},
			fault: "slurm.conf: ResumeProgram: bin/resume.py is not slurmflex's; set ResumeProgram=bin/resume",
		},
		"a relative ResumeProgram": {
			plant: set("ResumeProgram", "DIR/bin/resume", "resume"),
			fault: `slurm.conf: ResumeProgram: "resume" is not an absolute path; set ResumeProgram=bin/resume`,
		},
		"a SuspendProgram that is not executable": {
			plant: func(w *site) { require.NoError(w.t, os.Chmod(w.path("bin/suspend"), 0o644)) },
			fault: "slurm.conf: SuspendProgram: Slurm cannot call bin/suspend: it is not executable; set SuspendProgram=bin/suspend",
		},
		"a SuspendProgram that any user may change": {
			plant: func(w *site) { require.NoError(w.t, os.Chmod(w.path("bin/suspend"), 0o777)) },
			fault: "slurm.conf: SuspendProgram: Slurm does not call bin/suspend, because other users can write to it (mode 0777); set SuspendProgram=bin/suspend",
		},
		"slurmflex itself as program": {
			plant: func(w *site) {
				w.write("bin/slurmflex", "\x7fELF slurmflex")
				require.NoError(w.t, os.Chmod(w.path("bin/slurmflex"), 0o755))
				w.set("SuspendProgram", "DIR/bin/suspend", "DIR/bin/slurmflex")
			},
			fault: "slurm.conf: SuspendProgram: bin/slurmflex is called without a verb; set SuspendProgram=bin/suspend",
		},
		"a ResumeRate": {
			plant: set("ResumeRate", "0 nodes/min", "300 nodes/min"),
			fault: "slurm.conf: ResumeRate: 300 nodes/min splits a job's nodes across several calls; set ResumeRate=0",
		},
		"22.05 without PrivateData=cloud, which hides nodes": {
			version: "22.05.8",
			plant: func(w *site) {
				w.set("PrivateData", "cloud", "jobs")
				w.write("nodes", "No nodes in the system\n")
			},
			fault: "slurm.conf: PrivateData: lacks cloud; without it Slurm before 23.02 hides powered-down nodes; set PrivateData=jobs,cloud",
		},
		"health_check without a program": {
			plant: checked("(null)", "ANY"),
			fault: "slurm.conf: HealthCheckProgram: is not set, so machines of nodeset a3 (health_check) are not checked; set it to a program that drains unhealthy nodes",
		},
		"health_check whose program does not run": {
			plant: checked("/usr/local/sbin/health-check", "ANY"),
			fault: "slurm.conf: HealthCheckInterval: 0 turns HealthCheckProgram off; set HealthCheckInterval=300",
		},
		"no mistake: a health check at the start of slurmd": {plant: checked("/usr/local/sbin/health-check", "START_ONLY")},
		"a limit of an account that Slurm does not know": {
			plant: limited("research", "associations"),
			fault: "config.yaml:17: slurmflex.limits.bio.account: Slurm has no account research; correct the name or add it with sacctmgr",
		},
		"no mistake: a limit of a known account": {plant: limited("root", "associations")},
		"a limit of an account that jobs need not name": {
			plant:  limited("root", "none"),
			advice: "config.yaml:17: slurmflex.limits.bio.account: advice: a job's owner may choose any account; set AccountingStorageEnforce=associations in slurm.conf",
		},
		"another user than SlurmUser": {
			plant: func(w *site) {
				w.set("SlurmUser", "us("+strconv.Itoa(os.Geteuid())+")", "slurm(64030)")
			},
			advice: "slurm.conf: SlurmUser: advice: slurmflex runs as slurm, but this check runs as " + userName(os.Geteuid()) +
				", which may have different files and credentials; run it with sudo -u slurm",
		},
	} {
		t.Run(name, m.check)
	}
}

func TestCheckFindsMistakesInPartitionsAndNodes(t *testing.T) {
	partition := func(old, text string) func(*site) {
		return func(w *site) { w.change("partitions.txt", old, text) }
	}
	keepIdle := func(seconds, old, text string) func(*site) {
		return func(w *site) {
			w.configure("use_job_duration: true, job_duration_margin: 600", "keep_idle: "+seconds)
			if old != "" {
				w.change("partitions.txt", old, text)
			}
		}
	}
	for name, m := range map[string]mistake{
		"A8: a partition of 26.05, where OverSubscribe=EXCLUSIVE does nothing": { // PartitionName=DEFAULT has Exclusive=NO
			version: "26.05.3",
			plant:   partition("Exclusive=NODE", "Exclusive=NO"),
			fault:   "slurm.conf: PartitionName=train: shares its nodes between jobs, but enable_job_exclusive is set; add Exclusive=NODE",
		},
		"a partition that does not": {
			plant: func(w *site) { w.configure("enable_job_exclusive: true, ", "") },
			fault: "config.yaml:6: partitions.train.enable_job_exclusive: Slurm allocates the nodes of train to one job at a time; set this to true",
		},
		"nodes that keep_idle keeps and Slurm does not": {
			plant: keepIdle("1200", "SuspendTime=GLOBAL", "SuspendTime=1800"),
			fault: "slurm.conf: PartitionName=train: powers nodes down as soon as their job ends, but keep_idle or salvage is set; remove PowerDownOnIdle=YES",
		},
		"nodes that Slurm keeps for less than keep_idle": {
			plant: keepIdle("1200", "PowerDownOnIdle=YES", "PowerDownOnIdle=NO"),
			fault: "slurm.conf: PartitionName=train: powers down nodes that have been idle for 300 s, sooner than keep_idle or salvage_timeout; set SuspendTime=1200",
		},
		"backfill that plans less far ahead than jobs last": {
			plant: func(w *site) {
				w.set("SchedulerParameters", "bf_interval=5,bf_window=11520", "bf_interval=120")
			},
			advice: "slurm.conf: SchedulerParameters: advice: bf_interval=120: machines for a waiting job are requested once backfill has planned it, up to 00:02:00 after its submission; set bf_interval=30\n" +
				"slurm.conf: PartitionName=train: advice: MaxTime is longer than backfill plans ahead (bf_window, less an hour), so jobs of more than 23:00:00 start on no idle machine; set SchedulerParameters=bf_window=11520,bf_resolution=600",
		},
		"no plan for unimportant jobs": {
			plant: func(w *site) {
				w.set("SchedulerParameters", "bf_interval=5,bf_window=11520", "bf_window=11520,bf_min_prio_reserve=1000")
			},
			advice: "slurm.conf: SchedulerParameters: advice: bf_window=11520,bf_min_prio_reserve=1000: jobs wait CONFIGURING and not PENDING, because Slurm plans no jobs of a priority below 1000 (bf_min_prio_reserve); change it, or set waiting: configuring",
		},
		"no plan for long enough": {
			plant: func(w *site) {
				w.set("SchedulerParameters", "bf_interval=5,bf_window=11520", "bf_window=60")
			},
			advice: "slurm.conf: SchedulerParameters: advice: bf_window=60: jobs wait CONFIGURING and not PENDING, because Slurm plans no jobs for more than an hour ahead (bf_window), as it must while they wait PENDING; change it, or set waiting: configuring",
		},
		"late plans, for few jobs": {
			plant: func(w *site) {
				w.set("SchedulerParameters", "bf_interval=5,bf_window=11520", "bf_window=11520,bf_min_age_reserve=600,bf_job_part_count_reserve=4")
			},
			advice: "slurm.conf: SchedulerParameters: advice: bf_min_age_reserve=600: backfill plans a job, and machines are requested for it, only when it has waited for so many seconds; remove it\n" +
				"slurm.conf: SchedulerParameters: advice: bf_job_part_count_reserve=4: backfill plans so many jobs of a partition, and machines are requested for no others; remove it",
		},
		"no backfill": {
			plant:  func(w *site) { w.set("SchedulerType", "sched/backfill", "sched/builtin") },
			advice: "slurm.conf: SchedulerType: advice: sched/builtin: jobs wait CONFIGURING and not PENDING, because only sched/backfill plans jobs (SchedulerType); change it, or set waiting: configuring",
		},
		"nodes that stay up while slurmflex is down": {
			plant: keepIdle("1200", "SuspendTime=GLOBAL PowerDownOnIdle=YES", "SuspendTime=INFINITE PowerDownOnIdle=NO"),
			fault: "slurm.conf: PartitionName=train: never powers idle nodes down, so nothing ends keep_idle or salvage while slurmflex is down; set SuspendTime=1200",
		},
		"a partition with a short ResumeTimeout of its own": {
			plant: partition("ResumeTimeout=GLOBAL", "ResumeTimeout=60"),
			fault: "slurm.conf: PartitionName=train: its ResumeTimeout: 60 s is shorter than a boot, which may take 00:30:00; set ResumeTimeout=65533",
		},
		"nodes that Slurm does not have": {
			plant: func(w *site) {
				w.write("nodes", strings.Join(strings.SplitAfter(must.Text(w.path("nodes")), "\n")[:6], ""))
			},
			fault: "config.yaml:8: nodeset.a3: Slurm does not know alpha-a3-[6-7]; add NodeName=alpha-a3-[6-7] … State=CLOUD to slurm.conf (see slurmflex config slurm-conf)",
		},
		"nodes that the nodeset does not have": {
			plant: func(w *site) {
				w.configure("node_count_dynamic_max: 8", "node_count_dynamic_max: 6")
			},
			fault: "config.yaml:7: nodeset: Slurm also has alpha-a3-[6-7], but slurmflex never requests machines for them; correct the nodesets or slurm_cluster_name, or remove them from slurm.conf",
		},
		"nodes that are not in the cloud": {
			plant: func(w *site) { w.nodes("IDLE") },
			fault: "slurm.conf: NodeName=alpha-a3-[0-7]: Slurm does not power these nodes up and down; add State=CLOUD to their line",
		},
	} {
		t.Run(name, m.check)
	}
}
