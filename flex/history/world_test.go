package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

const alpha = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
  other: {partition_name: other, partition_nodeset: [g2]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_static: 1
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {}
  g2:
    nodeset_name: g2
    node_count_dynamic_max: 4
    instance_template: projects/demo/regions/us-central1/instanceTemplates/g2
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {}
`

const (
	us     = "us-central1"
	rising = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
	busy   = "ALLOCATED+CLOUD"
	free   = "IDLE+CLOUD"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is what passes see, and a recorder that watches them.
type world struct {
	t        *testing.T
	dir      string
	recorder *Recorder
	log      *zap.Logger
	accounts map[uint32]string
	cfg      *config.Config
	snap     scene.Snapshot
	plan     plan.Plan

	leasedOpen  int     // how often a lease was reported that goes on
	leasedEnded []Entry // those that were reported as ended
}

// leased notes what the recorder reports of leases.
func (w *world) leased(e *Entry, ended bool) {
	if !ended {
		w.leasedOpen++
		return
	}
	w.leasedEnded = append(w.leasedEnded, *e)
}

// newWorld is an empty cluster at noon that a recorder has looked at once.
func newWorld(t *testing.T) *world {
	t.Helper()
	cfg, err := config.Parse("alpha.yaml", []byte(alpha))
	require.NoError(t, err)
	cfg.Options.StateDir = t.TempDir()
	w := &world{t: t, dir: cfg.Options.StateDir, cfg: cfg, log: zap.NewNop(), accounts: map[uint32]string{}}
	w.snap.Now = noon
	w.snap.Templates = map[string]scene.Template{}
	for set, machine := range map[string]string{"a3": "a3-highgpu-8g", "g2": "g2-standard-4"} {
		link := cfg.FlexSets()[0].Template
		if set == "g2" {
			link = cfg.FlexSets()[1].Template
		}
		w.snap.Templates[link] = scene.Template{Template: mig.Template{MachineType: machine}}
	}
	w.restart()
	w.look(0)
	return w
}

// restart is another process.
func (w *world) restart() {
	w.recorder = New(w.cfg, w.log, func([]uint32) (map[uint32]string, error) { return w.accounts, nil }, w.leased)
}

// look is a pass that much later.
func (w *world) look(after time.Duration) {
	w.snap.Now = w.snap.Now.Add(after)
	w.recorder.Saw(scene.Of(w.cfg, w.snap), w.plan)
	w.recorder.Wait(time.Minute)
}

func (w *world) ago(d time.Duration) time.Time { return w.snap.Now.Add(-d) }

// node gives a node a state.
func (w *world) node(name, state string) {
	for i := range w.snap.Nodes {
		if w.snap.Nodes[i].Name == name {
			w.snap.Nodes[i].State = slurm.ParseState(state)
			return
		}
	}
	w.snap.Nodes = append(w.snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState(state)})
}

// job puts a job of ada's into the queue, or changes it.
func (w *world) job(id uint32, state slurm.JobState, start time.Time, nodes ...string) *slurm.Job {
	job := slurm.Job{ID: id, ArrayID: id, State: state, Start: start, Nodes: nodes, User: "ada", Partition: "train"}
	for i := range w.snap.Jobs {
		if w.snap.Jobs[i].ID == id {
			w.snap.Jobs[i] = job
			return &w.snap.Jobs[i]
		}
	}
	w.snap.Jobs = append(w.snap.Jobs, job)
	return &w.snap.Jobs[len(w.snap.Jobs)-1]
}

// requests are those of the group of that job in nodeset a3; none: there is no group.
func (w *world) requests(job uint32, requests ...mig.Request) {
	const name = "alpha-a3-job-812"
	for i := range w.snap.Groups {
		if w.snap.Groups[i].Name == name {
			w.snap.Groups = append(w.snap.Groups[:i:i], w.snap.Groups[i+1:]...)
			break
		}
	}
	if len(requests) > 0 {
		w.snap.Groups = append(w.snap.Groups, mig.Group{
			Name: name, Region: us, Requests: requests, Stamp: mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: job},
		})
	}
}

// machine makes an instance of that job's group now.
func (w *world) machine(name string) *mig.Instance {
	w.snap.Instances = append(w.snap.Instances, mig.Instance{
		Name: name, Region: us, Zone: us + "-a", Group: "alpha-a3-job-812", Status: "RUNNING", Created: w.snap.Now, Model: mig.FlexStart,
	})
	return &w.snap.Instances[len(w.snap.Instances)-1]
}

// gone removes all instances, and has looks find it so for long enough.
func (w *world) gone() {
	w.snap.Instances = nil
	w.look(0)
	w.look(2 * time.Minute)
}

// read are the lines of a kind.
func (w *world) read(kind Kind) (lines []Entry) {
	w.t.Helper()
	lines, _ = w.all(kind)
	return lines
}

// all are the lines of a kind, and what has not ended.
func (w *world) all(kind Kind) (lines, ongoing []Entry) {
	w.t.Helper()
	tally, err := Read(w.dir, "alpha", kind, func(e *Entry) {
		entry := *e
		entry.Uses = append([]Use(nil), e.Uses...)
		if e.Ongoing {
			ongoing = append(ongoing, entry)
		} else {
			lines = append(lines, entry)
		}
	})
	require.NoError(w.t, err)
	require.Zero(w.t, tally.Bad)
	require.Len(w.t, ongoing, tally.Ongoing)
	return lines, ongoing
}

// only is the one line of its kind.
func (w *world) only(kind Kind) Entry {
	w.t.Helper()
	entries := w.read(kind)
	require.Len(w.t, entries, 1)
	return entries[0]
}

func request(name string, state mig.RequestState, created time.Time, nodes ...string) mig.Request {
	return mig.Request{Name: name, State: state, Created: created, Instances: nodes, Duration: 4 * time.Hour}
}
