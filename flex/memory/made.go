package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// What this process has created is remembered until a list shows it, so that lagging lists do not
// cause a second creation. If a list has shown it and then no longer does, another process has
// deleted it.

// listsLag is how long a new thing may be missing from Compute's lists.
const listsLag = 2 * time.Minute

type requestID struct {
	group mig.GroupID
	name  string
}

// NoteRequest records a request that is being created or was created.
func (m *Memory) NoteRequest(group mig.GroupID, spec mig.RequestSpec, at time.Time) {
	m.requests.Note(requestID{group, spec.Name}, mig.Request{
		Name: spec.Name, State: mig.Creating, Instances: spec.Instances, Duration: spec.Duration, Created: at,
	}, at)
}

// ForgetRequest forgets a request that was not created, or that is being cancelled.
func (m *Memory) ForgetRequest(group mig.GroupID, name string) {
	m.requests.Forget(requestID{group, name})
}

// ForgetGroup forgets a group and its requests, so that the lists alone decide.
func (m *Memory) ForgetGroup(group mig.GroupID) {
	m.Groups.Forget(group)
	m.requests.keep(func(id requestID, _ *noted[mig.Request]) bool { return id.group != group })
}

// addMade adds to a snapshot the groups, requests and policies that the lists do not show yet, and
// forgets those that they show.
func (m *Memory) addMade(snap *scene.Snapshot) {
	for _, g := range snap.Groups {
		m.Groups.Forget(g.ID())
		for _, r := range g.Requests {
			m.requests.Forget(requestID{g.ID(), r.Name})
		}
	}
	for _, p := range snap.Policies {
		m.Policies.Forget(mig.GroupID{Region: p.Region, Name: p.Name})
	}
	m.Groups.Expire(snap.Now, listsLag)
	m.requests.Expire(snap.Now, listsLag)
	m.Policies.Expire(snap.Now, listsLag)

	listed := len(snap.Groups)
	groups, policies := m.Groups.All(), m.Policies.All()
	for _, id := range slices.SortedFunc(maps.Keys(groups), mig.GroupID.Compare) {
		if snap.Unseen[id.Region] == nil {
			snap.Groups = append(snap.Groups, groups[id])
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(policies), mig.GroupID.Compare) {
		if snap.UnseenPolicies[id.Region] == nil {
			snap.Policies = append(snap.Policies, policies[id])
		}
	}
	missing := map[mig.GroupID][]mig.Request{}
	for id, r := range m.requests.All() {
		missing[id.group] = append(missing[id.group], r)
	}
	for i := range snap.Groups {
		g := &snap.Groups[i]
		for _, r := range slices.SortedFunc(slices.Values(missing[g.ID()]), byAge) {
			g.Requests = append(g.Requests, r)
			if i >= listed {
				g.TargetSize, g.Creating = g.TargetSize+len(r.Instances), g.Creating+len(r.Instances)
			}
		}
	}
}

func byAge(a, b mig.Request) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// addInserted adds the instances without a group that the lists do not show. A list may omit
// an instance that an earlier list showed, and no group counts that instance. Until the instance's
// node is up, addInserted therefore treats an omitted instance like one that was just created.
func (m *Memory) addInserted(snap *scene.Snapshot) {
	listed := map[string]bool{}
	for _, in := range snap.Instances {
		_, _, known := m.Inserted.Get(in.Name)
		switch ours := in.Group == "" && in.Stamp != (mig.Stamp{}); {
		case in.Leaving():
			m.Inserted.Forget(in.Name)
		case ours || known:
			listed[in.Name] = true
			m.Inserted.Note(in.Name, true, snap.Now)
		}
	}
	for _, n := range snap.Nodes {
		if n.State.Power() == slurm.On {
			m.Inserted.Forget(n.Name)
		}
	}
	snap.Inserted = map[string]bool{}
	m.Inserted.keep(func(name string, was *noted[bool]) bool {
		switch {
		case listed[name]:
			return true
		case was.value: // the first list without it
			*was = noted[bool]{false, snap.Now}
		case age(snap.Now, was.at) >= listsLag:
			return false
		}
		snap.Inserted[name] = true
		return true
	})
}
