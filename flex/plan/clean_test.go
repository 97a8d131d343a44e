package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// aged makes all instances older.
func aged(ago time.Duration) func(*setting) {
	return func(s *setting) {
		for i := range s.Instances {
			s.Instances[i].Created = noon.Add(-ago)
		}
	}
}

func TestAnInstanceThatHasStopped(t *testing.T) {
	group7 := group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Succeeded, "alpha-a3-0", 15*time.Minute))
	job7 := job(7, "train", "15:00", slurm.JobRunning, "alpha-a3-0")
	for name, c := range map[string]struct {
		given Snapshot
		want  []string
	}{
		"goes when its node is powering up, which it never will": {
			given: seen(nodes("alpha-a3-0", poweringUp), job7, group7, vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED")),
			want:  []string{"delete instances alpha-a3-0 of alpha-a3-job-7"},
		},
		"goes when its node does not answer": {
			given: seen(nodes("alpha-a3-0", givenUp), group7, vms("alpha-a3-0", "alpha-a3-job-7", "STOPPED")),
			want:  []string{"delete instances alpha-a3-0 of alpha-a3-job-7"},
		},
		"goes when its node is powered down": {
			given: seen(nodes("alpha-a3-0", poweringDown), group7, vms("alpha-a3-0", "alpha-a3-job-7", "SUSPENDED")),
			want:  []string{"delete instances alpha-a3-0 of alpha-a3-job-7"},
		},
		"stays while its node answers: the list may be old": {
			given: seen(nodes("alpha-a3-0", running), job7, group7, vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED")),
		},
		"is waited for while it is only stopping": {
			given: seen(nodes("alpha-a3-0", poweringUp), job7, group7, vms("alpha-a3-0", "alpha-a3-job-7", "STOPPING")),
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, actions(Compute(alphaConfig(t), c.given))) })
	}
}

func TestAnInstanceThatBelongsToNoNode(t *testing.T) {
	const beyond = "alpha-a3-[3000-3002]" // nodeset a3 has 3000 nodes
	group7 := group("alpha-a3-job-7", forJob("a3", 7))
	stranded := func(ago time.Duration) Snapshot {
		return seen(group7, vms(beyond, "alpha-a3-job-7", "RUNNING"), aged(ago))
	}
	for name, c := range map[string]struct {
		given Snapshot
		most  int
		want  []string
	}{
		"is deleted through the group that made it": {
			given: stranded(10 * time.Minute), most: 100,
			want: []string{"delete instances alpha-a3-[3000-3002] of alpha-a3-job-7"},
		},
		"not while it is young": {given: stranded(10*time.Minute - time.Second), most: 100},
		"at most max_deletions_per_round at a time": {
			given: stranded(time.Hour), most: 2,
			want: []string{"delete instances alpha-a3-[3000-3001] of alpha-a3-job-7"},
		},
		"not when nothing may be deleted unasked": {given: stranded(time.Hour)},
		"counts by itself, and holds up nothing that Slurm asks for": {
			given: seen(nodes("alpha-a3-[0-2]", poweringDown), group7, vms("alpha-a3-[0-2]", "alpha-a3-job-7", "RUNNING")),
			want:  []string{"delete instances alpha-a3-[0-2] of alpha-a3-job-7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := alphaConfig(t)
			cfg.Options.MaxDeletions = c.most
			assert.Equal(t, c.want, actions(Compute(cfg, c.given)))
		})
	}
	cfg := alphaConfig(t)
	cfg.Options.MaxDeletions = 2
	assert.Contains(t, Compute(cfg, stranded(time.Hour)).Problems.Texts(),
		"more instances are to be deleted than max_deletions_per_round allows: the configuration knows no node of that name")
}

func TestARequestForNodesThatTheConfigurationHasNoLonger(t *testing.T) {
	given := func(ago time.Duration, more ...func(*setting)) Snapshot {
		waits := group("alpha-gone-job-7", forJob("gone", 7), request("a1", mig.Accepted, "alpha-gone-[0-1]", 15*time.Minute))
		return seen(append([]func(*setting){waits, asked(ago)}, more...)...)
	}
	for name, c := range map[string]struct {
		given Snapshot
		want  []string
	}{
		"is cancelled":          {given(10 * time.Minute), []string{"cancel request alpha-gone-job-7/a1"}},
		"not while it is young": {given(10*time.Minute - time.Second), nil},
		"not while a job waits": {given(time.Hour, job(7, "train", "15:00", configured, "alpha-gone-[0-1]")), nil},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, actions(Compute(alphaConfig(t), c.given))) })
	}
}

func TestRequestsOfSuspendedNodes(t *testing.T) {
	const min15 = 15 * time.Minute
	waiting := func(id uint32, list string) func(*setting) {
		return group(memo.JobGroup("alpha", "a3", id, 0), forJob("a3", id), request("a1", mig.Accepted, list, min15))
	}
	for name, c := range map[string]struct {
		given Snapshot
		want  []string
	}{
		"only the one that names the node is cancelled, though others wait for the same template": {
			given: seen(nodes("alpha-a3-0", poweringUp), nodes("alpha-a3-1", poweringDown), nodes("alpha-a3-[2-10]", poweringUp),
				job(7, "train", "15:00", configured, "alpha-a3-0"), waiting(7, "alpha-a3-0"), waiting(8, "alpha-a3-1"),
				job(9, "train", "15:00", configured, "alpha-a3-[2-10]"), waiting(9, "alpha-a3-[2-10]")),
			want: []string{"cancel request alpha-a3-job-8/a1"},
		},
		"all of them are cancelled in one pass": {
			given: seen(nodes("alpha-a3-[0-2]", poweringDown), waiting(7, "alpha-a3-0"), waiting(8, "alpha-a3-1"), waiting(9, "alpha-a3-2")),
			want: []string{
				"cancel request alpha-a3-job-7/a1", "cancel request alpha-a3-job-8/a1", "cancel request alpha-a3-job-9/a1",
			},
		},
		"a group that has brought some nodes of a job loses what is left of it": {
			given: seen(nodes("alpha-a3-[0-1]", poweringDown), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"),
				waiting(7, "alpha-a3-[0-1]")),
			want: []string{"cancel request alpha-a3-job-7/a1", "delete instances alpha-a3-0 of alpha-a3-job-7"},
		},
		"a node is not resumed while its request lives": {
			given: seen(nodes("alpha-a3-0", poweringDown),
				group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Creating, "alpha-a3-0", min15))),
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, actions(Compute(alphaConfig(t), c.given))) })
	}
}

// B11: a slurmctld that has lost its state shows every node as powered down.
func TestTheMachinesOfNodesThatArePoweredDown(t *testing.T) {
	const made = 3 * time.Hour
	given := func(state string, change func(*slurm.Node)) Snapshot {
		return seen(nodes("alpha-a3-[0-2]", state), group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-[0-2]", "alpha-a3-job-7", "RUNNING"), aged(made),
			func(s *setting) {
				for i := range s.Nodes {
					change(&s.Nodes[i])
				}
			})
	}
	all, one := []string{"delete instances alpha-a3-[0-2] of alpha-a3-job-7"}, []string{"delete instances alpha-a3-0 of alpha-a3-job-7"}
	for name, c := range map[string]struct {
		given Snapshot
		want  []string
	}{
		"go all at once while Slurm powers them down":            {given(poweringDown, func(*slurm.Node) {}), all},
		"or when it remembers that they were up":                 {given(poweredDown, func(n *slurm.Node) { n.BootTime = noon.Add(-made) }), all},
		"or that they did not come up in time":                   {given("DOWN+CLOUD+POWERED_DOWN", func(n *slurm.Node) { n.Reason = "ResumeTimeout reached" }), all},
		"and no more than may unasked when it remembers nothing": {given(poweredDown, func(*slurm.Node) {}), one},
		"or only the machines before these":                      {given(poweredDown, func(n *slurm.Node) { n.BootTime = noon.Add(-made - time.Second) }), one},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := alphaConfig(t)
			cfg.Options.MaxDeletions = 1
			p := Compute(cfg, c.given)
			assert.Equal(t, c.want, actions(p))
			assert.Equal(t, len(c.want[0]) == len(one[0]), len(p.Problems.Texts()) > 0)
		})
	}
}

// B14: somebody has made a group whose clock is ahead.
func TestAGroupFromTheFutureIsCollected(t *testing.T) {
	given := func(in time.Duration) Plan {
		return Compute(alphaConfig(t), seen(nodes("alpha-a3-0", poweredDown), group("alpha-a3-job-7", forJob("a3", 7)), created(-in)))
	}
	assert.Equal(t, []string{"delete group alpha-a3-job-7"}, actions(given(24*time.Hour)))
	assert.Empty(t, actions(given(4*time.Minute)), "a clock may differ by as much")
}

// B14: nobody can tell whose nodes its instances would be.
func TestARequestThatNamesNoInstances(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		ago   time.Duration
		want  []string
	}{
		"is cancelled":                   {2, 10 * time.Minute, []string{"cancel request alpha-a3-job-7/resize"}},
		"not while it is young":          {2, 9 * time.Minute, nil},
		"not if it has no number either": {0, time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := mig.Request{Name: "resize", State: mig.Accepted, Count: c.count, Created: noon.Add(-c.ago)}
			s := seen(nodes("alpha-a3-0", poweredDown), group("alpha-a3-job-7", forJob("a3", 7), r), counting(c.count), creating(c.count))
			assert.Equal(t, c.want, actions(Compute(alphaConfig(t), s)))
		})
	}
}

// B14: a name is unique in a zone only.
func TestTheSecondMachineOfANodeIsNamed(t *testing.T) {
	s := seen(nodes("alpha-a3-0", running), job(7, "train", "15:00", slurm.JobRunning, "alpha-a3-0"), group("alpha-a3-job-7", forJob("a3", 7)),
		vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"), vms("alpha-a3-0", "", "RUNNING"), func(s *setting) { s.Instances[1].Zone = "us-central1-b" })
	const named = "node alpha-a3-0 has a machine in each of the zones us-central1-a, us-central1-b; " +
		"see which one Slurm uses (scontrol getaddrs alpha-a3-0) and delete the others"
	assert.Contains(t, Compute(alphaConfig(t), s).Problems.Texts(), named)
	s.Instances[1].Status = "STOPPING"
	assert.NotContains(t, Compute(alphaConfig(t), s).Problems.Texts(), named)
}

func TestANodeIsNotTakenForOneWhoseNameBeginsAlike(t *testing.T) {
	for gone, there := range map[string]string{"alpha-a3-1": "alpha-a3-10", "alpha-a3-10": "alpha-a3-1"} {
		s := seen(nodes("alpha-a3-1,alpha-a3-10", givenUp), group("alpha-a3-job-7", forJob("a3", 7)),
			vms(there, "alpha-a3-job-7", "RUNNING"))
		assert.Equal(t, []string{"set nodes " + gone + " power_down_force"}, actions(Compute(alphaConfig(t), s)))
	}
}

func TestWhatIsYoungIsNotCollected(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		want []string
	}{
		{youngAge - time.Second, nil},
		{youngAge, []string{"delete group alpha-a3-job-7", "delete workload policy alpha-a3-job-8"}},
	} {
		s := seen(nodes("alpha-a3-0", poweredDown), group("alpha-a3-job-7", forJob("a3", 7)), func(s *setting) {
			s.Groups[0].Created = noon.Add(-c.age)
			s.Policies = []mig.Policy{{
				Name: "alpha-a3-job-8", Region: "us-central1", Created: noon.Add(-c.age), Stamp: mig.Stamp{Version: 1, Cluster: "alpha"},
			}}
		})
		assert.Equal(t, c.want, actions(Compute(alphaConfig(t), s)), "at %s", c.age)
	}
}

func TestTheRecordOfARequest(t *testing.T) {
	const min15 = 15 * time.Minute
	done := func(name string, state mig.RequestState, ago time.Duration) mig.Request {
		r := request(name, state, "alpha-a3-0", min15)
		r.Created = noon.Add(-ago)
		return r
	}
	runs := []func(*setting){
		nodes("alpha-a3-0", running), job(7, "train", "15:00", slurm.JobRunning, "alpha-a3-0"), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"),
	}
	for name, c := range map[string]struct {
		requests []mig.Request
		want     []string
	}{
		"is deleted when it is finished and old, in a group that stays": {
			requests: []mig.Request{done("a1", mig.Cancelled, time.Hour), done("a2", mig.Succeeded, time.Hour)},
			want:     []string{"delete record of request alpha-a3-job-7/a1"},
		},
		"not while it is young": {
			requests: []mig.Request{done("a1", mig.Cancelled, time.Hour-time.Second), done("a2", mig.Succeeded, time.Minute)},
		},
		"not while it is live": {
			requests: []mig.Request{done("a1", mig.Creating, 2*time.Hour), done("a2", mig.Succeeded, time.Hour)},
		},
		"nor the newest, after which the next one is named": {requests: []mig.Request{done("a1", mig.Succeeded, 9*time.Hour)}},
		"nor one that failed while its job is in the queue, for that is counted": {
			requests: []mig.Request{done("a1", mig.Failed, time.Hour), done("a2", mig.Succeeded, time.Hour)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := seen(append(runs, group("alpha-a3-job-7", forJob("a3", 7), c.requests...))...)
			var deleted []string
			for _, a := range actions(Compute(alphaConfig(t), given)) {
				if strings.HasPrefix(a, "delete") {
					deleted = append(deleted, a)
				}
			}
			assert.Equal(t, c.want, deleted)
		})
	}
}
