package view

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// placed returns a view in which job 813 has alpha-a3-[2-4]. Compute shows the locations of the
// first and last node.
func placed(t *testing.T) View {
	t.Helper()
	s := busy()
	for i := range s.Snap.Instances {
		switch in := &s.Snap.Instances[i]; in.Name {
		case "alpha-a3-2":
			in.Host = mig.Host{Cluster: "c1", Block: "b2", Subblock: "00000000000000000000000000000007", Host: "h1"}
		case "alpha-a3-4":
			in.Host = mig.Host{Cluster: "c1", Block: "b1", Subblock: "s9", Host: "h9"}
		}
	}
	return s.view()
}

func TestRanksListNeighboursFirstAndUnknownLast(t *testing.T) {
	v := placed(t)
	lines, unknown, err := v.Ranks("813", 2)
	require.NoError(t, err)
	assert.Equal(t, "alpha-a3-4\nalpha-a3-4\nalpha-a3-2\nalpha-a3-2\nalpha-a3-3\nalpha-a3-3\n", lines)
	assert.Equal(t, []string{"alpha-a3-3"}, unknown)
	_, _, err = v.Ranks("816", 1)
	require.EqualError(t, err, "job 816 has no nodes yet; ask again from its script")
	_, _, err = v.Ranks("99", 1)
	require.ErrorIs(t, err, ErrUnknown)
}

func TestHostsAreSortedByLocation(t *testing.T) {
	v := View{Hosts: []Host{
		{"n1", "c2", "b1", "s1", "h1"}, {"n2", "c1", "b2", "s1", "h1"}, {"n3", "c1", "b1", "s2", "h1"}, {"n4", "c1", "b1", "s1", "h2"}, {"n5", "c1", "b1", "s1", "h1"},
	}, Jobs: []Job{{ID: 7, ArrayID: 7, State: "RUNNING", Nodes: "n[1-5]"}}}
	lines, unknown, err := v.Ranks("7", 1)
	require.NoError(t, err)
	assert.Equal(t, "n5\nn4\nn3\nn2\nn1\n", lines)
	assert.Empty(t, unknown)
}

func TestWhyShowsTheLocationOfMachines(t *testing.T) {
	v := placed(t)
	for subject, want := range map[string][]string{
		"813": {"alpha-a3-4", "alpha-a3-2"}, "alpha-a3-2": {"alpha-a3-2"}, "alpha-a3-job-813": {"alpha-a3-4", "alpha-a3-2"}, "812": {},
	} {
		story, err := v.Why(subject, noon)
		require.NoError(t, err)
		nodes := []string{}
		for _, h := range story.Hosts {
			nodes = append(nodes, h.Node)
		}
		assert.Equal(t, want, nodes, subject)
	}
	story, err := v.Why("813", noon)
	require.NoError(t, err)
	assert.Equal(t, `  NODE        CLUSTER  BLOCK  SUBBLOCK      HOST
  alpha-a3-4  c1       b1     s9            h9
  alpha-a3-2  c1       b2     000000000007  h1
`, story.HostTable())
	story, err = v.Why("812", noon)
	require.NoError(t, err)
	assert.Equal(t, "  Compute does not show where its machines are.\n", story.HostTable())
}

func TestFilterKeepsTheHostsOfItsNodes(t *testing.T) {
	v := placed(t)
	assert.Len(t, v.Only(Filter{User: "ada"}).Hosts, 2)
	assert.Empty(t, v.Only(Filter{NodeSet: "st"}).Hosts)
}
