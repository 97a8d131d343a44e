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
	for _, test := range []struct {
		name   string
		change slurm.NodeChange
		want   []string
	}{
		{"a state", slurm.NodeChange{State: "power_up"}, []string{"state=power_up"}},
		{"a state and its reason", slurm.NodeChange{State: "power_down_force", Reason: "no capacity"}, []string{"state=power_down_force", "reason=no capacity"}},
		{"a comment", slurm.NodeChange{Comment: &note}, []string{"comment=a note"}},
		{"a comment cleared", slurm.NodeChange{Comment: &none}, []string{"comment="}},
		{"an extra", slurm.NodeChange{Extra: &note}, []string{"extra=a note"}},
		{"control characters", slurm.NodeChange{State: "down", Reason: "a\nb\x00c\x1b\u2028d\xffe "}, []string{"state=down", "reason=a b c  d e"}},
		{"shell characters stay", slurm.NodeChange{State: "down", Reason: `$(x) "y" 'z' ; | Ä`}, []string{"state=down", `reason=$(x) "y" 'z' ; | Ä`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, dummy{})
			require.NoError(t, c.UpdateNodes(t.Context(), []string{"f1", "f0"}, test.change))
			require.Equal(t, append([]string{"scontrol", "update", "nodename=f[0-1]"}, test.want...), calls(t, c)[0].Args)
		})
	}
}

func TestUpdateNodesRefuses(t *testing.T) {
	down := slurm.NodeChange{State: "down"}
	for _, test := range []struct {
		name   string
		names  []string
		change slurm.NodeChange
		want   string
	}{
		{"nothing to change", []string{"f0"}, slurm.NodeChange{Reason: ""}, "update nodes: nothing to change"},
		{"a state of several words", []string{"f0"}, slurm.NodeChange{State: "down reason=x"}, `update nodes: state "down reason=x" is not a word`},
		{"all nodes of the cluster", []string{"f0", "all"}, down, `update nodes: "all" is not the name of one node`},
		{"a hostlist", []string{"f[0-1]"}, down, `update nodes: "f[0-1]" is not the name of one node`},
		{"two names in one", []string{"f0,f1"}, down, `update nodes: "f0,f1" is not the name of one node`},
		{"no name", []string{""}, down, `update nodes: "" is not the name of one node`},
		{"a name with a space", []string{"f0 state=idle"}, down, `update nodes: hostlist "f0 state=idle": ' ' cannot be in a node name at character 3`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, dummy{})
			require.EqualError(t, c.UpdateNodes(t.Context(), test.names, test.change), test.want)
			require.Empty(t, calls(t, c))
		})
	}
}

func TestUpdatingNoNodesRunsNoCommand(t *testing.T) {
	c := newClient(t, dummy{})
	require.NoError(t, c.UpdateNodes(t.Context(), nil, slurm.NodeChange{State: "resume"}))
	require.Empty(t, calls(t, c))
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
