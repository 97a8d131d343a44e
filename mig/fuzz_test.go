package mig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseForeign(f *testing.F) {
	for _, name := range []string{
		"alpha-a3-0123abcd", "alpha-a3-job-812-0123abcd", "alpha-job-1-job-2-0123abcd", "alpha-a3-job-4294967296-0123abcd",
		"alpha-a3-job-812", "alpha--0123abcd", "alpha-a3-0123abcd\n", "alpha-a3-job-0-01234567",
	} {
		f.Add("alpha", name)
	}
	f.Add("alpha-a3", "alpha-a3-x-0123abcd")
	f.Fuzz(func(t *testing.T, cluster, name string) {
		nodeset, job, ok := ParseForeign(cluster, name)
		if !ok {
			require.Empty(t, nodeset)
			require.Zero(t, job)
			return
		}
		require.NotEmpty(t, nodeset)
		rest, ours := strings.CutPrefix(name, cluster+"-"+nodeset+"-")
		require.True(t, ours, "%q is of cluster %q and nodeset %q", name, cluster, nodeset)
		require.Regexp(t, `^(job-[0-9]+-)?[0-9a-f]{8}$`, rest)
	})
}

// A stamp comes back out of labels as it went in, and what is in no label
// makes no stamp.
func FuzzStampOfLabels(f *testing.F) {
	f.Add("alpha", "a3", "812", "alpha-a3-0")
	f.Add("alpha", "a3", "", "")
	f.Add("", "a3", "-1", "x")
	f.Add("alpha", "a3", "4294967296", "")
	f.Fuzz(func(t *testing.T, cluster, nodeset, job, node string) {
		labels := map[string]string{labelCluster: cluster, labelNodeSet: nodeset, labelJob: job, labelNode: node}
		if job == "" {
			delete(labels, labelJob)
		}
		stamp, ours := StampOfLabels(labels)
		if !ours {
			require.Zero(t, stamp)
			return
		}
		again, ours := StampOfLabels(stamp.Labels())
		require.True(t, ours)
		require.Equal(t, stamp, again)
		require.Equal(t, []string{cluster, nodeset, node}, []string{stamp.Cluster, stamp.NodeSet, stamp.Node})
	})
}
