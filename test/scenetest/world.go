// Package scenetest builds the observations of a pass, for tests of packages that read a
// scene.
package scenetest

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
)

// Noon is the time of a new world.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// The regions of the tests' nodesets.
const (
	US     = "us-central1"
	Europe = "europe-west4"
)

// Node states, as Slurm prints them.
const (
	PoweredDown = "IDLE+CLOUD+POWERED_DOWN"
	PoweringUp  = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
	Busy        = "ALLOCATED+CLOUD"
	Idle        = "IDLE+CLOUD"
)

// World is a cluster's configuration and a pass's observation of the cluster.
type World struct {
	Config *config.Config
	Snap   scene.Snapshot
}

// New returns a world at noon without nodes.
func New(cfg *config.Config) *World {
	return &World{Config: cfg, Snap: scene.Snapshot{
		Now:     Noon,
		Compute: scene.Compute{Unseen: map[string]error{}, Templates: map[string]scene.Template{}},
		Memory:  scene.Memory{Refused: map[string]scene.Refusal{}},
		Slurm:   scene.Slurm{Told: map[uint32]string{}, Records: map[uint32]slurm.JobRecord{}, Settings: scene.Settings{BackfillWindow: 24 * time.Hour}},
	}}
}

// Cluster returns the configuration of cluster alpha in project demo, with nodesets written by
// FlexSet and other sections.
func Cluster(sections string, nodesets ...string) *config.Config {
	text := "slurm_cluster_name: alpha\nproject: demo\n" + sections + "\nnodeset:\n"
	for _, set := range nodesets {
		text += "  " + set + "\n"
	}
	return must.Get(config.Parse("alpha.yaml", []byte(text)))
}

// FlexSet returns the configuration of a flex-start nodeset, such as "a3" in "us-central1-a",
// with its size and its dws_flex.
func FlexSet(name, zone, size, flex string) string {
	region := "projects/demo/regions/" + zone[:len(zone)-2]
	return fmt.Sprintf("%s: {%s, instance_template: %s/instanceTemplates/%s, subnetwork: %s/subnetworks/default, zone_policy_allow: [%s], dws_flex: {%s}}",
		name, size, region, name, region, zone, flex)
}

// FlexTemplate returns an instance template for flex-start machines of a type.
func FlexTemplate(machineType string) scene.Template {
	return scene.Template{Template: mig.Template{
		MachineType: machineType, Model: "FLEX_START", MaxRun: mig.MaxDuration, Termination: "DELETE",
		Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
	}}
}

// Names returns the names in a hostlist.
func Names(list string) []string { return must.Get(slurm.Expand(list)) }

// Scene returns the scene of the world after Slurm has planned the pending jobs.
func (w *World) Scene() *scene.Scene {
	snap := w.Snap
	snap.Jobs = slices.Clone(snap.Jobs)
	PlanJobs(w.Config.Cluster, &snap)
	return scene.Of(w.Config, snap)
}

// Nodes sets the state of nodes in Slurm, and adds nodes that Slurm did not show yet.
func (w *World) Nodes(list, state string) {
	for _, name := range Names(list) {
		if n := w.Node(name); n != nil {
			n.State = slurm.ParseState(state)
		} else {
			w.Snap.Nodes = append(w.Snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState(state)})
		}
	}
}

// Node returns a node that Slurm shows, or nil.
func (w *World) Node(name string) *slurm.Node {
	i := slices.IndexFunc(w.Snap.Nodes, func(n slurm.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &w.Snap.Nodes[i]
}

// Requeued is the record of a job that Slurm requeues if it loses its nodes.
var Requeued = slurm.JobRecord{Batch: true, Requeue: true}

// Job adds a job with these nodes to the queue, or replaces the job with this ID. Slurm
// requeues the job if it loses its nodes.
func (w *World) Job(id uint32, partition, list string, state slurm.JobState) *slurm.Job {
	w.Snap.Records[id] = Requeued
	job := slurm.Job{ID: id, ArrayID: id, Partition: partition, State: state, Nodes: Names(list)}
	i := slices.IndexFunc(w.Snap.Jobs, func(j slurm.Job) bool { return j.ID == id })
	if i < 0 {
		i, w.Snap.Jobs = len(w.Snap.Jobs), append(w.Snap.Jobs, job)
	}
	w.Snap.Jobs[i] = job
	return &w.Snap.Jobs[i]
}

// Group creates a group in its nodeset's region, or replaces the group with this name. The
// group was created an hour ago. A stamp without a cluster gets this cluster's name.
func (w *World) Group(name string, stamp mig.Stamp, requests ...mig.Request) *mig.Group {
	region, _ := w.placeOf(func(ns *config.NodeSet) bool { return ns.Name == stamp.NodeSet })
	if stamp.Cluster == "" {
		stamp.Version, stamp.Cluster = mig.StampVersion, w.Config.Cluster
	}
	w.NoGroup(name)
	w.Snap.Groups = append(w.Snap.Groups, mig.Group{
		Name: name, Region: region, Stamp: stamp, Created: w.Snap.Now.Add(-time.Hour), Requests: requests,
	})
	return &w.Snap.Groups[len(w.Snap.Groups)-1]
}

// Requested creates a group for a job's nodes, with a request for them that Compute accepted that long ago.
func (w *World) Requested(job uint32, list string, ago time.Duration) *mig.Group {
	set := w.Config.FlexSetOf(Names(list)[0]).Name
	return w.Group(memo.JobGroup(w.Config.Cluster, set, job, 0), mig.Stamp{NodeSet: set, Job: job}, mig.Request{
		Name: "a1", State: mig.Accepted, Instances: Names(list), Duration: 4 * time.Hour, Created: w.Snap.Now.Add(-ago),
	})
}

// NoGroup removes a group.
func (w *World) NoGroup(name string) {
	w.Snap.Groups = slices.DeleteFunc(slices.Clone(w.Snap.Groups), func(g mig.Group) bool { return g.Name == name })
}

// Machines creates running machines in a group, created now. It returns them as a slice of the
// snapshot.
func (w *World) Machines(list, group string) []mig.Instance {
	before := len(w.Snap.Instances)
	for _, name := range Names(list) {
		region, zone := w.placeOf(func(ns *config.NodeSet) bool { return ns == w.Config.FlexSetOf(name) })
		w.Snap.Instances = append(w.Snap.Instances, mig.Instance{
			Name: name, Region: region, Zone: zone, Group: group, Status: "RUNNING", Model: mig.FlexStart, Created: w.Snap.Now,
		})
	}
	return w.Snap.Instances[before:]
}

// Machine creates a machine as Machines does.
func (w *World) Machine(name, group string) *mig.Instance { return &w.Machines(name, group)[0] }

// placeOf returns the region and the first zone of the first matching nodeset, or of the first
// nodeset if none matches.
func (w *World) placeOf(is func(*config.NodeSet) bool) (region, zone string) {
	sets := w.Config.FlexSets()
	set := sets[max(0, slices.IndexFunc(sets, is))]
	return set.Region, set.Zones[0]
}
