package mig

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAStampIsReadBackAsItWasWritten(t *testing.T) {
	for _, s := range []Stamp{
		{Version: StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 812},
		{Version: StampVersion, Cluster: "alpha", NodeSet: "a3", Node: "alpha-a3-0"},
	} {
		got, ours := ParseStamp(s.String())
		assert.True(t, ours)
		assert.Equal(t, s, got)
	}
}

func TestWhatCarriesNoStampOfOursIsNotOurs(t *testing.T) {
	for name, description := range map[string]string{
		"no description":               "",
		"words":                        "made by hand for alpha",
		"somebody else's JSON":         `{"cluster":"alpha","nodeset":"a3"}`,
		"no cluster":                   `{"slurmflex":1,"nodeset":"a3"}`,
		"no nodeset":                   `{"slurmflex":1,"cluster":"alpha"}`,
		"one without a cluster, newer": `{"slurmflex":2,"nodeset":"a3"}`,
		"a stamp and more":             `{"slurmflex":1,"cluster":"alpha","nodeset":"a3"} keep!`,
	} {
		_, ours := ParseStamp(description)
		assert.False(t, ours, name)
	}
}

func TestOfANewerStampOnlyWhatEveryVersionHasIsRead(t *testing.T) {
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

func TestALiveRequestIsOneThatMayStillBringInstances(t *testing.T) {
	g := Group{Requests: []Request{
		{Name: "a1", State: Failed},
		{Name: "a2", State: Cancelled},
		{Name: "a3", State: Succeeded},
		{Name: "a4", State: Creating},
		{Name: "a5", State: Accepted},
		{Name: "a6", State: "PONDERING"},
	}}
	var live []string
	for _, r := range g.Live() {
		live = append(live, r.Name)
	}
	assert.Equal(t, []string{"a4", "a5", "a6"}, live, "a state that we do not know is not over")
}

func FuzzParseStamp(f *testing.F) {
	f.Add(Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 7}.String())
	f.Add(`{"slurmflex":1}`)
	f.Fuzz(func(t *testing.T, description string) {
		if s, ours := ParseStamp(description); ours {
			again, ok := ParseStamp(s.String())
			assert.True(t, ok)
			assert.Equal(t, s, again)
		}
	})
}

func TestAStampIsTheSameAfterItStoodInLabels(t *testing.T) {
	for name, stamp := range map[string]Stamp{
		"for a job":    {Version: StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 4294967295},
		"for one node": {Version: StampVersion, Cluster: "alpha", NodeSet: "a3-x", Node: "alpha-a3-x-7"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := StampOfLabels(stamp.Labels())
			assert.True(t, ok)
			assert.Equal(t, stamp, got)
		})
	}
}

func TestInstancesFromBeforeStampsHadAVersionAreStillOurs(t *testing.T) {
	stamp, ok := StampOfLabels(map[string]string{labelCluster: "alpha", labelNodeSet: "a3", labelJob: "812"})
	assert.True(t, ok)
	assert.Equal(t, Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 812}, stamp)
}

func TestLabelsOfOthersAreNoStamp(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"none":                {},
		"of another program":  {"slurm_cluster_name": "alpha", "slurm_instance_role": "compute"},
		"without a nodeset":   {labelCluster: "alpha", labelJob: "812"},
		"without a cluster":   {labelNodeSet: "a3", labelJob: "812"},
		"a job without digit": {labelCluster: "alpha", labelNodeSet: "a3", labelJob: "x"},
		"of a successor":      {labelVersion: "2", labelCluster: "alpha", labelNodeSet: "a3", labelJob: "812"},
		"of no version":       {labelVersion: "one", labelCluster: "alpha", labelNodeSet: "a3"},
		"of version 0":        {labelVersion: "0", labelCluster: "alpha", labelNodeSet: "a3"},
		"too large a job":     {labelCluster: "alpha", labelNodeSet: "a3", labelJob: "4294967296"},
	} {
		t.Run(name, func(t *testing.T) {
			stamp, ok := StampOfLabels(labels)
			assert.False(t, ok)
			assert.Zero(t, stamp)
		})
	}
}

func TestANameOfSlurmGCPSaysForWhomTheGroupIs(t *testing.T) {
	tests := map[string]struct {
		nodeset string
		job     uint32
		ok      bool
	}{
		"alpha-a3-0123abcd":                     {"a3", 0, true},
		"alpha-a3-job-812-0123abcd":             {"a3", 812, true},
		"alpha-b-a3-0123abcd":                   {"b-a3", 0, true},
		"alpha-job-5-0123abcd":                  {"job-5", 0, true},
		"alpha-a3-job-x-0123abcd":               {"a3-job-x", 0, true},
		"alpha-a3-job-4294967296-0123abcd":      {"", 0, false},
		"alpha-a3-job-812":                      {"", 0, false},
		"alpha-a3-node-7":                       {"", 0, false},
		"alpha-a3-0123abc":                      {"", 0, false},
		"alpha-a3-0123abcg":                     {"", 0, false},
		"alpha-a3-0123ABCD":                     {"", 0, false},
		"alpha-0123abcd":                        {"", 0, false},
		"alphabet-a3-0123abcd":                  {"", 0, false},
		"beta-a3-0123abcd":                      {"", 0, false},
		"alpha":                                 {"", 0, false},
		"":                                      {"", 0, false},
		"alpha-a3-job-812-0123abcd-deadbeef\nx": {"", 0, false},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			nodeset, job, ok := ParseForeign("alpha", name)
			assert.Equal(t, want.ok, ok)
			assert.Equal(t, want.nodeset, nodeset)
			assert.Equal(t, want.job, job)
		})
	}
}

func TestARequestNamesItsInstancesAndNoneWhoseNameBeginsAlike(t *testing.T) {
	r := Request{Instances: []string{"alpha-a3-1", "alpha-a3-20"}}
	for name, want := range map[string]bool{
		"alpha-a3-1": true, "alpha-a3-20": true, "alpha-a3-10": false, "alpha-a3-2": false, "": false,
	} {
		assert.Equal(t, want, r.Names(name), name)
	}
}

func TestARequestLivesUntilItIsKnownToHaveEnded(t *testing.T) {
	for state, want := range map[RequestState]bool{
		Creating: true, Accepted: true, "PROVISIONING": true, "": true, Succeeded: false, Failed: false, Cancelled: false,
	} {
		assert.Equal(t, want, state.Live(), state)
	}
}
