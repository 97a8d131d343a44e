package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// BenchmarkSaw is what a pass over 5,000 nodes with a machine and a job each costs.
func BenchmarkSaw(b *testing.B) {
	const size = 5000
	cfg, err := config.Parse("alpha.yaml", []byte(strings.Replace(alpha, "node_count_dynamic_max: 8", fmt.Sprintf("node_count_dynamic_max: %d", size), 1)))
	require.NoError(b, err)
	cfg.Options.StateDir = b.TempDir()
	w := &world{dir: cfg.Options.StateDir, cfg: cfg, log: zap.NewNop()}
	w.snap.Now = noon
	for i := range size {
		name, group := fmt.Sprintf("alpha-a3-%d", i), fmt.Sprintf("alpha-a3-job-%d", i)
		w.snap.Nodes = append(w.snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState(busy)})
		w.snap.Jobs = append(w.snap.Jobs, slurm.Job{ID: uint32(i + 1), ArrayID: uint32(i + 1), State: slurm.JobRunning, Start: noon, Nodes: []string{name}})
		w.snap.Groups = append(w.snap.Groups, mig.Group{
			Name: group, Region: us, Requests: []mig.Request{request("a1", mig.Succeeded, noon.Add(-time.Hour), name)},
			Stamp: mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: uint32(i + 1)},
		})
		w.snap.Instances = append(w.snap.Instances, mig.Instance{Name: name, Region: us, Zone: us + "-a", Group: group, Status: "RUNNING", Created: noon})
	}
	w.restart()
	w.look(0)
	for b.Loop() {
		w.look(time.Second)
	}
}
