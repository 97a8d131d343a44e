package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// spender is a node with a sequence of jobs of one account. Its machines have 8 GPUs.
type spender struct {
	job       uint32 // 0: none
	limit     time.Duration
	requested time.Time // zero: nothing is requested
	granted   time.Time // zero: no machine
}

// span is the time of a lease, and when it was requested.
type span struct{ from, to, requested time.Time }

// spending is a day of jobs under one limit, with periods of six hours.
type spending struct {
	now    time.Time
	limit  int // GPU hours
	most   int // the highest limit so far
	nodes  [6]spender
	leases []span // those that have ended
	jobs   uint32
}

const spendingPeriod = 6 * time.Hour

// used returns the GPU seconds between two times, as the history has them up to a time: all, and those
// of leases that were requested before.
func (s *spending) used(from, to, upTo time.Time) (gpu, before float64) {
	leases := s.leases
	for _, n := range s.nodes {
		if !n.granted.IsZero() {
			leases = append(leases, span{n.granted, upTo, n.requested})
		}
	}
	for _, l := range leases {
		if l.to.After(to) {
			l.to = to
		}
		took := 8 * max(0, l.to.Sub(scene.Later(l.from, from)).Seconds())
		gpu += took
		if l.requested.Before(from) {
			before += took
		}
	}
	return gpu, before
}

// period returns the present period.
func (s *spending) period() (from, to time.Time) {
	from = noon.Add(s.now.Sub(noon).Truncate(spendingPeriod))
	return from, from.Add(spendingPeriod)
}

// pass plans, and makes the plan's requests. The history is up to five minutes old.
func (s *spending) pass(t *rapid.T) {
	w := emptyWorld(houseConfig(t))
	w.cfg.Options.Limits = []config.Limit{{Name: "bio", Account: "bio", GPUHours: s.limit, Per: config.Day}}
	from, to := s.period()
	read := s.now.Add(-pick(t, "age of the history", 0, 5*time.Minute))
	used, _ := s.used(from, to, read)
	w.Now, w.Accounts = s.now, map[uint32]string{}
	w.Spent = scene.Spent{
		Of:    []scene.Spending{{From: from, To: to, Used: scene.Amount{GPU: used}}},
		Hours: map[string]scene.Amount{"a3": {GPU: 8 * 3600}}, Counted: map[string]time.Time{},
	}
	for i, n := range s.nodes {
		if n.job == 0 {
			continue
		}
		name, group := fmt.Sprint("alpha-a3-", i), memo.JobGroup(cluster, "a3", n.job, 0)
		j := slurm.Job{
			ID: n.job, ArrayID: n.job, State: slurm.JobConfiguring, Partition: "train", Nodes: []string{name}, User: "ada", Start: s.now.Add(-time.Minute),
			Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: n.limit}, Priority: uint64(n.job % 3),
		}
		w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")}
		w.Accounts[n.job] = "bio"
		var requests []mig.Request
		if !n.requested.IsZero() {
			requests = []mig.Request{{Name: "a1", State: mig.Accepted, Instances: []string{name}, Duration: n.limit + 10*time.Minute, Created: s.now.Add(-time.Minute)}}
		}
		if !n.granted.IsZero() {
			j.State, j.Start, requests = slurm.JobRunning, n.granted, nil
			w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD")}
			w.instances[america+"-a/"+name] = mig.Instance{
				Name: name, Zone: america + "-a", Region: america, Group: group, Status: "RUNNING", Model: mig.FlexStart, Created: n.granted, Terminates: n.granted.Add(n.limit + 10*time.Minute),
			}
			w.Spent.Counted[scene.LeaseOf(america+"-a", name, n.granted)] = read
		}
		if !n.requested.IsZero() {
			w.withGroup(group, america, mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: "a3", Job: n.job}, requests...)
		}
		w.jobs[n.job] = j
	}
	for _, a := range plan.Compute(scene.Of(w.cfg, w.snapshot())).Actions {
		if a, ok := a.(action.CreateRequest); ok {
			for i := range s.nodes {
				if fmt.Sprint("alpha-a3-", i) == a.Spec.Instances[0] {
					s.nodes[i].requested = s.now
				}
			}
		}
	}
}

// live lets jobs come and go, and Google grant requests.
func (s *spending) live(t *rapid.T) {
	for i := range s.nodes {
		n := &s.nodes[i]
		switch {
		case n.job == 0 && rapid.Bool().Draw(t, "a job comes"):
			s.jobs++
			*n = spender{job: s.jobs, limit: time.Duration(1+upTo(t, "hours", 9)) * time.Hour}
		case n.job == 0:
		case !n.granted.IsZero() && (s.now.Sub(n.granted) >= n.limit || rarely(t, "it ends early")):
			s.leases, *n = append(s.leases, span{n.granted, s.now, n.requested}), spender{}
		case n.granted.IsZero() && !n.requested.IsZero() && rapid.Bool().Draw(t, "granted"):
			n.granted = s.now
		case n.granted.IsZero() && rarely(t, "cancelled"):
			*n = spender{}
		}
	}
	if rarely(t, "the limit changes") {
		s.limit = 1 + upTo(t, "new limit", 200)
		s.most = max(s.most, s.limit)
	}
}

// Within a period, the bill passes the limit at most by what leases take that were requested before it.
func TestBillNeverPassesTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := 1 + upTo(t, "limit", 200)
		s := &spending{now: noon, limit: limit, most: limit}
		for range 25 {
			s.live(t)
			s.pass(t)
			s.now = s.now.Add(30 * time.Minute)
			for at := noon; at.Before(s.now); at = at.Add(spendingPeriod) {
				gpu, before := s.used(at, at.Add(spendingPeriod), s.now)
				require.LessOrEqual(t, gpu/3600, max(float64(s.most), before/3600)+0.001, "GPU hours of the period from %s, %.1f of them requested before", at, before/3600)
			}
		}
	})
}

// withGroup adds a group of ours, with its requests.
func (w *world) withGroup(name, region string, stamp mig.Stamp, requests ...mig.Request) *world {
	stamp.Version, stamp.Cluster = mig.StampVersion, cluster
	w.groups[region+"/"+name] = mig.Group{Name: name, Region: region, Stamp: stamp, Created: noon.Add(-time.Hour), Requests: requests}
	return w
}
