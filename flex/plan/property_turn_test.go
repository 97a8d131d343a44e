package plan_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// TestEveryPlanKeepsRulesIfPlacesAreScarce draws worlds where jobs of one or two nodes wait, some
// of them with requests.
func TestEveryPlanKeepsRulesIfPlacesAreScarce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := emptyWorld(drawConfig(t))
		for _, set := range w.flexSets() {
			set.Flex.ProvisionTimeout = 0
			if !set.Flex.UseBulkInsert {
				w.drawQueue(t, set)
			}
		}
		w.drawUsers(t)
		breaksNoRule(t, w)
	})
}

// drawQueue makes jobs wait for the nodeset's dynamic nodes.
func (w *world) drawQueue(t *rapid.T, set *config.NodeSet) {
	names := w.nodesOf(set)[set.Static:]
	for len(names) > 0 {
		n := min(1+upTo(t, "nodes - 1", 1), len(names))
		if set.Flex.Provisioning == config.NodeByNode {
			n = 1
		}
		id, nodes := uint32(len(w.jobs)+1), names[:n]
		names = names[n:]
		for _, name := range nodes {
			w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")}
		}
		w.jobs[id] = slurm.Job{
			ID: id, ArrayID: id, Nodes: nodes, State: slurm.JobConfiguring, Partition: "train", Start: noon.Add(-6 * time.Hour),
			Limit: slurm.ParseLimit("12:00:00"), Priority: uint64(upTo(t, "priority", 3)),
		}
		state := pick(t, "request", "", "", mig.Accepted, mig.Accepted, mig.Creating)
		if state == "" {
			continue
		}
		g := mig.Group{
			Name: memo.JobGroup(cluster, set.Name, id, 0), Region: set.Region, Created: noon.Add(-6 * time.Hour),
			Stamp: mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: set.Name, Job: id},
		}
		if n == 1 && set.Flex.Provisioning == config.NodeByNode {
			_, i, _ := w.cfg.Find(nodes[0])
			g.Name, g.Stamp.Node = memo.NodeGroup(cluster, set.Name, i), nodes[0]
		}
		g.Requests = []mig.Request{{Name: "a1", State: state, Instances: nodes, Duration: mig.MaxDuration, Created: drawAge(t)}}
		w.groups[g.Region+"/"+g.Name] = g
	}
}
