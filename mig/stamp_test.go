package mig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStampSurvivesARoundTrip(t *testing.T) {
	for _, s := range []Stamp{
		{Version: StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 4294967295},
		{Version: StampVersion, Cluster: "alpha", NodeSet: "a3-x", Node: "alpha-a3-x-7"},
	} {
		got, ours := ParseStamp(s.String())
		assert.True(t, ours)
		assert.Equal(t, s, got)
		got, ours = StampOfLabels(s.Labels())
		assert.True(t, ours)
		assert.Equal(t, s, got)
	}
}

func TestStampOfSharersIsForTheirJobsOnly(t *testing.T) {
	array, ann := Sharers(7, "ann"), Sharers(0, "ann")
	assert.Equal(t, Stamp{Array: 7}, array)
	assert.Regexp(t, `^[0-9a-f]{10}$`, ann.User)
	assert.NotContains(t, ann.String(), "ann", "a user's name does not leave the cluster")
	assert.True(t, array.IsFor(8, 7, "ann"))
	assert.True(t, ann.IsFor(8, 0, "ann"))
	assert.False(t, ann.IsFor(8, 7, "ann"), "a task of an array")
	assert.False(t, ann.IsFor(8, 0, "bob"))
	assert.Equal(t, Stamp{}, Sharers(0, ""))
	assert.False(t, Stamp{Node: "alpha-one-0"}.IsFor(8, 0, ""))
}

func TestParseStampRejectsOtherDescriptions(t *testing.T) {
	for name, description := range map[string]string{
		"words":                        "made by hand for alpha",
		"JSON of another program":      `{"cluster":"alpha","nodeset":"a3"}`,
		"no cluster":                   `{"slurmflex":1,"nodeset":"a3"}`,
		"no nodeset":                   `{"slurmflex":1,"cluster":"alpha"}`,
		"one without a cluster, newer": `{"slurmflex":2,"nodeset":"a3"}`,
		"a stamp and more":             `{"slurmflex":1,"cluster":"alpha","nodeset":"a3"} keep!`,
	} {
		_, ours := ParseStamp(description)
		assert.False(t, ours, name)
	}
}

func TestNewerStampYieldsOnlyVersionAndCluster(t *testing.T) {
	for _, description := range []string{
		`{"slurmflex":2,"cluster":"alpha","nodeset":"a3","job":7}`,
		`{"slurmflex":2,"cluster":"alpha","nodeset":["a3"],"job":{"id":7}}`,
	} {
		s, ok := ParseStamp(description)
		assert.True(t, ok)
		assert.Equal(t, Stamp{Version: 2, Cluster: "alpha"}, s)
		assert.True(t, s.Newer())
	}
}

func TestStampOfLabelsRejectsOtherLabels(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"none":               {},
		"of another program": {"slurm_cluster_name": "alpha", "slurm_instance_role": "compute"},
		"without a nodeset":  {labelCluster: "alpha", labelJob: "812"},
		"without a cluster":  {labelNodeSet: "a3", labelJob: "812"},
		"of a successor":     {labelVersion: "2", labelCluster: "alpha", labelNodeSet: "a3", labelJob: "812"},
		"of version 0":       {labelVersion: "0", labelCluster: "alpha", labelNodeSet: "a3"},
		"too large a job":    {labelCluster: "alpha", labelNodeSet: "a3", labelJob: "4294967296"},
	} {
		stamp, ok := StampOfLabels(labels)
		assert.False(t, ok, name)
		assert.Zero(t, stamp, name)
	}
}

func TestParseForeignReadsNodesetAndJob(t *testing.T) {
	for name, want := range map[string]struct {
		nodeset string
		job     uint32
	}{
		"alpha-a3-0123abcd":         {"a3", 0},
		"alpha-a3-job-812-0123abcd": {"a3", 812},
		"alpha-b-a3-0123abcd":       {"b-a3", 0},
		"alpha-job-5-0123abcd":      {"job-5", 0},
		"alpha-a3-job-x-0123abcd":   {"a3-job-x", 0},
	} {
		nodeset, job, ok := ParseForeign("alpha", name)
		assert.True(t, ok, name)
		assert.Equal(t, want.nodeset, nodeset, name)
		assert.Equal(t, want.job, job, name)
	}
	for _, name := range []string{
		"alpha-a3-job-4294967296-0123abcd", "alpha-a3-job-812", "alpha-a3-node-7", "alpha-a3-0123abc", "alpha-a3-0123abcg",
		"alpha-a3-0123ABCD", "alpha-0123abcd", "alphabet-a3-0123abcd", "beta-a3-0123abcd", "alpha", "", "alpha-a3-job-812-0123abcd-deadbeef\nx",
	} {
		nodeset, job, ok := ParseForeign("alpha", name)
		assert.False(t, ok, name)
		assert.Empty(t, nodeset, name)
		assert.Zero(t, job, name)
	}
}

func TestRequestNamesMatchesWholeNames(t *testing.T) {
	r := Request{Instances: []string{"alpha-a3-1", "alpha-a3-20"}}
	for name, want := range map[string]bool{
		"alpha-a3-1": true, "alpha-a3-20": true, "alpha-a3-10": false, "alpha-a3-2": false, "": false,
	} {
		assert.Equal(t, want, r.Names(name), name)
	}
}

func TestRequestIsLiveUntilAKnownFinalState(t *testing.T) {
	for state, want := range map[RequestState]int{
		Creating: 1, Accepted: 1, "PROVISIONING": 1, "": 1, Succeeded: 0, Failed: 0, Cancelled: 0,
	} {
		assert.Equal(t, want == 1, state.Live(), state)
		assert.Len(t, Group{Requests: []Request{{State: state}}}.Live(), want, state)
	}
}

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

// Labels returns what StampOfLabels parses, and values that are not in the labels never appear in
// the stamp.
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
