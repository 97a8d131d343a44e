package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
	"slurmflex/test/scenetest"
)

const alpha = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3, one, fix]}
  shared: {partition_nodeset: [a3, one, bulk, cpu]}
nodeset:
  a3: {node_count_dynamic_max: 3000, instance_template: projects/demo/global/instanceTemplates/a3,
    subnetwork: &us projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a],
    dws_flex: {use_job_duration: true, job_duration_margin: 0}}
  one: {node_count_static: 2, node_count_dynamic_max: 6, instance_template: projects/demo/global/instanceTemplates/one,
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default, zone_policy_allow: [europe-west4-b],
    dws_flex: {provisioning: node_by_node, max_run_duration: 7200}}
  fix: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/fix, subnetwork: *us,
    zone_policy_allow: [us-central1-a], dws_flex: {max_run_duration: 3600}}
  bulk: {node_count_dynamic_max: 2, instance_template: projects/demo/global/instanceTemplates/bulk, subnetwork: *us,
    zone_policy_allow: [us-central1-a], dws_flex: {use_bulk_insert: true}}
  cpu: {node_count_dynamic_max: 2, instance_template: projects/demo/global/instanceTemplates/cpu, subnetwork: *us,
    zone_policy_allow: [us-central1-a]}
`

var noon = scenetest.Noon

// alphaConfig is alpha's configuration. Tests that change it use alphaCopy.
var alphaConfig = alphaCopy()

func alphaCopy() *config.Config { return parsed(alpha) }

// withRequests returns alpha's configuration with max_active_requests.
func withRequests(most int) *config.Config {
	cfg := alphaCopy()
	cfg.Options.MaxActiveRequests = most
	return cfg
}

// with returns alpha's configuration with other dws_flex keys for nodesets a3 and one.
func with(keys string) *config.Config {
	return parsed(strings.NewReplacer("job_duration_margin: 0}", "job_duration_margin: 0, "+keys+"}",
		"max_run_duration: 7200}", "max_run_duration: 7200, "+keys+"}").Replace(alpha))
}

func parsed(text string) *config.Config { return must.Get(config.Parse("alpha.yaml", []byte(text))) }

// The states that Slurm prints in a node's life cycle.
const (
	poweredDown  = "IDLE+CLOUD+POWERED_DOWN"
	aboutToRise  = "ALLOCATED+CLOUD+POWERED_DOWN"
	poweringUp   = "ALLOCATED+CLOUD+POWER_DOWN+NOT_RESPONDING+POWERING_UP" // already marked
	risingIdle   = "IDLE+CLOUD+NOT_RESPONDING+POWERING_UP"
	risingMixed  = "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"
	running      = "ALLOCATED+CLOUD+POWER_DOWN"
	poweringDown = "IDLE+CLOUD+POWERING_DOWN"
)

// A setting is a world under construction. Parts change it.
type (
	setting struct {
		world           *scenetest.World
		*scene.Snapshot // the world's snapshot
	}
	part = func(*setting)
)

func seen(parts ...part) scene.Snapshot {
	w := scenetest.New(alphaConfig)
	w.Snap.Told, w.Snap.Records = nil, map[uint32]slurm.JobRecord{}
	for _, set := range []string{"a3", "one", "fix", "bulk"} {
		w.Snap.Templates["projects/demo/global/instanceTemplates/"+set] = scenetest.FlexTemplate(set + "-machine")
	}
	and(parts...)(&setting{w, &w.Snap})
	for _, j := range w.Snap.Jobs {
		if _, known := w.Snap.Records[j.ID]; !known {
			w.Snap.Records[j.ID] = scenetest.Requeued
		}
	}
	return w.Snap
}

func and(parts ...part) part {
	return func(s *setting) {
		for _, p := range parts {
			p(s)
		}
	}
}

func names(list string) []string { return scenetest.Names(list) }

func nodes(list, state string) part {
	return func(s *setting) { s.world.Nodes(list, state) }
}

// onNodes changes nodes of the setting.
func onNodes(list string, change func(*slurm.Node)) part {
	return func(s *setting) {
		for i := range s.Nodes {
			if slices.Contains(names(list), s.Nodes[i].Name) {
				change(&s.Nodes[i])
			}
		}
	}
}

// freed adds nodes that their job left a moment ago.
func freed(list, state string) part {
	return and(nodes(list, state), onNodes(list, func(n *slurm.Node) { n.LastBusyTime = noon.Add(-5 * time.Second) }))
}

func because(list, state, reason string) part {
	return and(nodes(list, state), onNodes(list, func(n *slurm.Node) { n.Reason = reason }))
}

func commented(list, comment string) part {
	return onNodes(list, func(n *slurm.Node) { n.Comment = comment })
}

func extra(list, text string) part { return onNodes(list, func(n *slurm.Node) { n.Extra = text }) }

func job(id uint32, partition, limit string, state slurm.JobState, list string) part {
	return func(s *setting) { s.world.Job(id, partition, list, state).Limit = slurm.ParseLimit(limit) }
}

// awaits adds a job of the partition train that waits for nodes that power up.
func awaits(id uint32, list string) part {
	return and(nodes(list, poweringUp), job(id, "train", "15:00", configured, list))
}

// runsOn adds a job of the partition train that runs on its nodes.
func runsOn(id uint32, list string) part {
	return and(nodes(list, running), job(id, "train", "15:00", slurm.JobRunning, list))
}

// timeLimit sets the last job's time limit.
func timeLimit(limit string) part {
	return lastJob(func(j *slurm.Job) { j.Limit = slurm.ParseLimit(limit) })
}

// ownLimits sets what job 7, which Slurm would requeue, itself limits its wait to.
func ownLimits(rec slurm.JobRecord) part {
	rec.Batch, rec.Requeue = true, true
	return func(s *setting) { s.Records[7] = rec }
}

// shared moves the last job to the partition shared.
func shared(s *setting) { s.Jobs[len(s.Jobs)-1].Partition = "shared" }

// halfUp adds job 7 of one hour, with one node that runs and one that powers up.
func halfUp() part {
	return and(awaits(7, "alpha-a3-[0-1]"), timeLimit("1:00:00"), nodes("alpha-a3-0", running))
}

func started(job uint32, ago time.Duration) part {
	return func(s *setting) {
		for i := range s.Jobs {
			if s.Jobs[i].ID == job {
				s.Jobs[i].Start = noon.Add(-ago)
			}
		}
	}
}

// lastJob changes the job that was added last.
func lastJob(change func(*slurm.Job)) part {
	return func(s *setting) { change(&s.Jobs[len(s.Jobs)-1]) }
}

func important(priority uint64) part { return lastJob(func(j *slurm.Job) { j.Priority = priority }) }

// task makes the last job a task of an array.
func task(array uint32, index string) part {
	return lastJob(func(j *slurm.Job) { j.ArrayID, j.ArrayTask = array, index })
}

// component makes the last job a component of a heterogeneous job.
func component(first, offset uint32) part {
	return lastJob(func(j *slurm.Job) { j.HetID, j.HetOffset = first, offset })
}

func told(job uint32, text string) part {
	return func(s *setting) { s.Told = map[uint32]string{job: text} }
}

func resumeTimeout(d time.Duration) part { return func(s *setting) { s.ResumeTimeout = d } }

func forJob(set string, id uint32) mig.Stamp { return mig.Stamp{NodeSet: set, Job: id} }

func forNode(set, node string) mig.Stamp { return mig.Stamp{NodeSet: set, Node: node} }

func group(name string, stamp mig.Stamp, requests ...mig.Request) part {
	return func(s *setting) { s.world.Group(name, stamp, requests...) }
}

// groupOf adds the group that was created for a job's nodes of nodeset a3.
func groupOf(id uint32, requests ...mig.Request) part {
	return group(memo.JobGroup("alpha", "a3", id, 0), forJob("a3", id), requests...)
}

// nodeGroup adds the group of a node of nodeset one.
func nodeGroup(i int, requests ...mig.Request) part {
	return group(fmt.Sprint("alpha-one-node-", i), forNode("one", fmt.Sprint("alpha-one-", i)), requests...)
}

// lastGroup changes the group that was added last.
func lastGroup(change func(*mig.Group)) part {
	return func(s *setting) { change(&s.Groups[len(s.Groups)-1]) }
}

func created(ago time.Duration) part {
	return lastGroup(func(g *mig.Group) { g.Created = noon.Add(-ago) })
}

// creating sets how many members the last group is creating. counting sets the group's target size.
func creating(n int) part { return lastGroup(func(g *mig.Group) { g.Creating = n }) }
func counting(n int) part { return lastGroup(func(g *mig.Group) { g.TargetSize = n }) }

// asked makes the last group's requests older.
func asked(ago time.Duration) part {
	return lastGroup(func(g *mig.Group) {
		for i := range g.Requests {
			g.Requests[i].Created = noon.Add(-ago)
		}
	})
}

func request(name string, state mig.RequestState, list string, d time.Duration) mig.Request {
	return mig.Request{Name: name, State: state, Instances: names(list), Duration: d, Created: noon.Add(-30 * time.Second)}
}

func accepted(list string) mig.Request { return request("a1", mig.Accepted, list, 15*time.Minute) }

// queued adds job 7's group with a request for the nodes that was accepted that long ago.
func queued(list string, ago time.Duration) part {
	return and(groupOf(7, accepted(list)), asked(ago))
}

func succeeded(list string) mig.Request { return request("a1", mig.Succeeded, list, 15*time.Minute) }

func failed(name, list string, cause mig.Cause, ago time.Duration) mig.Request {
	r := request(name, mig.Failed, list, 0)
	r.Created, r.Cause, r.Message = noon.Add(-ago), cause, "STOCKOUT: none"
	return r
}

// made adds instances and applies a change to each.
func made(list, group, status string, change func(*mig.Instance)) part {
	return func(s *setting) {
		machines := s.world.Machines(list, group)
		for i := range machines {
			machines[i].Status, machines[i].Created = status, noon.Add(-time.Minute)
			change(&machines[i])
		}
	}
}

func vms(list, group, status string) part { return made(list, group, status, func(*mig.Instance) {}) }

// machinesOf adds the machines of a job's group.
func machinesOf(id uint32, list string) part {
	return vms(list, memo.JobGroup("alpha", "a3", id, 0), "RUNNING")
}

// inserted adds instances of ours that no group created.
func inserted(list string, job uint32) part {
	stamp := mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "bulk", Job: job}
	return made(list, "", "RUNNING", func(in *mig.Instance) { in.Stamp = stamp })
}

// ending adds instances with an end and an age.
func ending(list, group string, age, left time.Duration) part {
	return made(list, group, "RUNNING", func(in *mig.Instance) { in.Created, in.Terminates = noon.Add(-age), noon.Add(left) })
}

// leased adds instances as ending does, with a reservation from their end on.
func leased(list, group string, age, left time.Duration) part {
	end := noon.Add(left)
	return and(ending(list, group, age, left), reserved(fmt.Sprintf("slurmflex-alpha-%d", end.Truncate(time.Minute).Unix()), list, end))
}

// leasedTo adds such instances in a job's group.
func leasedTo(id uint32, list string, age, left time.Duration) part {
	return and(groupOf(id), leased(list, memo.JobGroup("alpha", "a3", id, 0), age, left))
}

// aged makes all instances older.
func aged(ago time.Duration) part {
	return func(s *setting) {
		for i := range s.Instances {
			s.Instances[i].Created = noon.Add(-ago)
		}
	}
}

func reserved(name, list string, start time.Time) part {
	at := start
	if h := memo.ParseHold("alpha", name); h.Kind == memo.LeaseHold {
		at = h.At
	}
	return func(s *setting) {
		s.Reservations = append(s.Reservations, slurm.Reservation{Name: name, Nodes: names(list), Start: start, End: scene.Later(at, noon).Add(10 * time.Minute)})
	}
}

func policy(name string, stamp mig.Stamp) part {
	return func(s *setting) {
		stamp.Version, stamp.Cluster = mig.StampVersion, "alpha"
		s.Policies = append(s.Policies, mig.Policy{Name: name, Region: "us-central1", Stamp: stamp})
	}
}

func unseen(region string) part {
	return func(s *setting) { s.Unseen[region] = errors.New("read instances: 503") }
}

func refused(group string, cause mig.Cause, ago time.Duration, times int) part {
	return func(s *setting) {
		var r scene.Refusal
		for range max(times, 1) {
			r = r.Fail(mig.Trouble{Cause: cause, Message: "INVALID_ARGUMENT: no"}, "", noon.Add(-ago), 0)
		}
		s.Refused[group] = r
	}
}

func actions(p Plan) []string { return those(p, func(action.Action) bool { return true }) }

// those lists the actions of a plan that counts reports true for.
func those(p Plan, counts func(action.Action) bool) (lines []string) {
	for _, a := range p.Actions {
		line := action.About(a).Text
		if back, ok := a.(action.ReturnNodes); ok {
			line += ": " + back.Reason
		}
		if counts(a) {
			lines = append(lines, line)
		}
	}
	return lines
}

func is[A action.Action](a action.Action) bool {
	_, is := a.(A)
	return is
}

// asksForSeven lists the actions that request node alpha-a3-0 for job 7.
var asksForSeven = []string{"create group alpha-a3-job-7 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00"}

func planOf(cfg *config.Config, given scene.Snapshot) Plan { return Compute(scene.Of(cfg, given)) }

// alphaPlan returns the plan with alpha's configuration.
func alphaPlan(parts ...part) Plan { return planOf(alphaConfig, seen(parts...)) }

// planned returns what is planned with alpha's configuration.
func planned(given scene.Snapshot) []string { return actions(planOf(alphaConfig, given)) }

// situations returns a function that runs one subtest: in the named situation the plan has these
// actions, and each action has a reason.
func situations(t *testing.T, cfg *config.Config) (in func(name string, given scene.Snapshot, want ...string)) {
	return func(name string, given scene.Snapshot, want ...string) {
		t.Run(name, func(t *testing.T) {
			p := planOf(cfg, given)
			assert.Equal(t, want, actions(p))
			for _, a := range p.Actions {
				assert.NotEmpty(t, a.Because(), "%s has no reason", action.About(a).Text)
			}
		})
	}
}

// withoutComments returns a plan's actions without AdminComments.
func withoutComments(p Plan) []string {
	return those(p, func(a action.Action) bool { return !is[action.CommentJob](a) })
}
