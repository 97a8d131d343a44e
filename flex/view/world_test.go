package view

import (
	"errors"
	"fmt"
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
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
	"slurmflex/test/scenetest"
)

const partitions = `
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
  short: {enable_job_exclusive: true, partition_nodeset: [g2]}
  always: {partition_nodeset: [st]}
  cpu: {partition_nodeset: [cpu]}
slurmflex: {max_active_requests: 2}
`

// flexSets returns the nodesets of the world.
func flexSets() []string {
	return []string{
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8",
			"use_job_duration: true, job_duration_margin: 0, provision_timeout: 86400, on_provision_timeout: hold, boot_failures: 2"),
		scenetest.FlexSet("g2", "europe-west4-b", "node_count_dynamic_max: 4", "provisioning: node_by_node, max_run_duration: 7200"),
		scenetest.FlexSet("st", "us-central1-a", "node_count_static: 2", ""),
		"cpu: {node_count_dynamic_max: 2}",
	}
}

// spot makes nodeset a3 use Spot capacity.
func (s *world) spot() {
	flex := s.Config.FlexSetOf("alpha-a3-0").Flex
	flex.Capacity, flex.MaxRunDuration, flex.UseJobDuration, flex.UseBulkInsert = config.Spot, 0, false, true
}

const rising = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP+POWER_DOWN"

var noon = scenetest.Noon

// at is the time that many minutes after noon.
func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// world is what a pass at noon sees. Initially, every node is powered down.
type world struct {
	*scenetest.World
	did   []Action // newest first
	pends bool     // jobs wait PENDING behind doors, not CONFIGURING
	dead  bool     // no daemon runs
}

func newWorld() *world {
	s := &world{World: scenetest.New(scenetest.Cluster(partitions, flexSets()...))}
	s.Snap.BackfillWindow = 8 * 24 * time.Hour
	for set, machine := range map[string]string{"a3": "a3-highgpu-8g", "g2": "g2-standard-48", "st": "a3-highgpu-8g"} {
		s.Snap.Templates[s.Config.FlexSetOf("alpha-"+set+"-0").Template] = scenetest.FlexTemplate(machine)
	}
	for _, p := range s.Config.Partitions {
		s.Snap.Partitions = append(s.Snap.Partitions, slurm.Partition{Name: p.Name, Up: true, Begins: true, MaxTime: slurm.Limit{Kind: slurm.Unlimited}})
	}
	s.Nodes("alpha-a3-[0-7],alpha-g2-[0-3],alpha-st-[0-1],alpha-cpu-[0-1]", scenetest.PoweredDown)
	s.machines("alpha-st-node-0", "alpha-st-0", 5*24*time.Hour)
	s.machines("alpha-st-node-1", "alpha-st-1", 5*24*time.Hour)
	s.Nodes("alpha-st-[0-1]", scenetest.Idle)
	return s
}

// because sets the state of nodes, and the reason that a user has set.
func (s *world) because(list, state, reason, by string) {
	s.Nodes(list, state)
	for _, name := range scenetest.Names(list) {
		n := s.Node(name)
		n.Reason, n.ReasonBy = reason, by
	}
}

// job adds a job of user ada that got its nodes at 10:30.
func (s *world) job(id uint32, partition, list string, state slurm.JobState) *slurm.Job {
	j := s.Job(id, partition, list, state)
	j.Limit, j.User, j.Priority, j.Start = slurm.ParseLimit("4:00:00"), "ada", uint64(1000-id), at(-90)
	return j
}

// waiting adds a job of partition train that waits for its nodes.
func (s *world) waiting(id uint32, list string) {
	if s.pends {
		s.behindDoor(id, list)
		return
	}
	s.job(id, "train", list, slurm.JobConfiguring)
	s.Nodes(list, rising)
}

// waits adds job 812, which waits for two nodes.
func (s *world) waits() { s.waiting(812, "alpha-a3-[0-1]") }

// behindDoor adds a job that waits pending for machines on these nodes.
func (s *world) behindDoor(id uint32, list string) {
	j := s.pending(id, "ReqNodeNotAvail, May be reserved for other job")
	j.NodeCount, j.Priority, j.Reservation = len(scenetest.Names(list)), uint64(1000-id), memo.DoorReservation("alpha", fmt.Sprint(id), at(-90))
	s.reserve(j.Reservation, list, at(4)).Users = []string{"ada"}
}

// reserve adds a reservation of nodes from a time on.
func (s *world) reserve(name, list string, start time.Time) *slurm.Reservation {
	s.Snap.Reservations = append(s.Snap.Reservations, slurm.Reservation{Name: name, Nodes: scenetest.Names(list), Start: start})
	return &s.Snap.Reservations[len(s.Snap.Reservations)-1]
}

// refusing makes Compute reject the request of job 812. Its ninth attempt is in flight.
func (s *world) refusing() {
	s.waits()
	s.group(812, request("a1", mig.Creating, "alpha-a3-[0-1]", "", 6*time.Second))
	s.Snap.Asking = map[string]bool{"alpha-a3-0": true, "alpha-a3-1": true}
	s.Snap.Refused["alpha-a3-job-812"] = scene.Refusal{Failing: scene.Failing{
		Trouble: mig.Trouble{Cause: mig.CauseRate, Message: "429 rateLimitExceeded: Too Many Requests"}, Times: 8, Since: noon.Add(-76 * time.Second), Last: noon.Add(-6 * time.Second),
	}}
}

// forbidden makes Compute reject the request of job 812 for good.
func (s *world) forbidden(message string) {
	s.Snap.Refused["alpha-a3-job-812"] = scene.Refusal{Trouble: mig.Trouble{Cause: mig.CausePermission, Message: message}, At: noon, Times: 1}
}

// group creates the group for a job's nodes in nodeset a3, with these requests.
func (s *world) group(job uint32, requests ...mig.Request) {
	g := s.Group(fmt.Sprint("alpha-a3-job-", job), mig.Stamp{NodeSet: "a3", Job: job}, requests...)
	g.Created = at(-89)
}

// request returns a request that was created that long before noon.
func request(name string, state mig.RequestState, list, message string, ago time.Duration) mig.Request {
	r := mig.Request{
		Name: name, State: state, Instances: scenetest.Names(list), Duration: 4 * time.Hour, Created: noon.Add(-ago), Trouble: mig.Trouble{Message: message},
	}
	if message != "" {
		r.Cause = mig.CauseCapacity
	}
	return r
}

// machines adds instances that were created two hours before noon.
func (s *world) machines(group, list string, left time.Duration) {
	made := request("a1", mig.Succeeded, list, "", 2*time.Hour)
	made.Duration = left + 2*time.Hour
	s.Group(group, mig.Stamp{NodeSet: strings.Split(list, "-")[1], Node: list}, made).Created = made.Created
	machines := s.Machines(list, group)
	for i := range machines {
		machines[i].Created = made.Created
		if left > 0 {
			machines[i].Terminates = noon.Add(left)
		}
	}
}

// up adds a job of partition train on machines that were created two hours before noon.
func (s *world) up(id uint32, list string, state slurm.JobState, left time.Duration) {
	s.job(id, "train", list, state)
	s.Nodes(list, "ALLOCATED+CLOUD+POWER_DOWN")
	s.machines(fmt.Sprint("alpha-a3-job-", id), list, left)
	s.Snap.Groups[len(s.Snap.Groups)-1].Stamp = mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: id}
}

// unseen makes a region unreadable.
func (s *world) unseen(region, why string) { s.Snap.Unseen[region] = errors.New(why) }

// unread makes a region unreadable that was last read at 11:53.
func (s *world) unread(region string) {
	group := func(g mig.Group) bool { return g.Region == region }
	instance := func(in mig.Instance) bool { return in.Region == region }
	s.Snap.LastKnown = map[string]scene.LastKnown{region: {
		At: at(-7), Groups: keep(s.Snap.Groups, group), Instances: keep(s.Snap.Instances, instance),
	}}
	s.Snap.Groups, s.Snap.Instances = slices.DeleteFunc(s.Snap.Groups, group), slices.DeleteFunc(s.Snap.Instances, instance)
	s.unseen(region, "list groups of "+region+": 503 backendError")
}

// done records an action from that long before noon.
func (s *world) done(a action.Action, ago time.Duration, err error) {
	s.did = append([]Action{Record(a, noon.Add(-ago), 1500*time.Millisecond, err)}, s.did...)
}

// view returns the daemon's view a minute after noon.
func (s *world) view() View {
	v := Of(s.Scene(), plan.Compute(s.Scene()))
	v.Daemon = &Daemon{LastGoodAt: noon, Interval: Seconds(30 * time.Second)}
	v.Actions = append([]Action{}, s.did...)
	if s.dead {
		v.Daemon = nil
	}
	return v
}

// table returns what status prints at noon.
func (s *world) table() string { return s.view().table() }

func (v View) table() string { return v.Table(Layout{Now: noon}) }

// unwrapped returns a text on one line.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

// ask returns the answer of why at noon.
func ask(t *testing.T, v View, subject string) Answer {
	t.Helper()
	answer, err := v.Why(subject, noon, nil)
	require.NoError(t, err, subject)
	return answer
}

// busy returns a world with many different things.
func busy() *world {
	s := newWorld()
	s.fill()
	return s
}

// fill adds many different things.
func (s *world) fill() {
	s.waits()
	s.group(812,
		request("a1", mig.Failed, "alpha-a3-[0-1]", "LIMIT_EXCEEDED: not in time", 80*time.Minute),
		request("a2", mig.Accepted, "alpha-a3-[0-1]", "ZONE_RESOURCE_POOL_EXHAUSTED: the zone does not have enough resources for it now", 70*time.Minute))
	s.up(813, "alpha-a3-[2-4]", slurm.JobRunning, 2*time.Hour)
	s.waiting(814, "alpha-a3-5")
	s.group(814, request("a1", mig.Failed, "alpha-a3-5", "RESOURCE_POOL_EXHAUSTED: none left", 20*time.Second))
	s.waiting(815, "alpha-a3-6")
	pending := s.job(816, "train", "", slurm.JobPending)
	pending.Reason, pending.Start, pending.User = "Priority", time.Time{}, "grace"
	s.because("alpha-a3-7", "IDLE+CLOUD+DRAIN+POWERED_DOWN", "bad GPU", "root")
	s.unseen(scenetest.Europe, "list groups of europe-west4: 503 backendError: try again")
	s.done(action.CreateRequest{
		Of: action.Of{Group: mig.GroupID{Region: scenetest.US, Name: "alpha-a3-job-812"}}, Spec: mig.RequestSpec{Name: "a2", Instances: scenetest.Names("alpha-a3-[0-1]"), Duration: 4 * time.Hour},
		Why: "job 812 waits for alpha-a3-[0-1]",
	}, 70*time.Minute, nil)
	s.done(action.DeleteGroup{Of: action.Of{Group: mig.GroupID{Region: scenetest.US, Name: "alpha-a3-job-800"}}, Why: "it is empty and no job waits for it"}, time.Minute, errors.New("503 backendError"))
	s.did[0].Times = 2
}

// golden compares a text with a file. With UPDATE=1 it rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	assert.Equal(t, must.Text(path), got)
}

// contains checks that a text contains all these parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, text, part)
	}
}

// narrow checks that a text fits a width.
func narrow(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width, line)
	}
}
