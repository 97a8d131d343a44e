package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// twin adds a partition twin with nodes like those of partition train.
const twin = "\n  twin: {partition_nodeset: [b3]}"

// twinSet is the nodeset of partition twin.
var twinSet = scenetest.FlexSet("b3", "us-central1-b", "node_count_dynamic_max: 2", "max_run_duration: 14400")

// newTwins returns a world with partition twin, and with one text of its configuration replaced. Job 812 waits
// in partition train.
func newTwins(old, text string) *world {
	change := func(in string) string { return strings.Replace(in, old, text, 1) }
	s := newWorld()
	s.Config = scenetest.Cluster(strings.Replace(partitions, "partitions:", "partitions:"+change(twin), 1),
		append(flexSets(), change(twinSet))...)
	s.Snap.Templates[s.Config.FlexSetOf("alpha-b3-0").Template] = scenetest.FlexTemplate("a3-highgpu-8g")
	s.Snap.Partitions = append([]slurm.Partition{{Name: "twin", Up: true, MaxTime: slurm.ParseLimit("4:00:00")}}, s.Snap.Partitions...)
	s.waits()
	return s
}

// A job of four hours waits in partition train of each configuration.
func TestWhyProposesOnlySuitablePartitions(t *testing.T) {
	for name, test := range map[string]struct {
		old, text string // replaced in the configuration
		given     func(*world)
		then      func(*View)
		want      string
	}{
		"nodes of the same kind, for as long": {want: "or partition twin:"},
		"a partition that is down or drained": {given: func(s *world) { s.Snap.Partitions[0].Up = false }},
		"a partition for shorter jobs":        {given: func(s *world) { s.Snap.Partitions[0].MaxTime = slurm.ParseLimit("3:59:00") }},
		"a partition for smaller jobs":        {given: func(s *world) { s.Snap.Partitions[0].MaxNodes = 1 }},
		"a partition for some users":          {given: func(s *world) { s.Snap.Partitions[0].Restricts = "AllowGroups" }},
		"a partition of its own list":         {given: func(s *world) { s.Snap.Jobs[0].Partition = "train,twin" }},
		"fewer nodes than the job's":          {old: "node_count_dynamic_max: 2", text: "node_count_dynamic_max: 1"},
		"static nodes alone":                  {old: "node_count_dynamic_max: 2", text: "node_count_static: 2"},
		"also nodes without flex-start":       {old: "[b3]", text: "[b3, cpu]"},
		"also nodes of another machine type":  {old: "[b3]", text: "[b3, g2]"},
		"the nodes that it waits for":         {old: "[b3]", text: "[b3, a3]"},
		"nodes in the same zones":             {old: "[us-central1-b]", text: "[us-central1-a]"},
		"Spot nodes in those zones":           {old: "[us-central1-b], dws_flex: {max_run_duration: 14400}", text: "[us-central1-a], capacity: spot", want: "or partition twin:"},
		"nodes with a second quota used up": {given: func(s *world) {
			s.Snap.Groups[2].Requests[0].Cause, s.Snap.Groups[2].Requests[0].Message = mig.CauseQuota, "QUOTA_EXCEEDED"
		}},
		"a nodeset that is blocked": {then: func(v *View) {
			for i := range v.NodeSets {
				if v.NodeSets[i].Name == "b3" {
					v.NodeSets[i].Block = &scene.Block{Failed: 2, Until: noon}
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, twin+twinSet, test.old)
			s := newTwins(test.old, test.text)
			s.group(812, request("a1", mig.Accepted, "alpha-a3-[0-1]", "", 0))
			if test.given != nil {
				test.given(s)
			}
			v := s.view()
			if test.then != nil {
				test.then(&v)
			}
			text := ask(t, v, "812").YouCan
			assert.Contains(t, text, "submit it again with ")
			if test.want == "" {
				assert.NotContains(t, text, "or partition")
			}
			assert.Contains(t, text, test.want)
		})
	}
}

func TestJobThatWaitsForItsTurnIsSentToNoOtherPartition(t *testing.T) {
	v := newTwins("", "").view()
	for i := range v.Rows {
		v.Rows[i].State, v.Rows[i].Obstacle = Waiting, "waiting for its turn"
	}
	assert.Empty(t, ask(t, v, "812").YouCan)
}
