package scontrol

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestUpdateNodesPassesTheChange(t *testing.T) {
	note, none := "a note", ""
	for want, change := range map[string]slurm.NodeChange{
		"state=power_up": {State: "power_up"},
		"state=power_down_force reason=no capacity": {State: "power_down_force", Reason: "no capacity"},
		"comment=a note":                       {Comment: &note},
		"comment=":                             {Comment: &none},
		"extra=a note":                         {Extra: &note},
		"state=down reason=a b c  d e":         {State: "down", Reason: "a\nb\x00c\x1b\u2028d\xffe "},
		`state=down reason=$(x) "y" 'z' ; | Ä`: {State: "down", Reason: `$(x) "y" 'z' ; | Ä`},
	} {
		c := newClient(t, dummy{})
		require.NoError(t, c.UpdateNodes(t.Context(), []string{"f1", "f0"}, change))
		require.Equal(t, []string{"scontrol update nodename=f[0-1] " + want}, asked(t, c))
	}
	c := newClient(t, dummy{})
	require.NoError(t, c.UpdateNodes(t.Context(), nil, slurm.NodeChange{State: "resume"}))
	require.Empty(t, calls(t, c), "no nodes")
}

func TestUpdateNodesRefuses(t *testing.T) {
	down := slurm.NodeChange{State: "down"}
	for want, test := range map[string]struct {
		names  []string
		change slurm.NodeChange
	}{
		"nothing to change":                                                     {[]string{"f0"}, slurm.NodeChange{}},
		`state "down reason=x" is not a word`:                                   {[]string{"f0"}, slurm.NodeChange{State: "down reason=x"}},
		`"all" is not the name of one node`:                                     {[]string{"f0", "all"}, down},
		`"f0,f1" is not the name of one node`:                                   {[]string{"f0,f1"}, down},
		`"" is not the name of one node`:                                        {[]string{""}, down},
		`hostlist "f0 state=idle": ' ' cannot be in a node name at character 3`: {[]string{"f0 state=idle"}, down},
	} {
		c := newClient(t, dummy{})
		require.EqualError(t, c.UpdateNodes(t.Context(), test.names, test.change), "update nodes: "+want)
		require.Empty(t, calls(t, c))
	}
}

func TestManyNodesAreUpdatedInBatches(t *testing.T) {
	c := newClient(t, dummy{})
	var names []string
	for i := range 1201 {
		names = append(names, fmt.Sprintf("alpha-a3-%d", i))
	}
	names = append(names, "alpha-a3-7")
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	require.NoError(t, c.UpdateNodes(t.Context(), names, slurm.NodeChange{State: "resume"}))
	var hostlists []string
	for _, call := range calls(t, c) {
		hostlists = append(hostlists, call.Args[2])
	}
	require.Equal(t, []string{"nodename=alpha-a3-[0-499]", "nodename=alpha-a3-[500-999]", "nodename=alpha-a3-[1000-1200]"}, hostlists)
}

func TestNoBatchIsTooLongForAnArgument(t *testing.T) {
	var names []string
	for i := range 600 {
		names = append(names, fmt.Sprintf("%s%d-x", strings.Repeat("n", 240), i))
	}
	hostlists, err := batches(names)
	require.NoError(t, err)
	require.Len(t, hostlists, 2)
	for _, hostlist := range hostlists {
		require.LessOrEqual(t, len(hostlist), maxBatchBytes)
	}
	all, err := slurm.Expand(strings.Join(hostlists, ","))
	require.NoError(t, err)
	require.ElementsMatch(t, names, all)
}

func TestFailedBatchDoesNotStopTheOthers(t *testing.T) {
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("f%d", i))
	}
	c := newClient(t, dummy{Refuse: "[500-999]"})
	err := c.UpdateNodes(t.Context(), names, slurm.NodeChange{State: "resume"})
	require.EqualError(t, err, "scontrol update nodename=f[500-999] state=resume: Invalid node name specified")
	require.ErrorIs(t, err, ErrUnknownNode)
	require.Len(t, calls(t, c), 3)

	c = newClient(t, dummy{Refuse: "99]"})
	err = c.UpdateNodes(t.Context(), names, slurm.NodeChange{State: "resume"})
	require.EqualError(t, err, "scontrol update nodename=f[0-499] state=resume: Invalid node name specified (3 of 3 updates failed)")
	require.ErrorIs(t, err, ErrUnknownNode)
}
