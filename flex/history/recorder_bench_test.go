package history

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// BenchmarkSaw measures a pass over 5,000 nodes with a machine and a job each.
func BenchmarkSaw(b *testing.B) {
	const size = 5000
	w := &world{World: scenetest.New(alpha(size)), dir: b.TempDir(), log: zap.NewNop()}
	w.Config.Options.StateDir = w.dir
	for i := range size {
		name, group := fmt.Sprintf("alpha-a3-%d", i), fmt.Sprintf("alpha-a3-job-%d", i)
		w.Snap.Nodes = append(w.Snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState(busy)})
		w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{ID: uint32(i + 1), ArrayID: uint32(i + 1), State: slurm.JobRunning, Start: noon, Nodes: []string{name}})
		w.Snap.Groups = append(w.Snap.Groups, mig.Group{
			Name: group, Region: us, Requests: []mig.Request{request("a1", mig.Succeeded, noon.Add(-time.Hour), name)},
			Stamp: mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: uint32(i + 1)},
		})
		w.Snap.Instances = append(w.Snap.Instances, mig.Instance{Name: name, Region: us, Zone: us + "-a", Group: group, Status: "RUNNING", Created: noon})
	}
	w.restart()
	w.look(0)
	for b.Loop() {
		w.look(time.Second)
	}
}
