package notify

import (
	"fmt"
	"testing"

	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// BenchmarkFacts measures a pass over 5,000 nodes with a machine and a running job each.
func BenchmarkFacts(b *testing.B) {
	const size = 5000
	w := scenetest.New(scenetest.Cluster("partitions: {train: {partition_nodeset: [a3]}}",
		scenetest.FlexSet("a3", "us-central1-a", fmt.Sprint("node_count_dynamic_max: ", size), "")))
	for i := range size {
		name, group, id := fmt.Sprintf("alpha-a3-%d", i), fmt.Sprintf("alpha-a3-job-%d", i), uint32(i+1)
		w.Snap.Nodes = append(w.Snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState(scenetest.Busy)})
		w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{ID: id, ArrayID: id, State: slurm.JobRunning, Start: scenetest.Noon, Nodes: []string{name}})
		w.Snap.Groups = append(w.Snap.Groups, mig.Group{
			Name: group, Region: scenetest.US, Stamp: mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: id},
		})
		w.Snap.Instances = append(w.Snap.Instances, mig.Instance{
			Name: name, Region: scenetest.US, Zone: scenetest.US + "-a", Group: group, Status: "RUNNING", Created: scenetest.Noon,
		})
	}
	s, m := w.Scene(), memory{}
	for b.Loop() {
		m.news(s, plan.Plan{})
	}
}
