//go:build e2e

package e2e

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/slurmconf"
	"slurmflex/test/lab"
)

// replaced returns a function that replaces a part of a text. The part must exist.
func replaced(t *testing.T, old, text string) func(string) string {
	return func(all string) string {
		t.Helper()
		require.Contains(t, all, old)
		return strings.ReplaceAll(all, old, text)
	}
}

// rightCluster starts a lab with the timeouts that slurmflex writes, and with a DefaultTime and a window of
// backfill, which a site must choose itself.
func rightCluster(t *testing.T) *lab.Lab {
	t.Helper()
	l := cluster(t, lab.Options{Daemon: true, SuspendTimeout: 300, Margin: 600})
	conf := replaced(t, "Default=YES", "Default=YES DefaultTime=01:00:00")(readFile(l.Conf()))
	conf = replaced(t, "salloc_wait_nodes", "salloc_wait_nodes,bf_window=11520,bf_resolution=600")(conf)
	require.NoError(t, os.WriteFile(l.Conf(), []byte(conf), 0o644))
	reconfigure(t, l)
	return l
}

// reconfigure makes slurmctld read slurm.conf again.
func reconfigure(t *testing.T, l *lab.Lab) {
	t.Helper()
	run(t, l, "scontrol", "reconfigure")
	awaitSlurmctld(t, l)
}

func awaitSlurmctld(t *testing.T, l *lab.Lab) {
	t.Helper()
	await(t, time.Minute, "slurmctld to answer", func() bool {
		out, err := l.Slurm(context.Background(), "scontrol", "ping")
		return err == nil && strings.Contains(out, "is UP")
	})
}

func TestSlurmConfFromSlurmflexIsValidAndRunsAJob(t *testing.T) {
	l := rightCluster(t)
	out, err := l.Flex(context.Background(), "config", "check", "--live")
	require.NoError(t, err)
	assert.Regexp(t, `^(?:.*CVE-2026-.*\n)?\S+: nodeset.cpu: ignored .*
\S+: nodeset.g2: advice: is in partition open, .*
(?:.*CVE-2026-.*\n)?\S+: OK: cluster alpha: 2 of 3 nodesets use flex-start; Slurm and Compute match\n$`, out)
	awaitDone(t, l, submit(t, l, "-p", "train", "-N2", "--gpus-per-node=8", "--time=15"))
}

func TestConfigCheckFindsMistakesInARealSlurm(t *testing.T) {
	l := rightCluster(t)
	right := readFile(l.Conf())
	exclusive := slurmconf.Exclusive(l.Version).String()
	mistakes := []struct{ old, text, finds string }{
		{"\nResumeRate=0\n", "\nResumeRate=300\n", `slurm.conf:\d+: ResumeRate: 300 nodes/min splits .*; set ResumeRate=0`},
		{"\nSuspendRate=0\n", "\n", `slurm.conf: SuspendRate: 60 nodes/min powers .*; set SuspendRate=0`},
		{"\nResumeTimeout=65533\n", "\nResumeTimeout=120\n", `slurm.conf:\d+: ResumeTimeout: 120 s is shorter than a boot.*; set ResumeTimeout=65533`},
		{"\nSuspendTimeout=300\n", "\nSuspendTimeout=5\n", `slurm.conf:\d+: SuspendTimeout: advice: 5 s is shorter than it takes to delete a machine.*; set SuspendTimeout=300`},
		{"\nSuspendTime=300\n", "\n", `slurm.conf: SuspendTime: INFINITE turns power saving off.*; set SuspendTime=300`},
		{"\nReturnToService=2\n", "\nReturnToService=0\n", `slurm.conf:\d+: ReturnToService: 0 leaves .*; set ReturnToService=2`},
		{"=idle_on_node_suspend,", "=", `slurm.conf:\d+: SlurmctldParameters: lacks idle_on_node_suspend.*; set SlurmctldParameters=cloud_dns,power_save_interval=1,idle_on_node_suspend`},
		{"/bin/resume\n", "/bin/none/resume\n", `slurm.conf:\d+: ResumeProgram: \S+/bin/none/resume is not slurmflex's; set ResumeProgram=\S+/bin/resume`},
		{"\nSuspendProgram=", "\nSuspendProgram=/gone", `slurm.conf:\d+: SuspendProgram: Slurm cannot call /gone\S+: .* no such file or directory; set SuspendProgram=\S+/bin/suspend`},
		{"/bin/resume-fail\n", "/bin/suspend\n", `slurm.conf:\d+: ResumeFailProgram: \S+ is the program for SuspendProgram; set ResumeFailProgram=\S+/bin/resume-fail`},
		{"Nodes=alpha-a3-[0-7] State=UP " + exclusive, "Nodes=alpha-a3-[0-7] State=UP", `slurm.conf:\d+: PartitionName=train: shares its nodes .*; add ` + exclusive},
		{"Nodes=alpha-a3-[0-7] State=UP", "Nodes=alpha-a3-[0-6] State=UP", `slurm.conf:\d+: PartitionName=train: lacks alpha-a3-7 of partition_nodeset`},
		{"MaxTime=6-23:50:00", "MaxTime=INFINITE", `slurm.conf:\d+: PartitionName=train: advice: lets jobs run longer \(MaxTime=UNLIMITED\) .*; set MaxTime=6-23:50:00`},
		{" DefaultTime=01:00:00", "", `slurm.conf:\d+: PartitionName=train: advice: has no DefaultTime, so slurmflex requests machines for MaxTime=6-23:50:00 for a job without --time; add DefaultTime to its line`},
		{"PartitionName=fixed ", "PartitionName=mixed ", `config.yaml:\d+: partitions.fixed: Slurm has no such partition; add PartitionName=fixed Nodes=alpha-g2-\[0-3\]`},
	}
	if !slurmconf.PowersDownOnIdle(l.Version) {
		mistakes = append(mistakes, struct{ old, text, finds string }{"\nPrivateData=cloud\n", "\n", `slurm.conf: PrivateData: lacks cloud.*; set PrivateData=cloud`})
	} else {
		mistakes = append(mistakes, struct{ old, text, finds string }{"PowerDownOnIdle=YES MaxTime=6-23:50:00", "MaxTime=6-23:50:00", `slurm.conf:\d+: PartitionName=train: keeps its nodes .*; add PowerDownOnIdle=YES`})
	}
	if l.Version.AtLeast(23, 11) { // on 22.05, a reconfigure keeps the nodes' Gres
		mistakes = append(mistakes, struct{ old, text, finds string }{"Gres=gpu:h100:8", "Gres=gpu:8", `slurm.conf:\d+: NodeName=alpha-a3-\[0-7\]: advice: Gres=gpu:8 names no type, so Slurm refuses jobs that request gpu:h100; set Gres=gpu:h100:8, and Type=h100 in gres.conf`})
	}
	if l.Version.AtLeast(26, 5) { // A8: there the old key has no effect
		mistakes = append(mistakes, struct{ old, text, finds string }{
			"PartitionName=train Nodes=alpha-a3-[0-7] State=UP Exclusive=NODE", "PartitionName=DEFAULT Exclusive=NO\nPartitionName=train Nodes=alpha-a3-[0-7] State=UP OverSubscribe=EXCLUSIVE",
			`slurm.conf:\d+: PartitionName=train: shares its nodes .*; add Exclusive=NODE`,
		})
	}
	for _, m := range mistakes {
		require.NoError(t, os.WriteFile(l.Conf(), []byte(replaced(t, m.old, m.text)(right)), 0o644))
		reconfigure(t, l)
		out, err := l.Flex(context.Background(), "config", "check", "--live")
		if err != nil {
			out += err.Error()
		}
		found := regexp.MustCompile(`(?m)(?:^|: )(\S+: (?:\S+: )+.*; (?:write|add|set|give) .*|.* lacks .*)$`).FindAllString(out, -1)
		assert.Len(t, found, 1, "%q: %s", m.text, out)
		assert.Regexp(t, m.finds, out, "instead of %q", m.old)
	}
}
