package slurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParsePartitions(t *testing.T) {
	partitions, err := ParsePartitions([]byte(
		"PartitionName=a AllocNodes=ALL Exclusive=NODE MaxNodes=UNLIMITED MaxTime=7-00:00:00 MinNodes=0 Nodes=f[0-1] " +
			"OverSubscribe=NO State=UP TotalNodes=2 ResumeTimeout=400 PowerDownOnIdle=YES\n" +
			"PartitionName=b MaxTime=UNLIMITED Nodes=(null) OverSubscribe=EXCLUSIVE State=DRAIN ResumeTimeout=INFINITE PowerDownOnIdle=NO\n"))
	require.NoError(t, err)
	require.Equal(t, []Partition{
		{
			Name: "a", Nodes: []string{"f0", "f1"}, MaxTime: Limit{Kind: LimitSet, Duration: 7 * 24 * time.Hour}, Up: true, Exclusive: true,
			PowerDownOnIdle: true, ResumeTimeout: Limit{Kind: LimitSet, Duration: 400 * time.Second},
		},
		{Name: "b", MaxTime: Limit{Kind: Unlimited}, Exclusive: true, ResumeTimeout: Limit{Kind: Unlimited}},
	}, partitions)

	partitions, err = ParsePartitions([]byte("No partitions in the system\n"))
	require.NoError(t, err)
	require.Empty(t, partitions)
}

func TestParsePartitionsRefuses(t *testing.T) {
	for out, want := range map[string]string{
		"":                                  "scontrol show partition: no output",
		"x PartitionName=a Nodes=f0\n":      `scontrol show partition: "x PartitionName=a Nodes=f0": not a partition record`,
		"PartitionName=a Nodes=f0":          "scontrol show partition: the output breaks off in its last line",
		"PartitionName=a AllocNodes=ALL\n":  "partition a cannot be read: it has no Nodes=",
		"PartitionName=a Nodes=f[ State=\n": `partition a cannot be read: hostlist "f[": a number is missing at character 3`,
	} {
		partitions, err := ParsePartitions([]byte(out))
		require.EqualError(t, err, want)
		require.Empty(t, partitions)
	}
}

func FuzzParsePartitions(f *testing.F) {
	for _, version := range versions(f) {
		f.Add(fixture(f, version, "partitions.txt"))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		partitions, err := ParsePartitions(out)
		requireUnread(t, err, partitions)
		for _, partition := range partitions {
			require.NotEmpty(t, partition.Name)
		}
	})
}
