package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRestrictedPartitionNamesTheSetting(t *testing.T) {
	const open = "PartitionName=a AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL QoS=N/A MaxNodes=UNLIMITED MaxTime=1:00:00 " +
		"MinNodes=1 Nodes=f0 RootOnly=NO ReqResv=NO State=UP MaxMemPerNode=UNLIMITED ResumeTimeout=GLOBAL\n"
	of := func(old, text string) Partition {
		all, err := ParsePartitions([]byte(strings.Replace(open, old, text, 1)))
		require.NoError(t, err)
		return all[0]
	}
	assert.Empty(t, of("", "").Restricts)
	for old, text := range map[string]string{
		"AllowGroups=ALL": "AllowGroups=physics", "AllowAccounts=ALL": "DenyAccounts=guests", "AllowQos=ALL": "DenyQos=low",
		"AllocNodes=ALL": "AllocNodes=login", "QoS=N/A": "QoS=long", "RootOnly=NO": "RootOnly=YES", "ReqResv=NO": "ReqResv=YES",
		"MaxMemPerNode=UNLIMITED": "MaxMemPerCPU=1000",
	} {
		key, _, _ := strings.Cut(old, "=")
		assert.Equal(t, key, of(old, text).Restricts)
	}
	assert.Equal(t, 0, of("", "").MaxNodes)
	assert.Equal(t, 1, of("", "").MinNodes)
	assert.Equal(t, 4, of("MaxNodes=UNLIMITED", "MaxNodes=4").MaxNodes)
	assert.Equal(t, 1, of("MaxNodes=UNLIMITED", "MaxNodes=many").MaxNodes, "a malformed number allows at most one")
	for state, want := range map[string][2]bool{"DRAIN": {false, true}, "DOWN": {}, "INACTIVE": {}} {
		p := of("State=UP", "State="+state)
		assert.Equal(t, want, [2]bool{p.Up, p.Begins}, state)
	}
}

func TestParseReservations(t *testing.T) {
	reservations := parsed(t, ParseReservations,
		"ReservationName=eol x y StartTime=2030-03-17T17:46:40 EndTime=2031-03-17T17:46:40 Duration=365-00:00:00 Nodes=f[4-5] "+
			"NodeCnt=2 Features=(null) Flags=MAINT,IGNORE_JOBS TRES=cpu=2 Users=root,ann Groups=(null) State=INACTIVE\n"+
			"ReservationName=licences StartTime=2030-03-17T17:46:40 EndTime=2030-03-17T18:46:40 Nodes=(null) Flags= Users=(null)\n")
	start := time.Unix(1900000000, 0).UTC()
	require.Equal(t, []Reservation{
		{
			Name: "eol x y", Start: start, End: start.Add(365 * 24 * time.Hour), Nodes: []string{"f4", "f5"},
			Flags: []string{"MAINT", "IGNORE_JOBS"}, Users: []string{"root", "ann"},
		},
		{Name: "licences", Start: start, End: start.Add(time.Hour)},
	}, reservations)
	require.Empty(t, parsed(t, ParseReservations, "No reservations in the system\n"))
}

func TestParsePartitions(t *testing.T) {
	require.Equal(t, []Partition{{
		Name: "a", Nodes: []string{"f0", "f1"}, DefaultTime: limitOf(time.Hour), MaxTime: limitOf(7 * 24 * time.Hour), Up: true, Begins: true, Exclusive: true,
		Restricts: "AllowGroups", QOS: "part", PerNode: map[string]int64{"cpu": 4, "gres/gpu": 2, "billing": 4}, PowerDownOnIdle: true,
		ResumeTimeout: limitOf(400 * time.Second), SuspendTime: Limit{Kind: Unlimited}, Tier: 10,
	}}, parsed(t, ParsePartitions,
		"PartitionName=a AllocNodes=ALL DefaultTime=01:00:00 Exclusive=NODE MaxNodes=UNLIMITED MaxTime=7-00:00:00 MinNodes=0 Nodes=f[0-1] "+
			"OverSubscribe=NO State=UP TotalNodes=2 QoS=part TRES=cpu=8,mem=2M,node=2,billing=8,gres/gpu=4,gres/gpu:odd=3,license/a=2 ResumeTimeout=400 SuspendTime=INFINITE PowerDownOnIdle=YES PriorityJobFactor=1 PriorityTier=10\n"))
	for weights, want := range map[string]int64{"(null)": 4, "CPU=0.5,GRES/gpu=1": 4, "CPU=0.5,Mem=1G": 0} {
		one := parsed(t, ParsePartitions, "PartitionName=a Nodes=f[0-1] State=UP TRES=cpu=8,node=2,billing=8 TRESBillingWeights="+weights+"\n")
		require.Equal(t, want, one[0].PerNode["billing"], weights)
	}
	require.Empty(t, parsed(t, ParsePartitions, "No partitions in the system\n"))
}
