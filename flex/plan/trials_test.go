package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// trialGroup returns the group of a trial that created the group and its request that long ago.
func trialGroup(age time.Duration, requests ...mig.Request) mig.Group {
	g := mig.Group{
		Name: "alpha-trial-kxqzv-g", Region: "us-central1", Created: noon.Add(-age), Requests: requests,
		Stamp: mig.Stamp{Version: mig.StampVersion, Cluster: "alpha-trial-kxqzv", NodeSet: "a3"},
	}
	return g
}

// D4
func TestRemnantsOfAKilledTrialAreReportedAndDeleted(t *testing.T) {
	const stays, long = time.Hour - time.Second, time.Hour
	asks := func(age time.Duration, state mig.RequestState) mig.Request {
		r := request("deleted", state, "alpha-trial-kxqzv-0", mig.MinDuration)
		r.Created = noon.Add(-age)
		return r
	}
	machine := func(s *setting) {
		s.Instances = append(s.Instances, mig.Instance{
			Name: "alpha-trial-kxqzv-0", Zone: "us-central1-a", Region: "us-central1", Group: "alpha-trial-kxqzv-g", Status: "RUNNING", Created: noon.Add(-long),
		})
	}
	const left, empty = "group alpha-trial-kxqzv-g in us-central1 was left by a killed trial", "; slurmflex gc deletes it"
	for name, test := range map[string]struct {
		group   mig.Group
		given   []part
		problem string
		want    []string
	}{
		"an empty group": {trialGroup(long), nil, left + empty, []string{"delete group alpha-trial-kxqzv-g"}},
		"a request that waits": {
			trialGroup(2*long, asks(long, mig.Accepted)), nil, left + ", with 1 live request and 0 machines" + empty,
			[]string{"cancel request alpha-trial-kxqzv-g/deleted", "delete group alpha-trial-kxqzv-g"},
		},
		"a machine": {
			trialGroup(2*long, asks(long, mig.Succeeded)),
			[]part{machine},
			left + ", with 0 live requests and 1 machine" + empty,
			[]string{"delete group alpha-trial-kxqzv-g"},
		},
		"a request that is being created": {trialGroup(2*long, asks(long, mig.Creating)), nil, left + ", with 1 live request and 0 machines" + empty, nil},
		"a trial that may run":            {trialGroup(stays), nil, "", nil},
		"a trial with a new last request": {trialGroup(2*long, asks(stays, mig.Accepted)), nil, "", nil},
		"a clock that is ahead":           {trialGroup(2 * long), []part{func(s *setting) { s.Skew = 2 * time.Hour }}, "", nil},
		"a region that could not be read": {trialGroup(long), []part{unseen("us-central1")}, "", nil},
		"a group without an age": {
			func() mig.Group { g := trialGroup(long); g.Created = time.Time{}; return g }(), nil,
			"group alpha-trial-kxqzv-g in us-central1 of a trial is left alone, because its age is not known", nil,
		},
		"a group that cannot be read": {
			func() mig.Group { g := trialGroup(long); g.Unread = "targetSize: it is missing"; return g }(), nil,
			"group alpha-trial-kxqzv-g in us-central1 of a trial is left alone, because it cannot be read: targetSize: it is missing", nil,
		},
		"a machine that cannot be read": {
			trialGroup(long),
			[]part{machine, func(s *setting) { s.Instances[0].Unread = "status: it is missing" }},
			"group alpha-trial-kxqzv-g in us-central1 of a trial is left alone, because it cannot be read: status: it is missing", nil,
		},
		"a group of a newer slurmflex": {
			func() mig.Group { g := trialGroup(long); g.Stamp.Version++; return g }(), nil,
			"group alpha-trial-kxqzv-g in us-central1 of a trial is left alone, because a newer slurmflex created it", nil,
		},
		"another cluster's trial": {
			func() mig.Group {
				g := trialGroup(long)
				g.Name, g.Stamp.Cluster = "alpha-b-trial-kxqzv-g", "alpha-b-trial-kxqzv"
				return g
			}(), nil, "", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			snap := seen(append(test.given, func(s *setting) { s.Trials = append(s.Trials, test.group) })...)
			p := Compute(scene.Of(alphaConfig(t), snap))
			assert.Empty(t, p.Actions, "a pass only names it")
			var told []string
			for _, problem := range p.Problems {
				if problem.Key == "trial-left" {
					told = append(told, problem.Text)
				}
			}
			if test.problem == "" {
				assert.Empty(t, told)
			} else {
				assert.Equal(t, []string{test.problem}, told)
			}
			assert.Equal(t, test.want, endsOf(t, snap))
		})
	}
}

// endsOf lists the actions that gc takes to delete a killed trial's remnants.
func endsOf(t *testing.T, snap scene.Snapshot) (said []string) {
	t.Helper()
	for _, trial := range report.Trials(scene.Of(alphaConfig(t), snap)) {
		said = append(said, actions(Plan{Actions: trial.Ends()})...)
	}
	return said
}

func TestPolicyOfAKilledTrialIsDeleted(t *testing.T) {
	policy := mig.Policy{Name: "alpha-trial-kxqzv-p", Region: "us-central1", Created: noon.Add(-time.Hour), Stamp: trialGroup(0).Stamp}
	snap := seen(func(s *setting) { s.Policies = append(s.Policies, policy) })
	assert.Equal(t, []string{"delete workload policy alpha-trial-kxqzv-p"}, endsOf(t, snap))
	p := Compute(scene.Of(alphaConfig(t), snap))
	assert.Empty(t, p.Actions)
	assert.Equal(t, []string{"workload policy alpha-trial-kxqzv-p in us-central1 was left by a killed trial; slurmflex gc deletes it"}, p.Problems.Texts())
	snap.UnseenPolicies = map[string]error{"us-central1": errors.New("503")}
	assert.Empty(t, endsOf(t, snap))
}

func TestTrialGroupsDoNotCountAsTheClusters(t *testing.T) {
	ours := groupOf(7, request("a1", mig.Accepted, "alpha-a3-0", time.Minute))
	s := seen(nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", slurm.JobConfiguring, "alpha-a3-0"), ours)
	named := trialGroup(0)
	named.Stamp.Job = 8 // a cluster with the name of a trial
	groups, trials := report.WithoutTrials("alpha", []mig.Group{trialGroup(0), s.Groups[0], named})
	assert.Equal(t, []mig.Group{s.Groups[0], named}, groups)
	assert.Equal(t, []mig.Group{trialGroup(0)}, trials)
}
