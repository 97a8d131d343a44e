//go:build e2e

package e2e

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// replaced replaces a part of a text. The part must exist.
func replaced(t *testing.T, all, old, text string) string {
	t.Helper()
	require.Contains(t, all, old)
	return strings.ReplaceAll(all, old, text)
}

// rightCluster starts a lab with the timeouts that slurmflex writes, and with a DefaultTime and a window of
// backfill, which a site must choose itself.
func rightCluster(t *testing.T) *lab.Lab {
	t.Helper()
	l := cluster(t, lab.Options{Daemon: true, SuspendTimeout: 300, Margin: 600})
	conf := replaced(t, readFile(l.Conf()), "Default=YES", "Default=YES DefaultTime=01:00:00")
	conf = replaced(t, conf, "salloc_wait_nodes", "salloc_wait_nodes,bf_window=11520,bf_resolution=600")
	reconfigure(t, l, conf)
	return l
}

// reconfigure writes slurm.conf and makes slurmctld read it.
func reconfigure(t *testing.T, l *lab.Lab, conf string) {
	t.Helper()
	require.NoError(t, os.WriteFile(l.Conf(), []byte(conf), 0o644))
	run(t, l, "scontrol", "reconfigure")
	require.NoError(t, l.AwaitSlurmctld(t.Context()))
}

func TestSlurmConfFromSlurmflexIsValidAndRunsAJob(t *testing.T) {
	l := rightCluster(t)
	out := slurmflex(t, l, "config", "check", "--live")
	assert.Regexp(t, `^(?:.*CVE-2026-.*\n)?\S+: nodeset.cpu: ignored .*
\S+: nodeset.g2: advice: is in partition open, .*
(?:.*CVE-2026-.*\n)?\S+: OK: cluster alpha: slurmflex provisions 2 of 3 nodesets; Slurm and Compute match\n$`, out)
	awaitDone(t, l, submit(t, l, "-p", "train", "-N2", "--gpus-per-node=8", "--time=15"))
}

func TestConfigCheckFindsMistakesInARealSlurm(t *testing.T) {
	l := rightCluster(t)
	right := readFile(l.Conf())
	exclusive := "OverSubscribe=EXCLUSIVE"
	if l.Version.AtLeast(26, 5) {
		exclusive = "Exclusive=NODE"
	}
	type mistake struct{ old, text, finds string }
	mistakes := []mistake{
		{"\nResumeRate=0\n", "\nResumeRate=300\n", `slurm.conf: ResumeRate: 300 nodes/min splits .*; set ResumeRate=0`},
		{"\nSuspendTime=300\n", "\n", `slurm.conf: SuspendTime: INFINITE turns power saving off.*; set SuspendTime=300`},
		{"=idle_on_node_suspend,", "=", `slurm.conf: SlurmctldParameters: lacks idle_on_node_suspend.*; set SlurmctldParameters=cloud_dns,power_save_interval=1,idle_on_node_suspend`},
		{"\nSuspendProgram=", "\nSuspendProgram=/gone", `slurm.conf: SuspendProgram: Slurm cannot call /gone\S+: .* no such file or directory; set SuspendProgram=\S+/bin/suspend`},
		{"Nodes=alpha-a3-[0-7] State=UP " + exclusive, "Nodes=alpha-a3-[0-7] State=UP", `slurm.conf: PartitionName=train: shares its nodes .*; add ` + exclusive},
		{"Nodes=alpha-a3-[0-7] State=UP", "Nodes=alpha-a3-[0-6] State=UP", `slurm.conf: PartitionName=train: lacks alpha-a3-7 of partition_nodeset`},
		{"MaxTime=6-23:50:00", "MaxTime=INFINITE", `slurm.conf: PartitionName=train: advice: lets jobs run longer \(MaxTime=UNLIMITED\) .*; set MaxTime=6-23:50:00`},
		{" DefaultTime=01:00:00", "", `slurm.conf: PartitionName=train: advice: has no DefaultTime, so slurmflex requests machines for MaxTime=6-23:50:00 for a job without --time; add DefaultTime to its line`},
		{"PartitionName=fixed ", "PartitionName=mixed ", `config.yaml:\d+: partitions.fixed: Slurm has no such partition; add PartitionName=fixed Nodes=alpha-g2-\[0-3\]`},
	}
	if !l.Version.AtLeast(23, 2) {
		mistakes = append(mistakes, mistake{"\nPrivateData=cloud\n", "\n", `slurm.conf: PrivateData: lacks cloud.*; set PrivateData=cloud`})
	} else {
		mistakes = append(mistakes, mistake{"PowerDownOnIdle=YES MaxTime=6-23:50:00", "MaxTime=6-23:50:00", `slurm.conf: PartitionName=train: keeps its nodes .*; add PowerDownOnIdle=YES`})
	}
	if l.Version.AtLeast(23, 11) { // on 22.05, a reconfigure keeps the nodes' Gres
		mistakes = append(mistakes, mistake{"Gres=gpu:h100:8", "Gres=gpu:8", `slurm.conf: NodeName=alpha-a3-\[0-7\]: advice: Gres="gpu:8" is not what config slurm-conf writes for a3-megagpu-8g; set Gres=gpu:h100:8, and Type=h100 in gres.conf`})
	}
	if l.Version.AtLeast(26, 5) { // A8: there the old key has no effect
		mistakes = append(mistakes, mistake{
			"PartitionName=train Nodes=alpha-a3-[0-7] State=UP Exclusive=NODE", "PartitionName=DEFAULT Exclusive=NO\nPartitionName=train Nodes=alpha-a3-[0-7] State=UP OverSubscribe=EXCLUSIVE",
			`slurm.conf: PartitionName=train: shares its nodes .*; add Exclusive=NODE`,
		})
	}
	for _, m := range mistakes {
		reconfigure(t, l, replaced(t, right, m.old, m.text))
		out, err := l.Flex(context.Background(), "config", "check", "--live")
		if err != nil {
			out += err.Error()
		}
		found := regexp.MustCompile(`(?m)(?:^|: )(\S+: (?:\S+: )+.*; (?:write|add|set|give) .*|.* lacks .*)$`).FindAllString(out, -1)
		assert.Len(t, found, 1, "%q: %s", m.text, out)
		assert.Regexp(t, m.finds, out, "instead of %q", m.old)
	}
}
