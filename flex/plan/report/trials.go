package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// trialAge is the time without a new resource after which a trial counts as killed. A running trial
// creates resources, or ends, more often than that.
const trialAge = time.Hour

// WithoutTrials separates a cluster's own groups from those of its trials.
func WithoutTrials(cluster string, groups []mig.Group) (ours, trials []mig.Group) {
	isTrial := func(g mig.Group) bool { return g.Stamp.IsTrialOf(cluster, g.Name) }
	if !slices.ContainsFunc(groups, isTrial) {
		return groups, nil
	}
	for _, g := range groups {
		if isTrial(g) {
			trials = append(trials, g)
		} else {
			ours = append(ours, g)
		}
	}
	return ours, trials
}

// Trial is a group, or a workload policy, that slurmflex trial created for the cluster.
type Trial struct {
	action.Of
	NodeSet  string
	Policy   bool          // a workload policy; otherwise a group
	Live     []mig.Request // of the group
	Machines int           // of the group
	Stays    string        // why slurmflex leaves it alone; empty: the trial was killed
}

// mayRun is the usual reason to leave a trial alone.
const mayRun = "its trial may still be running"

// String returns the kind and name of the resource.
func (t Trial) String() string {
	kind := "group"
	if t.Policy {
		kind = "workload policy"
	}
	return kind + " " + t.Group.Name + " in " + t.Group.Region
}

// has lists the group's live requests and machines, which are billed now or will be soon.
func (t Trial) has() string {
	if len(t.Live)+t.Machines == 0 {
		return ""
	}
	return fmt.Sprintf(", with %s and %s", action.Amount(len(t.Live), "live request"), action.Amount(t.Machines, "machine"))
}

// Told describes the group or policy and what happens to it.
func (t Trial) Told() string {
	if t.Stays != "" {
		return fmt.Sprintf("%s of a trial is left alone, because %s", t, t.Stays)
	}
	return fmt.Sprintf("%s was left by a killed trial%s; slurmflex gc deletes it", t, t.has())
}

// Trials returns the resources that the cluster's trials created and that could be read, sorted by
// name.
func Trials(s *scene.Scene) (trials []Trial) {
	for _, g := range s.Seen.Trials {
		if s.Seen.Unseen[g.Region] != nil || !g.Stamp.IsTrialOf(s.Config.Cluster, g.Name) {
			continue
		}
		t := Trial{Of: action.ForGroup(&g), NodeSet: g.Stamp.NodeSet, Live: g.Live(), Stays: unreadable(g.Unread)}
		last := g.Created
		for _, r := range g.Requests {
			last = scene.Later(last, r.Created)
		}
		for _, in := range s.Seen.Instances {
			if in.GroupID() == g.ID() {
				t.Machines++
				t.Stays = cmp.Or(t.Stays, unreadable(in.Unread))
			}
		}
		t.Stays = cmp.Or(t.Stays, keepsTrial(&s.Seen, g.Stamp, last))
		trials = append(trials, t)
	}
	for _, p := range s.Seen.Policies {
		if s.Seen.Unseen[p.Region] == nil && s.Seen.UnseenPolicies[p.Region] == nil && p.Stamp.IsTrialOf(s.Config.Cluster, p.Name) {
			trials = append(trials, Trial{
				Of: action.Of{Group: mig.GroupID{Region: p.Region, Name: p.Name}}, NodeSet: p.Stamp.NodeSet, Policy: true,
				Stays: cmp.Or(unreadable(p.Unread), keepsTrial(&s.Seen, p.Stamp, p.Created)),
			})
		}
	}
	slices.SortFunc(trials, func(a, b Trial) int { return a.Group.Compare(b.Group) })
	return trials
}

func unreadable(what string) string {
	if what == "" {
		return ""
	}
	return "it cannot be read: " + what
}

// keepsTrial returns why a trial's group or policy is left alone. It decides by the stamp and by
// when the trial last created something. It returns an empty text if the trial was killed.
func keepsTrial(s *scene.Snapshot, stamp mig.Stamp, last time.Time) string {
	switch {
	case stamp.Newer():
		return "a newer slurmflex created it"
	case last.IsZero():
		return "its age is not known"
	case !s.IsOld(last, trialAge):
		return mayRun
	}
	return ""
}

// Ends returns the actions that delete the resource. A group's machines are deleted with the group.
// A request that Compute is still creating cannot be cancelled, so the next pass cancels it.
func (t Trial) Ends() (actions []action.Action) {
	const why = "its trial was killed"
	switch {
	case t.Stays != "":
		return nil
	case t.Policy:
		return []action.Action{action.DeletePolicy{Of: t.Of, Why: why}}
	}
	for _, r := range t.Live {
		if r.State == mig.Creating {
			return nil
		}
		actions = append(actions, action.CancelRequest{Of: t.Of, Request: r.Name, Why: why})
	}
	return append(actions, action.DeleteGroup{Of: t.Of, Why: why})
}

// leftByTrials reports the remains of killed trials.
func leftByTrials(s *scene.Scene) (ps []scene.Problem) {
	for _, t := range Trials(s) {
		if t.Stays != mayRun {
			ps = append(ps, scene.NewProblem("trial-left", t.Group.String(), "%s", t.Told()))
		}
	}
	return ps
}
