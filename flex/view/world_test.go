package view

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
  short: {partition_name: short, enable_job_exclusive: true, partition_nodeset: [g2]}
  always: {partition_name: always, partition_nodeset: [st]}
  cpu: {partition_name: cpu, partition_nodeset: [cpu]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {use_job_duration: true, provision_timeout: 86400, on_provision_timeout: hold, boot_failures: 2}
  g2:
    nodeset_name: g2
    node_count_dynamic_max: 4
    instance_template: projects/demo/regions/europe-west4/instanceTemplates/g2
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default
    zone_policy_allow: [europe-west4-b]
    dws_flex: {provisioning: node_by_node, max_run_duration: 7200}
  st:
    nodeset_name: st
    node_count_static: 2
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {}
  cpu:
    nodeset_name: cpu
    node_count_dynamic_max: 2
slurmflex:
  max_active_requests: 2
`

// spot has nodeset a3 be of Spot capacity.
func (s *world) spot() {
	flex := s.cfg.FlexSetOf("alpha-a3-0").Flex
	flex.Capacity, flex.MaxRunDuration, flex.UseJobDuration, flex.UseBulkInsert = config.Spot, 0, false, true
}

const (
	us     = "us-central1"
	europe = "europe-west4"
	rising = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP+POWER_DOWN"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is what a pass at noon sees. It begins with every node powered down.
type world struct {
	t    testing.TB
	cfg  *config.Config
	snap scene.Snapshot
	did  History
}

func newWorld(t testing.TB) *world {
	t.Helper()
	cfg, err := config.Parse("alpha.yaml", []byte(alpha))
	require.NoError(t, err)
	s := &world{t: t, cfg: cfg, snap: scene.Snapshot{
		Now: noon, Unseen: map[string]error{}, Refused: map[string]scene.Refusal{}, Told: map[uint32]string{}, Requeues: map[uint32]bool{},
		Templates: map[string]scene.Template{},
	}}
	for _, link := range []string{"projects/demo/regions/us-central1/instanceTemplates/a3", "projects/demo/regions/europe-west4/instanceTemplates/g2"} {
		machine := map[string]string{"a3": "a3-highgpu-8g", "g2": "g2-standard-48"}[link[len(link)-2:]]
		s.snap.Templates[link] = scene.Template{Template: mig.Template{
			Link: link, MachineType: machine, Model: "FLEX_START", MaxRun: time.Hour, Termination: "DELETE",
			Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
		}}
	}
	for _, p := range cfg.Partitions {
		s.snap.Partitions = append(s.snap.Partitions, slurm.Partition{Name: p.Name, Up: true, MaxTime: slurm.Limit{Kind: slurm.Unlimited}})
	}
	for _, list := range []string{"alpha-a3-[0-7]", "alpha-g2-[0-3]", "alpha-st-[0-1]", "alpha-cpu-[0-1]"} {
		for _, name := range expand(t, list) {
			s.snap.Nodes = append(s.snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")})
		}
	}
	s.machines("alpha-st-node-0", "st", "alpha-st-0", 5*24*time.Hour)
	s.machines("alpha-st-node-1", "st", "alpha-st-1", 5*24*time.Hour)
	s.nodes("alpha-st-[0-1]", "IDLE+CLOUD")
	return s
}

func expand(t testing.TB, list string) []string {
	t.Helper()
	names, err := slurm.Expand(list)
	require.NoError(t, err)
	return names
}

// nodes gives nodes another state.
func (s *world) nodes(list, state string, reason ...string) {
	s.t.Helper()
	for _, name := range expand(s.t, list) {
		for i := range s.snap.Nodes {
			if n := &s.snap.Nodes[i]; n.Name == name {
				n.State = slurm.ParseState(state)
				if len(reason) == 2 {
					n.Reason, n.ReasonBy = reason[0], reason[1]
				}
			}
		}
	}
}

// job puts a job of ada's into the queue that was given its nodes at 10:30.
func (s *world) job(id uint32, partition, list string, state slurm.JobState) *slurm.Job {
	s.t.Helper()
	s.snap.Jobs = append(s.snap.Jobs, slurm.Job{
		ID: id, ArrayID: id, Limit: slurm.ParseLimit("4:00:00"), State: state, Nodes: expand(s.t, list), User: "ada",
		Partition: partition, Priority: uint64(1000 - id), Start: noon.Add(-90 * time.Minute),
	})
	s.snap.Requeues[id] = true
	return &s.snap.Jobs[len(s.snap.Jobs)-1]
}

// waiting has a job of partition train wait for its nodes.
func (s *world) waiting(id uint32, list string) {
	s.t.Helper()
	s.job(id, "train", list, slurm.JobConfiguring)
	s.nodes(list, rising)
}

// refusing makes Compute refuse the request of job 812. Its ninth attempt is in flight.
func (s *world) refusing() {
	s.t.Helper()
	s.waiting(812, "alpha-a3-[0-1]")
	s.group(812, "alpha-a3-job-812", s.request("a1", mig.Creating, "alpha-a3-[0-1]", "", 6*time.Second))
	s.snap.Asking = map[string]bool{"alpha-a3-0": true, "alpha-a3-1": true}
	s.snap.Refused["alpha-a3-job-812"] = scene.Refusal{Failing: scene.Failing{
		Cause: mig.CauseRate, Message: "429 rateLimitExceeded: Too Many Requests", Times: 8, Since: noon.Add(-76 * time.Second), Last: noon.Add(-6 * time.Second),
	}}
}

// movable has job 812 wait for its nodes while two kept machines are idle that fit it.
func (s *world) movable() {
	s.t.Helper()
	s.waiting(812, "alpha-a3-[0-1]")
	s.cfg.FlexSetOf("alpha-a3-3").Flex.KeepIdle = 30 * time.Minute
	s.machines("alpha-a3-job-700", "a3", "alpha-a3-[3-4]", 9*time.Hour)
	s.nodes("alpha-a3-[3-4]", "IDLE+CLOUD")
	for i := 3; i <= 4; i++ {
		s.snap.Nodes[i].LastBusyTime = noon.Add(-time.Minute)
	}
}

// group makes a group of nodeset a3 for a job, with these requests.
func (s *world) group(job uint32, name string, requests ...mig.Request) {
	s.snap.Groups = append(s.snap.Groups, mig.Group{
		Name: name, Region: us, Created: noon.Add(-89 * time.Minute), Requests: requests,
		Stamp: mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: job},
	})
}

// request was made that long before noon.
func (s *world) request(name string, state mig.RequestState, list, message string, ago time.Duration) mig.Request {
	s.t.Helper()
	r := mig.Request{
		Name: name, State: state, Instances: expand(s.t, list), Duration: 4 * time.Hour, Created: noon.Add(-ago), Message: message,
	}
	if message != "" {
		r.Cause = mig.CauseCapacity
	}
	return r
}

// machines are instances that were made two hours before noon.
func (s *world) machines(group, nodeset, list string, left time.Duration) {
	s.t.Helper()
	region, zone := us, us+"-a"
	if nodeset == "g2" {
		region, zone = europe, europe+"-b"
	}
	stamp := mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: nodeset, Node: list}
	request := s.request("a1", mig.Succeeded, list, "", 2*time.Hour)
	request.Duration = left + 2*time.Hour
	s.snap.Groups = append(s.snap.Groups, mig.Group{
		Name: group, Region: region, Stamp: stamp, Created: noon.Add(-2 * time.Hour), Requests: []mig.Request{request},
	})
	for _, name := range expand(s.t, list) {
		in := mig.Instance{
			Name: name, Zone: zone, Region: region, Group: group, Status: "RUNNING", Model: mig.FlexStart, Created: noon.Add(-2 * time.Hour),
		}
		if left > 0 {
			in.Terminates = noon.Add(left)
		}
		s.snap.Instances = append(s.snap.Instances, in)
	}
}

// unread has a region not be read that was read at 11:53.
func (s *world) unread(region string) {
	known := scene.LastKnown{At: noon.Add(-7 * time.Minute)}
	for _, g := range s.snap.Groups {
		if g.Region == region {
			known.Groups = append(known.Groups, g)
		}
	}
	for _, in := range s.snap.Instances {
		if in.Region == region {
			known.Instances = append(known.Instances, in)
		}
	}
	s.snap.Groups = slices.DeleteFunc(s.snap.Groups, func(g mig.Group) bool { return g.Region == region })
	s.snap.Instances = slices.DeleteFunc(s.snap.Instances, func(in mig.Instance) bool { return in.Region == region })
	s.snap.LastKnown = map[string]scene.LastKnown{region: known}
	s.snap.Unseen[region] = errors.New("list groups of " + region + ": 503 backendError")
}

// done notes an action of that long before noon.
func (s *world) done(a plan.Action, ago time.Duration, err error) {
	s.did.Add(Record(a, noon.Add(-ago), 1500*time.Millisecond, err))
}

// view is what the daemon would show a minute after noon.
func (s *world) view() View {
	v := Of(scene.Of(s.cfg, s.snap), plan.Compute(scene.Of(s.cfg, s.snap)))
	v.Daemon = &Daemon{LastGoodAt: noon, Interval: Seconds(30 * time.Second)}
	v.Actions = s.did.Last()
	return v
}

// busy has a bit of everything.
func busy(t testing.TB) *world {
	t.Helper()
	s := newWorld(t)
	s.waiting(812, "alpha-a3-[0-1]")
	s.group(812, "alpha-a3-job-812",
		s.request("a1", mig.Failed, "alpha-a3-[0-1]", "LIMIT_EXCEEDED: not in time", 80*time.Minute),
		s.request("a2", mig.Accepted, "alpha-a3-[0-1]", "ZONE_RESOURCE_POOL_EXHAUSTED: the zone does not have enough resources for it now", 70*time.Minute))
	s.job(813, "train", "alpha-a3-[2-4]", slurm.JobRunning)
	s.nodes("alpha-a3-[2-4]", "ALLOCATED+CLOUD+POWER_DOWN")
	s.machines("alpha-a3-job-813", "a3", "alpha-a3-[2-4]", 2*time.Hour)
	s.snap.Groups[len(s.snap.Groups)-1].Stamp = mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 813}
	s.waiting(814, "alpha-a3-5")
	s.group(814, "alpha-a3-job-814", s.request("a1", mig.Failed, "alpha-a3-5", "RESOURCE_POOL_EXHAUSTED: none left", 20*time.Second))
	s.waiting(815, "alpha-a3-6")
	pending := s.job(816, "train", "", slurm.JobPending)
	pending.Reason, pending.Start, pending.User = "Priority", time.Time{}, "grace"
	s.nodes("alpha-a3-7", "IDLE+CLOUD+DRAIN+POWERED_DOWN", "bad GPU", "root")
	s.snap.Unseen[europe] = errors.New("list groups of europe-west4: 503 backendError: try again")
	s.done(plan.CreateRequest{
		Of: plan.Of{Group: mig.GroupID{Region: us, Name: "alpha-a3-job-812"}}, Spec: mig.RequestSpec{Name: "a2", Instances: expand(t, "alpha-a3-[0-1]"), Duration: 4 * time.Hour},
		Why: "job 812 waits for alpha-a3-[0-1]",
	}, 70*time.Minute, nil)
	for _, ago := range []time.Duration{2 * time.Minute, time.Minute} {
		s.done(plan.DeleteGroup{Of: plan.Of{Group: mig.GroupID{Region: us, Name: "alpha-a3-job-800"}}, Why: "it is empty and no job waits for it"}, ago, errors.New("503 backendError"))
	}
	return s
}

// golden compares a text with a file, and rewrites the file under UPDATE=1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// narrow checks that a text fits a terminal.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), Width, line)
	}
}
