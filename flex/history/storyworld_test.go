package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// at is the time that many minutes after noon.
func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// queueWorld is a cluster with the stories of its jobs. It has nodeset a3 with partition train. Group
// g812 belongs to job 812 and has a request of 12:04. Tests write n0 for alpha-a3-0.
type queueWorld struct {
	*scenetest.World
	stories openStories
	ended   []view.Past
	plan    plan.Plan
}

func newQueueWorld() *queueWorld {
	w := &queueWorld{World: scenetest.New(scenetest.Cluster("partitions: {train: {partition_nodeset: [a3]}, cpu: {partition_nodeset: [cpu]}}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8", ""),
		scenetest.FlexSet("g2", "europe-west4-b", "node_count_dynamic_max: 1", ""), "cpu: {node_count_dynamic_max: 2}"))}
	w.Snap.Templates[w.Config.FlexSet("a3").Template] = scenetest.FlexTemplate("a3-highgpu-8g")
	w.Group("g700", mig.Stamp{NodeSet: "a3", Job: 700})
	w.Group("g701", mig.Stamp{NodeSet: "a3", Job: 701})
	w.Group("g812", mig.Stamp{NodeSet: "a3", Job: 812}, mig.Request{
		Name: "a2", State: mig.Succeeded, Duration: time.Hour, Created: at(4), Instances: names("n[0-1]"),
	})
	return w
}

// names returns the nodes of a hostlist in which n0 stands for alpha-a3-0.
func names(list string) []string {
	if list == "" {
		return nil
	}
	return scenetest.Names(strings.ReplaceAll(list, "n", "alpha-a3-"))
}

// seen is what a pass sees of some nodes.
type seen func(*queueWorld)

// states are the states of nodes in Slurm that make machines be in these states.
var states = map[view.State]string{
	view.Booting: scenetest.PoweringUp, view.Starting: scenetest.Busy, view.Running: scenetest.Busy, view.Idle: scenetest.Idle,
	view.Deleting: "IDLE+CLOUD+POWERING_DOWN",
}

// machines are machines of a group that were created at a time.
func machines(list string, state view.State, since time.Time, group string) seen {
	return func(w *queueWorld) {
		w.Nodes(strings.ReplaceAll(list, "n", "alpha-a3-"), states[state])
		made := w.Machines(strings.ReplaceAll(list, "n", "alpha-a3-"), group)
		for i := range made {
			made[i].Created = since
		}
	}
}

// bothAre makes the machines of job 812.
func bothAre(state view.State, since time.Time) seen { return machines("n[0-1]", state, since, "g812") }

// lacking are the nodes of job 812 without machines.
func lacking(wait demand.Wait) seen {
	return func(w *queueWorld) {
		w.Nodes("alpha-a3-[0-1]", scenetest.PoweringUp)
		wait.Job, wait.NodeSet, wait.Region, wait.Group, wait.Nodes = 812, "a3", scenetest.US, "g812", names("n[0-1]")
		w.plan.Waits = append(w.plan.Waits, wait)
	}
}

// see makes a pass some minutes after noon that sees these nodes and jobs.
func (w *queueWorld) see(minutes int, nodes seen, jobs ...slurm.Job) {
	w.Snap.Now, w.Snap.Nodes, w.Snap.Instances, w.Snap.Reservations, w.Snap.Unread = at(minutes), nil, nil, nil, nil
	w.Snap.Unseen, w.plan = map[string]error{}, plan.Plan{}
	w.Nodes("alpha-a3-[0-7]", scenetest.PoweredDown)
	if nodes != nil {
		nodes(w)
	}
	w.Snap.Jobs = jobs
	w.ended = append(w.ended, w.stories.see(w.Scene(), w.plan, false)...)
}

// job returns job 812 on nodes.
func job(state slurm.JobState, nodes string, start time.Time) slurm.Job {
	return slurm.Job{ID: 812, ArrayID: 812, Partition: "train", State: state, Nodes: names(nodes), Start: start}
}

// pends returns job 812 without nodes.
func pends() slurm.Job { return job(slurm.JobPending, "", time.Time{}) }

// runs returns job 812, which has started on both nodes that many minutes after noon.
func runs(start int) slurm.Job { return job(slurm.JobRunning, "n[0-1]", at(start)) }

// story returns the story of a job that is in the queue or has ended; nil if it is unknown.
func (w *queueWorld) story(name string) *view.Past {
	if open := w.stories.of(name); open != nil {
		return open
	}
	for _, story := range slices.Backward(w.ended) {
		if story.Job.Is(name) {
			return &story
		}
	}
	return nil
}

// events returns the story of job 812.
func (w *queueWorld) events() (told []string) {
	for _, e := range w.story("812").Events {
		told = append(told, strings.ReplaceAll(fmt.Sprintf("%s %s %s", e.At.Format("15:04"), e.Kind, e.Text), "alpha-a3-", "n"))
	}
	return told
}
