package slurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const configHead = "Configuration data as of 2026-11-21T03:49:12\nSLURM_VERSION           = 24.11.5\n"

func TestParseConfig(t *testing.T) {
	config, err := ParseConfig([]byte(configHead +
		"SlurmctldParameters = a=b,c\nTopologyParam = (null)\n\nCgroup Support Configuration:\nTopologyParam = x\n\nSlurmctld(primary) at ctl is UP\n"))
	require.NoError(t, err)
	require.Equal(t, Config{"SLURM_VERSION": "24.11.5", "SlurmctldParameters": "a=b,c", "TopologyParam": ""}, config)
	require.Equal(t, []string{"a=b", "c"}, config.List("SlurmctldParameters"))
	require.Empty(t, config.List("TopologyParam"))
	require.Empty(t, config.List("NoSuchKey"))
}

func TestParseConfigRefuses(t *testing.T) {
	eachRefused(t, ParseConfig, map[string]string{
		"":                             `scontrol show config: "": not a configuration`,
		"slurm_load_ctl_conf error: x": `scontrol show config: "slurm_load_ctl_conf error: x": not a configuration`,
		"Configuration data as of 2026-11-21T03:49:12\nSlurmUser = root(0)\n": "scontrol show config: no SLURM_VERSION",
	})
}

func TestUserHasANameAndAUID(t *testing.T) {
	for value, ok := range map[string]bool{"slurm(64030)": true, "slurm": false, "(64030)": false, "slurm(64030) x": false, "slurm(99999999999999999999)": false} {
		name, uid, read := Config{"SlurmUser": value}.User("SlurmUser")
		require.Equal(t, ok, read, value)
		if ok {
			require.Equal(t, "slurm", name)
			require.Equal(t, 64030, uid)
		}
	}
}

func TestParseVersion(t *testing.T) {
	eachRead(t, ParseVersion, map[string]Version{
		"slurm-wlm 24.11.5":   {24, 11, 5},
		"25.05.0-0rc1":        {25, 5, 0},
		"slurm 23.11":         {23, 11, 0},
		"slurm 24.05.8-1.el9": {24, 5, 8},
	})
	for _, text := range []string{"slurm 22", "bash 5.2.15", "slurm 22.05.8 or so"} {
		_, err := ParseVersion(text)
		require.ErrorContains(t, err, "not like slurm 22.05.8", text)
	}
}

func TestBackfillPlansAheadAsFarAsConfigured(t *testing.T) {
	for parameters, want := range map[string][2]time.Duration{
		"(null)":                        {24 * time.Hour, 30 * time.Second},
		"bf_window=11520,bf_interval=5": {8 * 24 * time.Hour, 5 * time.Second},
		"nohold_on_prolog_fail,bf_interval=120,bf_window=x": {24 * time.Hour, 2 * time.Minute},
	} {
		conf := Config{"SchedulerType": "sched/backfill", "SchedulerParameters": notNull(parameters)}
		require.Equal(t, want, [2]time.Duration{conf.BackfillWindow(), conf.BackfillInterval()}, parameters)
	}
	require.Zero(t, Config{"SchedulerType": "sched/builtin"}.BackfillWindow())
}
