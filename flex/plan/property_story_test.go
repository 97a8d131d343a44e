package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// drawStory draws a job with nodes, requests and instances that mostly match.
func (w *world) drawStory(t *rapid.T) {
	set := pick(t, "nodeset", w.flexSets()...)
	names := distinct(t, "nodes of the job", 3, w.nodesOf(set))
	id := w.drawJob(t, names)
	phase := pick(t, "phase", usual...)
	for _, name := range names {
		w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState(phase), LastBusyTime: drawAge(t)}
		if rarely(t, "stands out") {
			w.drawNode(t, name)
		}
	}
	switch {
	case set.Flex.UseBulkInsert:
		w.drawInstances(t, set, names, "")
	case set.Flex.Provisioning == config.NodeByNode:
		for _, name := range names {
			stamp := mig.Stamp{Version: 1, Cluster: cluster, NodeSet: set.Name, Node: name, Job: id}
			w.drawGroupFor(t, set, strings.Replace(name, "-one-", "-one-node-", 1), stamp, []string{name})
		}
	default:
		stamp := mig.Stamp{Version: 1, Cluster: cluster, NodeSet: set.Name, Job: id}
		w.drawGroupFor(t, set, fmt.Sprintf("alpha-%s-job-%d", set.Name, id), stamp, names)
	}
}

// drawGroupFor draws a job's group, with or without a request and instances.
func (w *world) drawGroupFor(t *rapid.T, set *config.NodeSet, name string, stamp mig.Stamp, nodes []string) {
	g := mig.Group{Name: name, Region: set.Region, Stamp: stamp, Created: drawAge(t)}
	switch upTo(t, "how far it is", 3) {
	case 0:
		return
	case 1:
	case 2:
		g.Requests = drawRequests(t, nodes)
	case 3:
		g.Requests = drawRequests(t, nodes)
		w.drawInstances(t, set, nodes, name)
	}
	g.TargetSize, g.Creating = len(nodes)*upTo(t, "counts its nodes", 1), len(nodes)*upTo(t, "creates its nodes", 1)
	w.groups[g.Region+"/"+g.Name] = g
}

// drawInstances draws the machines of most of the nodes.
func (w *world) drawInstances(t *rapid.T, set *config.NodeSet, names []string, group string) {
	for _, name := range names {
		if !rarely(t, "does not show") {
			w.drawInstance(t, name, mig.Instance{Region: set.Region, Group: group})
		}
	}
}

// drawJob adds a job of any kind and state, and returns its ID.
func (w *world) drawJob(t *rapid.T, nodes []string) uint32 {
	id := uint32(len(w.jobs) + 1)
	w.jobs[id] = slurm.Job{
		ID: id, ArrayID: id, Nodes: nodes, User: "ada",
		State:     pick(t, "job state", jobStates...),
		Partition: pick(t, "partition", "train", "shared", "unheard-of"),
		Limit:     slurm.ParseLimit(pick(t, "time limit", "12:00:00", "5:00", "365-00:00:00", "UNLIMITED", "INVALID")),
		Priority:  uint64(upTo(t, "priority", 2)),
		Start:     pick(t, "start", time.Time{}, noon.Add(-time.Minute), noon.Add(-20*time.Minute)),
	}
	return id
}

// joinJobs makes all jobs the components of one heterogeneous job.
func (w *world) joinJobs() {
	for id, j := range w.jobs {
		j.HetID, j.HetOffset = 1, id-1
		w.jobs[id] = j
	}
}

// drawNode sets a node to a state that may be impossible.
func (w *world) drawNode(t *rapid.T, name string) {
	state := pick(t, "state", usual...)
	if rarely(t, "impossible") {
		state = pick(t, "base", "UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE", "NAPPING")
	}
	state = strings.Join(append([]string{state}, distinct(t, "flags", 2, theRest)...), "+")
	w.nodes[name] = slurm.Node{
		Name: name, State: slurm.ParseState(state),
		Reason: pick(t, "reason", "", "ResumeTimeout reached", "Not responding", "burnt"),
		Extra: pick(t, "extra", "", bootsFailed(1, noon.Add(-20*time.Minute)), bootsFailed(3, noon.Add(-3*time.Hour)),
			"slurmflex: 5 boots failed, the last of an instance made of cheese", "rack 7"),
		Comment:      pick(t, "comment", "", waits("2026-11-21T11:59:00Z"), waits("2026-11-20T00:00:00Z"), waits("noon"), "ask first"),
		LastBusyTime: pick(t, "last busy", time.Time{}, noon.Add(-5*time.Second)),
	}
}

// waits returns the Comment of a node that waits.
func waits(armed string) string {
	return "slurmflex: waits in alpha-a3-job-1/a1 since 2026-11-21T11:29:00Z, armed " + armed
}

// bootsFailed returns the Extra of a node with instances that did not boot.
func bootsFailed(n int, made time.Time) string {
	return fmt.Sprintf("slurmflex: %d boots failed, the last of an instance made %s", n, made.Format(time.RFC3339))
}

// drawRequests draws up to three requests for the nodes, oldest first.
func drawRequests(t *rapid.T, nodes []string) []mig.Request {
	var all []mig.Request
	created := noon.Add(-5 * time.Hour)
	for i := range upTo(t, "requests", 3) {
		r := mig.Request{
			Name: fmt.Sprintf("a%d", i+1), State: pick(t, "request state", requestStates...), Instances: slices.Clone(nodes),
			Duration: pick(t, "duration", 12*time.Hour, 7*24*time.Hour, 10*time.Minute, 0),
		}
		if rarely(t, "brings less") {
			r.Instances = r.Instances[:len(r.Instances)/2]
		}
		if r.State == mig.Failed || rarely(t, "met trouble") {
			r.Cause, r.Message = drawCause(t), "STOCKOUT: none"
		}
		if at := drawAge(t); at.After(created) {
			created = at
		}
		r.Created = created
		all = append(all, r)
	}
	return all
}

// drawInstance adds an instance with the location and maker of in.
func (w *world) drawInstance(t *rapid.T, name string, in mig.Instance) {
	in.Name, in.Zone = name, in.Region+"-a"
	if in.Region == europe {
		in.Zone = europe + "-b"
	}
	if in.Group == "" {
		in.Stamp = mig.Stamp{Version: 1, Cluster: cluster, NodeSet: pick(t, "inserted in", "bulk", "spot"), Job: 1}
	}
	in.Status = pick(t, "status", statuses...)
	in.Created = drawAge(t)
	in.Terminates = pick(t, "end", time.Time{}, noon.Add(5*time.Minute), noon.Add(9*time.Hour), noon.Add(-time.Minute))
	if rarely(t, "maintenance") {
		in.Maintained = noon.Add(time.Duration(upTo(t, "begins in", 3)) * 4 * time.Minute)
	}
	in.Model = w.cfg.FlexSetOf(name).Flex.Capacity.Model()
	w.instances[in.Zone+"/"+in.Name] = in
}
