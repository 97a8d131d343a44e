package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nodeLine returns a record like that of a node that is up. os is the text that its slurmd reports;
// texts is the end of the line.
func nodeLine(name, os, state, texts string) string {
	return "NodeName=" + name + " Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.00 " +
		"AvailableFeatures=h100,rack1 ActiveFeatures=h100 Gres=gpu:h100:8(S:0-1) NodeAddr=10.0.0.2 NodeHostName=" + name +
		" Version=24.11.5 OS=" + os + "  RealMemory=1 AllocMem=0 FreeMem=N/A Sockets=2 Boards=1 State=" + state +
		" ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=flex,all  " +
		"BootTime=2026-11-21T03:00:00 SlurmdStartTime=2026-11-21T03:01:00 LastBusyTime=2026-11-21T03:02:00 " +
		"ResumeAfterTime=None CfgTRES=cpu=2,mem=1M,billing=2 AllocTRES= CurrentWatts=0 AveWatts=0" + texts + "\n"
}

const plainOS = "Linux 6.1.0 #1 SMP Debian"

func TestParseNodesReadsANodeThatIsUp(t *testing.T) {
	require.Empty(t, parsed(t, ParseNodes, "No nodes in the system\n"))
	nodes := parsed(t, ParseNodes, nodeLine("f0", plainOS, "IDLE+CLOUD",
		" Reason=bad gpu [ann@2026-11-21T03:51:18] Comment=since May Extra=x InstanceId=1 InstanceType=a3 ReservationName=eol"))
	require.Equal(t, []Node{{
		Name: "f0", State: State{Base: Idle, Flags: Cloud}, Partitions: []string{"flex", "all"},
		Reason: "bad gpu", ReasonBy: "ann", Comment: "since May", Extra: "x", Gres: "gpu:h100:8(S:0-1)", Addr: "10.0.0.2",
		Features: []string{"h100", "rack1"}, CPUs: 2, Memory: 1,
		BootTime:     time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
		LastBusyTime: time.Date(2026, 11, 21, 3, 2, 0, 0, time.UTC),
	}}, nodes)
}

func TestFreeTextForgesNoOtherFieldOfANode(t *testing.T) {
	const stamp = " [root@2026-11-21T03:51:18]"
	type texts struct{ reason, by, comment string }
	for _, test := range []struct {
		name, line string
		want       texts
	}{
		{"a reason like fields", " Reason=State=DOWN Partitions=x BootTime=None" + stamp, texts{reason: "State=DOWN Partitions=x BootTime=None", by: "root"}},
		{
			"a reason like another and a comment", " Reason=x [a@2026-01-01T00:00:00] Comment=forged" + stamp + " Comment=true",
			texts{reason: "x [a@2026-01-01T00:00:00] Comment=forged", by: "root", comment: "true"},
		},
		{"a reason that quotes an old one", " Reason=was: x [a@2026-01-01T00:00:00] again" + stamp, texts{reason: "was: x [a@2026-01-01T00:00:00] again", by: "root"}},
		{"a comment like fields", " Comment=Reason=x State=DOWN Extra=y", texts{comment: "Reason=x State=DOWN"}},
		{"a reason on two lines", " Reason=multi" + stamp + "        line reason Comment=note", texts{reason: "multi line reason", by: "root", comment: "note"}},
		{"A9: a reason that no user gave, in 26.05", " Reason=POWER_DOWN_ASAP [4294967294@2026-11-22T01:46:44]", texts{reason: "POWER_DOWN_ASAP"}},
		{"A9: a reason that no user gave, before 26.05", " Reason=POWER_DOWN_ASAP [nobody@2026-11-22T01:46:44] Comment=note", texts{reason: "POWER_DOWN_ASAP", comment: "note"}},
		{"a reason without a stamp", " Reason=no one said it", texts{reason: "no one said it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes := parsed(t, ParseNodes, nodeLine("f0", plainOS, "IDLE", test.line))
			require.Equal(t, State{Base: Idle}, nodes[0].State)
			require.Equal(t, []string{"flex", "all"}, nodes[0].Partitions)
			require.Equal(t, test.want, texts{nodes[0].Reason, nodes[0].ReasonBy, nodes[0].Comment})
		})
	}
}

// D1: with MCSPlugin=mcs/label (24.11, 26.05) or mcs/account a job's owner writes MCS_label.
func TestMCSLabelForgesNoField(t *testing.T) {
	label := func(text string) string {
		return strings.Replace(nodeLine("f1", plainOS, "ALLOCATED+CLOUD", " Reason=x [root@2026-11-21T03:51:18]"), "MCS_label=N/A", "MCS_label="+text, 1)
	}
	want := parsed(t, ParseNodes, label("N/A"))[0]
	for _, text := range []string{"secret", "x State=DOWN", "x Reason=y [root@2026-01-01T00:00:00]", "x RealMem=1"} {
		require.Equal(t, []Node{want}, parsed(t, ParseNodes, label(text)), text)
	}
	other := nodeLine("f2", plainOS, "IDLE", "")
	for _, text := range []string{
		"x Partitions=evil", "N/A Partitions=evil BootTime=None", "x BootTime=None", "N/A BootTime=None SlurmdStartTime=None LastBusyTime=None Reason=y",
		"x BootTime=None Reason=y [root@2026-01-01T00:00:00] Comment=z", "x RealMemory=1", "x\nNodeName=f2 RealMemory=1 State=DOWN BootTime=None", "x\ny", "x\n",
	} {
		nodes, err := ParseNodes([]byte(label(text) + other))
		require.ErrorAs(t, err, new(Unread), text)
		for _, n := range nodes {
			if n.State != (State{}) {
				require.Equal(t, parsed(t, ParseNodes, other)[0], n, text)
			}
		}
	}
}

func TestOSTextMayLookLikeAStateButNotLikeMemory(t *testing.T) {
	nodes := parsed(t, ParseNodes, nodeLine("f0", "Linux State=DOWN BootTime=None Reason=x", "IDLE", ""))
	require.Equal(t, State{Base: Idle}, nodes[0].State)
	require.Empty(t, nodes[0].Reason)
	_, err := ParseNodes([]byte(nodeLine("f0", "Linux RealMemory=1 State=DOWN", "IDLE", "")))
	require.EqualError(t, err, "node f0 cannot be read: it has RealMemory= 2 times, not once")
}

func TestParseNodesRefuses(t *testing.T) {
	eachRefused(t, ParseNodes, map[string]string{
		" \n":                        "scontrol show nodes: no output",
		"slurm_load_node error: x\n": `scontrol show nodes: "slurm_load_node error: x": not a node record`,
		nodeLine("f0", plainOS, "IDLE", "") + "NodeName=f1 Arch=x86_64": "scontrol show nodes: the output breaks off in its last line",
	})
}

func TestUnreadableRowAffectsOnlyItsNode(t *testing.T) {
	before, behind := nodeLine("f0", plainOS, "IDLE", ""), nodeLine("f2", plainOS, "ALLOCATED", "")
	for _, test := range []struct {
		name, rows, node, want string
	}{
		{"rubbish", "\x00\xff\n", "", `a node row cannot be read: "\x00\xff": not a node record`},
		{"a node without a name", "NodeName= RealMemory=1\n", "", `a node row cannot be read: "NodeName= RealMemory=1": not a node record`},
		{"a line cut off", "NodeName=f1 Arch=x86_64\n", "f1", "node f1 cannot be read: it has RealMemory= 0 times, not once"},
		{"a line cut off in its middle", "NodeName=f1 RealMemory=1 State=IDLE\n", "f1", "node f1 cannot be read: without BootTime="},
		{
			"a malformed time", strings.Replace(nodeLine("f1", plainOS, "IDLE", ""), "BootTime=2026", "BootTime=26", 1), "f1",
			`node f1 cannot be read: BootTime: time "26-11-21T03:00:00": not like 2006-01-02T15:04:05`,
		},
		{
			"a node listed twice", nodeLine("f1", plainOS, "IDLE", "") + nodeLine("f1", plainOS, "DOWN", ""), "f1",
			"node f1 cannot be read: it is listed 2 times; and 1 more",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := ParseNodes([]byte(before + test.rows + behind))
			require.EqualError(t, err, test.want)
			require.ErrorAs(t, err, new(Unread))
			want := parsed(t, ParseNodes, before+behind)
			if test.node != "" {
				want = append(want, Node{Name: test.node})
			}
			require.Equal(t, want, nodes)
		})
	}
}
