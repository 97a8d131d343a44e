//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

func TestJobSubmitLuaRejectsImpossibleJobsAndWarns(t *testing.T) {
	l := cluster(t, lab.Options{NoHooks: true, NodeSets: []lab.NodeSet{
		{Name: "near", Machine: "h4d-standard-192", Size: 24, Keys: []string{"enable_placement: true", "placement_max_distance: 1"}},
	}})
	slurmflex(t, l, "config", "lua", "job_submit", "--output", filepath.Join(filepath.Dir(l.Conf()), "job_submit.lua"))
	reconfigure(t, l, readFile(l.Conf())+"\nJobSubmitPlugins=lua\n")
	for _, c := range []struct {
		args    string
		refused bool
		told    string // empty: no output
	}{
		{"-p train -N8 --gpus-per-node=8 --time=7-0", false, ""},
		{"-N9 --gpus-per-node=8", true, "partition train: the job needs more nodes than there are; use --nodes=8 or fewer"},
		{"-p train --gpus-per-node=8 --time=7-00:01:00", true, "partition train: nodes stay for at most 7-00:00:00; use --time=7-00:00:00 or less"},
		{"-p open --time=61", true, "partition open: nodes stay for at most 01:00:00; use --time=01:00:00 or less"},
		{"-p open --time=61 --time-min=60", false, ""},
		{"-p open --time=UNLIMITED", true, "partition open: nodes stay for at most 01:00:00; use --time=01:00:00 or less"},
		{"-p cpu --time=UNLIMITED --no-requeue", false, ""},
		{"-p near -N23", false, "partition near: at most 22 nodes can be placed close together"},
		{"-p train -N1", false, "partition train: nodes have GPUs, but the job requests none; to use them, add --gpus-per-node=8"},
		{"-p train --gres=gpu:1 --time=60", false, ""},
		{"-p train --gres=gpu:1", false, "partition train: without --time, slurmflex requests machines for the longest time, 7-00:00:00; use --time"},
		{"-p train -n1 --gpus-per-task=8 --time=60", false, ""},
		{"-p open --no-requeue", false, "partition open: with --no-requeue the job ends if it loses a machine"},
		{"-p open,near --time=61", false, "the job can start only in its other partitions; partition open: nodes stay for at most 01:00:00"},
		{"-p open,fixed --time=61 --gpus=1", true, "partition fixed: nodes stay for at most 01:00:00; use --time=01:00:00 or less"},
		{"-p open -N1 : -p open -N5", true, "partition open: the job needs more nodes than there are; use --nodes=4 or fewer"},
		{"-p open --comment=slurmflex:wait=2h,hold", false, ""},
		{"-p open --comment=slurmflex:wiat=2h", false, "partition open: slurmflex ignores slurmflex:wiat=2h in --comment"},
		{`-p open --comment="]]%s --job-name=%d'$(true)`, false, ""},
	} {
		text, err := l.Client(t.Context(), "sbatch", append([]string{"--hold", "--wrap", "true"}, strings.Fields(c.args)...)...).CombinedOutput()
		out := string(text)
		assert.Equal(t, c.refused, err != nil, "%s: %s", c.args, out)
		if c.told == "" {
			assert.NotContains(t, out, "partition", c.args)
		} else {
			assert.Contains(t, out, c.told, c.args)
		}
	}
}
