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
