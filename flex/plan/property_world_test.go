package plan_test

import (
	"errors"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// house has nodesets of every kind: for whole jobs, for single nodes including static nodes, with
// placement, with bulk insert, with Spot capacity, and one that slurmflex does not manage.
const house = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3, one, near, bulk, spot]}
  shared: {partition_nodeset: [a3, one, bulk, spot, cpu]}
nodeset:
  a3: {node_count_dynamic_max: 6, instance_template: projects/demo/global/instanceTemplates/a3,
    subnetwork: &us projects/demo/regions/us-central1/subnetworks/default,
    zone_policy_allow: [us-central1-a, us-central1-b], dws_flex: {use_job_duration: true}}
  one: {node_count_static: 2, node_count_dynamic_max: 2, instance_template: projects/demo/global/instanceTemplates/one,
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default, zone_policy_allow: [europe-west4-b],
    dws_flex: {provisioning: node_by_node}}
  near: {node_count_dynamic_max: 24, instance_template: projects/demo/global/instanceTemplates/near, subnetwork: *us,
    zone_policy_allow: [us-central1-a], enable_placement: true, placement_max_distance: 1,
    dws_flex: {max_run_duration: 43200}}
  bulk: {node_count_dynamic_max: 2, instance_template: projects/demo/global/instanceTemplates/bulk, subnetwork: *us,
    zone_policy_allow: [us-central1-a], dws_flex: {use_bulk_insert: true}}
  spot: {node_count_static: 1, node_count_dynamic_max: 2, instance_template: projects/demo/global/instanceTemplates/spot, subnetwork: *us,
    zone_policy_allow: [us-central1-a, us-central1-b], capacity: spot}
  cpu: {node_count_dynamic_max: 2}
`

const (
	cluster = "alpha"
	america = "us-central1"
	europe  = "europe-west4"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// usual are the states that Slurm shows in a node's normal life cycle.
var usual = []string{
	"IDLE+CLOUD+POWERED_DOWN", "ALLOCATED+CLOUD+POWERED_DOWN", "IDLE+CLOUD+POWERED_DOWN+POWER_UP",
	"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP+POWER_DOWN", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP",
	"IDLE+CLOUD+NOT_RESPONDING+POWERING_UP", "DOWN+CLOUD+POWERING_UP", "IDLE+CLOUD+DRAIN+POWERING_UP",
	"ALLOCATED+CLOUD", "ALLOCATED+CLOUD+POWER_DOWN", "IDLE+CLOUD", "IDLE+CLOUD+COMPLETING+POWER_DOWN",
	"IDLE+CLOUD+NOT_RESPONDING", "DOWN+CLOUD+NOT_RESPONDING", "DOWN+CLOUD+POWERED_DOWN",
	"IDLE+CLOUD+POWERING_DOWN", "ALLOCATED+CLOUD+POWERING_DOWN",
}

// theRest are flags that may occur with any state. Slurm does not have the last one yet.
var theRest = []string{
	"COMPLETING", "DRAIN", "FAIL", "MAINTENANCE", "POWER_DOWN", "POWER_UP", "POWERED_DOWN", "POWERING_UP",
	"POWERING_DOWN", "NOT_RESPONDING", "PLANNED", "RESERVED", "LEVITATING",
}

var jobStates = []slurm.JobState{
	slurm.JobConfiguring, slurm.JobRunning, slurm.JobCompleting, slurm.JobPending, slurm.JobSuspended, slurm.JobCancelled,
	slurm.JobNodeFail, slurm.JobRequeued, slurm.JobPowerUpNode, slurm.JobStageOut, "MEDITATING",
}

var requestStates = []mig.RequestState{mig.Creating, mig.Accepted, mig.Succeeded, mig.Failed, mig.Cancelled, "PONDERING"}

var statuses = []string{
	"RUNNING", "PROVISIONING", "STAGING", "STOPPING", "TERMINATED", "STOPPED", "SUSPENDED", "REPAIRING", "DREAMING",
}

// world is the actual state of Slurm and Compute. A snapshot shows the visible part of it.
type world struct {
	cfg       *config.Config
	nodes     map[string]slurm.Node
	jobs      map[uint32]slurm.Job
	groups    map[string]mig.Group    // by region/name
	instances map[string]mig.Instance // by zone/name
	scene.Snapshot
}

// snapshot returns what a pass sees: nothing of Compute in unseen regions.
func (w *world) snapshot() scene.Snapshot {
	s := w.Snapshot
	s.Nodes, s.Jobs, s.Groups, s.Instances = inOrder(w.nodes), inOrder(w.jobs), nil, nil
	for _, g := range inOrder(w.groups) {
		if s.Unseen[g.Region] == nil {
			s.Groups = append(s.Groups, g)
		}
	}
	for _, in := range inOrder(w.instances) {
		if s.Unseen[in.Region] == nil {
			s.Instances = append(s.Instances, in)
		}
	}
	s.BackfillWindow = 24 * time.Hour
	return s
}

func inOrder[K interface{ ~string | ~uint32 }, V any](m map[K]V) []V {
	all := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}

// drawWorld draws a world of jobs with nodes at any point of their life cycle, and of nodes in states
// that may be impossible.
func drawWorld(t *rapid.T) *world {
	w := &world{
		cfg: drawConfig(t), nodes: map[string]slurm.Node{}, jobs: map[uint32]slurm.Job{},
		groups: map[string]mig.Group{}, instances: map[string]mig.Instance{},
		Snapshot: scene.Snapshot{
			Now:     noon,
			Slurm:   scene.Slurm{Told: map[uint32]string{}, Records: map[uint32]slurm.JobRecord{}},
			Compute: scene.Compute{Templates: map[string]scene.Template{}, Unseen: map[string]error{}},
			Memory:  scene.Memory{Refused: map[string]scene.Refusal{}, Missed: map[string]bool{}, Preempted: map[string]bool{}},
		},
	}
	for _, set := range w.flexSets() {
		w.Templates[set.Template] = scenetest.FlexTemplate("a4-highgpu-8g")
	}
	w.ResumeTimeout = pick(t, "ResumeTimeout", 0, time.Hour, 18*time.Hour)
	for _, name := range distinct(t, "powered down", 6, w.nodeNames()) {
		w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState(usual[0])}
	}
	for range upTo(t, "jobs", 4) {
		w.drawStory(t)
	}
	for range upTo(t, "odd nodes", 3) {
		w.drawNode(t, pick(t, "odd node", w.nodeNames()...))
	}
	if rarely(t, "heterogeneous") {
		w.joinJobs()
	}
	w.drawMemory(t)
	return w
}

// houseConfig returns the configuration of the house.
func houseConfig(t interface{ Fatal(...any) }) *config.Config {
	cfg, err := config.Parse("house.yaml", []byte(house))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func drawConfig(t *rapid.T) *config.Config {
	cfg := houseConfig(t)
	cfg.Options.MaxActiveRequests = 1 + upTo(t, "max_active_requests - 1", 3)
	cfg.Options.MaxActivePerUser = upTo(t, "max_active_requests_per_user", 2)
	cfg.Options.YieldAfter = pick(t, "yield_after", 0, 10*time.Minute, time.Hour)
	cfg.Options.MaxDeletions = upTo(t, "max_deletions_per_pass", 2)
	for _, set := range cfg.NodeSets {
		if set.Flex == nil {
			continue
		}
		set.Flex.ShareRequests = pick(t, "share_requests", 1, 2, 4)
		set.Flex.MaxAttempts = 1 + upTo(t, "max_attempts - 1", 2)
		set.Flex.BootTimeout = pick(t, "boot_timeout", 0, 10*time.Minute)
		set.Flex.BootFailures = pick(t, "boot_failures", 0, 2)
		set.Flex.GangTimeout = pick(t, "gang_timeout", 0, 10*time.Minute)
		set.Flex.OnLeaseEnd = pick(t, "on_lease_end", "none", config.RequeueFirst)
		set.Flex.LeaseEndWarning = pick(t, "lease_end_warning", 0, 10*time.Minute)
		set.Flex.KeepIdle = pick(t, "keep_idle", 0, 30*time.Minute)
		set.Flex.RenewBefore = pick(t, "renew_before", 0, 10*time.Minute)
		set.Flex.ProvisionTimeout = pick(t, "provision_timeout", 0, 15*time.Minute, time.Hour)
		set.Flex.OnProvisionTimeout = pick(t, "on_provision_timeout", "requeue", "hold", "cancel")
		if set.Flex.UseBulkInsert && rapid.Bool().Draw(t, "comes at once") {
			set.Flex.Capacity, set.Flex.MaxRunDuration = config.Spot, 0
		}
	}
	return cfg
}

// nodeNames returns up to six nodes of each flex nodeset.
func (w *world) nodeNames() []string {
	var names []string
	for _, set := range w.cfg.NodeSets {
		if set.Flex != nil {
			names = append(names, w.nodesOf(set)...)
		}
	}
	return names
}

func (w *world) nodesOf(set *config.NodeSet) []string {
	var names []string
	for i := range min(set.Size(), 6) {
		names = append(names, set.NodeName(cluster, i))
	}
	return names
}

// flexSets returns the nodesets that slurmflex manages.
func (w *world) flexSets() []*config.NodeSet {
	return slices.DeleteFunc(slices.Clone(w.cfg.NodeSets), func(s *config.NodeSet) bool { return s.Flex == nil })
}

// drawMemory draws what earlier passes remember, unread regions, and the records of jobs.
func (w *world) drawMemory(t *rapid.T) {
	for _, region := range []string{america, europe} {
		if rarely(t, "unseen") {
			w.Unseen[region] = errors.New("read instances: 503")
		}
	}
	for _, g := range inOrder(w.groups) {
		if rarely(t, "refused") {
			w.Refused[g.Name] = scene.Refusal{
				Trouble: mig.Trouble{Cause: drawCause(t), Message: "no"}, At: drawAge(t), Times: 1 + upTo(t, "times - 1", 2),
			}
		}
	}
	for _, j := range inOrder(w.jobs) {
		if rarely(t, "refused at once") {
			w.Refused[memo.JobGroup(cluster, "spot", j.ID, 0)] = scene.Refusal{Trouble: mig.Trouble{Cause: drawCause(t), Message: "no"}, At: drawAge(t), Times: 1}
		}
	}
	for _, n := range inOrder(w.nodes) {
		if rapid.Bool().Draw(t, "missed") {
			w.Missed[n.Name], w.Preempted[n.Name] = true, rapid.Bool().Draw(t, "preempted")
		}
	}
	for _, j := range inOrder(w.jobs) {
		if !rarely(t, "record unread") {
			rec := slurm.JobRecord{Batch: !rarely(t, "of salloc"), Requeue: !rarely(t, "no-requeue")}
			if rarely(t, "asks for the signal") {
				rec.Comment = "slurmflex:signal"
			}
			w.Records[j.ID] = rec
		}
		if rarely(t, "told") {
			w.Told[j.ID] = pick(t, "text", memo.OwnComment+"wait and see", "ask Operations", memo.OwnComment+memo.Unplaced)
		}
	}
}

func drawCause(t *rapid.T) mig.Cause {
	return rapid.SampledFrom(mig.Causes()).Draw(t, "cause")
}

// drawAge draws a time between a moment and some hours ago.
func drawAge(t *rapid.T) time.Time {
	ago := pick(t, "ago", 5*time.Second, 59*time.Second, 3*time.Minute, 10*time.Minute, 31*time.Minute, 5*time.Hour)
	return noon.Add(-ago)
}

func pick[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }

func upTo(t *rapid.T, what string, most int) int { return rapid.IntRange(0, most).Draw(t, what) }

// rarely returns true once in eight times, and shrinks to false.
func rarely(t *rapid.T, what string) bool { return upTo(t, what, 7) == 7 }

// distinct draws up to most different values.
func distinct(t *rapid.T, what string, most int, from []string) []string {
	if len(from) == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, min(most, len(from)), rapid.ID[string]).Draw(t, what)
}
