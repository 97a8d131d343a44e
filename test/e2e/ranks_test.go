//go:build e2e

package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestRanksFollowTheBlocksOfAJobsNodes(t *testing.T) {
	onOldest(t)
	l := cluster(t, lab.Options{Daemon: true})
	hosts, notes, ranks, again, why := l.Log("hosts"), l.Log("notes"), l.Log("ranks"), l.Log("again"), l.Log("why")
	flex := filepath.Join(l.Dir, "bin/slurmflex") + " --config " + l.Config()
	id := submitScript(t, l, `until `+flex+` ranks --tasks-per-node=2 $SLURM_JOB_ID >`+hosts+` 2>`+notes+` && test ! -s `+notes+`; do sleep 1; done
`+flex+` why --nodes $SLURM_JOB_ID >`+why+`
export SLURM_HOSTFILE=`+hosts+`
srun --distribution=arbitrary sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort -n >`+ranks+`
SLURM_DISTRIBUTION=arbitrary srun sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort -n >`+again,
		"-p", "train", "-N4", "--ntasks-per-node=2", "--time=15")
	awaitDone(t, l, id)

	var nodes, want []string
	for _, row := range regexp.MustCompile(`(?m)^  (alpha-a3-\d) +us-central1-a-cluster-1 +(\w+) +(\w+) +(\w+)$`).FindAllStringSubmatch(readFile(why), -1) {
		nodes = append(nodes, row[1], row[1])
		want = append(want, strings.Join(row[2:], " "))
	}
	require.Len(t, nodes, 8, readFile(why))
	assert.IsNonDecreasing(t, want, "neighbours follow each other")
	assert.Equal(t, nodes, strings.Fields(readFile(hosts)))
	var lines []string
	for i, node := range nodes {
		lines = append(lines, string(rune('0'+i))+" "+node)
	}
	for _, file := range []string{ranks, again} {
		assert.Equal(t, lines, strings.Split(strings.TrimSpace(readFile(file)), "\n"), file)
	}
}
