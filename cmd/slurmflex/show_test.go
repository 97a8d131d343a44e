package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

func TestUnusableConfigurationPreventsAllActions(t *testing.T) {
	commands := [][]string{
		{"config", "check"},
		{"sync"},
		{"status"},
		{"daemon"},
		{"resume", "alpha-a3-0"},
	}
	w := newWorld(t)
	w.configure("project: demo\n", "")
	w.configure("enable_job_exclusive: true", "enable_job_exclusive: perhaps")
	w.configure("max", "maxi")
	for _, c := range commands {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			r := w.in(t).flex(c...).exits(exitUsage)
			assert.Empty(t, r.stdout.String())
			lines := strings.Split(strings.TrimSuffix(r.stderr.String(), "\n"), "\n")
			require.Len(t, lines, 3, "a line for each problem: %s", &r.stderr)
			for i, key := range []string{"project: missing", "partitions.train.enable_job_exclusive", "node_count_dynamic_maxi"} {
				assert.True(t, strings.HasPrefix(lines[i], w.path("config.yaml")), lines[i])
				r.reports(key)
			}

			if c[0] == "resume" {
				return // without a configuration, hooks use the daemon in the default run_dir
			}
			gone := prepare(t, nil, os.Args[0], append([]string{"--config", w.path("gone.yaml")}, c...)...).exits(exitUsage)
			gone.complains(w.path("gone.yaml") + ": no such file or directory")
		})
	}
	w.assertUntouched()
	assert.Empty(t, w.calls())
}

func TestPlanPrintsThePassAndDoesNothing(t *testing.T) {
	w := mixed(t)
	r := w.runs("plan")
	r.printed(`create group alpha-a3-job-813 in us-central1
    because job 813 waits for alpha-a3-2
request 1 node (alpha-a3-2) in alpha-a3-job-813/a1 for 01:10:00
    because job 813 waits for alpha-a3-2
delete instances alpha-a3-[0-1] of alpha-a3-job-812
    because Slurm has powered its nodes down
`)
	r.isQuiet()
	w.assertUntouched()
}

func TestFailedPrintIsAnError(t *testing.T) {
	w := newWorld(t)
	full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))
	defer full.Close()
	for _, command := range [][]string{{"plan"}, {"status", "--json"}} {
		r := w.flex(command...)
		r.Stdout = full
		r.exits(exitFailed).complains("no space left on device")
	}
}

func TestHelpListsUserCommands(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}} {
		r := prepare(t, nil, os.Args[0], args...).exits(exitDone)
		r.isQuiet()
		for _, command := range []string{"status", "config", "daemon", "completion"} {
			assert.Regexp(t, `(?m)^  `+command+` +\w`, r.stdout.String())
		}
		assert.NotRegexp(t, `(?m)^  (pass|resume|suspend|resume-fail) |Called by slurmctld:`, r.stdout.String())
	}
}
