package flex

import (
	"maps"
	"slices"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// listsLag is for how long what was made may be missing from Compute's lists.
const listsLag = 2 * time.Minute

// made remembers what this process has had made until a list has shown it, so
// that lists that lag behind do not have it made twice. A group or request that a list
// has shown and shows no more is gone: another process has deleted it. It is forgotten in a
// restart, and need not be known then: most names follow from the job.
type made struct {
	mu       sync.Mutex
	groups   map[string]madeGroup // by region/name
	inserted map[string]time.Time // instances without a group, by name: when they were made, or first left out; zero: the last list showed them
}

type madeGroup struct {
	at       time.Time
	spec     mig.GroupSpec // without a name if only requests were made in it
	requests []mig.Request
}

// noteGroup remembers a group that was made.
func (m *made) noteGroup(spec mig.GroupSpec, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(spec.Region+"/"+spec.Name, madeGroup{at: at, spec: spec})
}

// noteRequest remembers a request that is being made, or was.
func (m *made) noteRequest(region, group string, spec mig.RequestSpec, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[region+"/"+group]
	g.at = at
	g.requests = append(slices.Clone(g.requests), mig.Request{
		Name: spec.Name, State: mig.Creating, Instances: spec.Instances, Duration: spec.Duration, Created: at,
	})
	m.put(region+"/"+group, g)
}

// dropRequest forgets a request that was not made.
func (m *made) dropRequest(region, group, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[region+"/"+group]
	g.requests = slices.DeleteFunc(slices.Clone(g.requests), func(r mig.Request) bool { return r.Name == name })
	m.put(region+"/"+group, g)
}

// noteInserted remembers instances that were made without a group.
func (m *made) noteInserted(names []string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range names {
		m.note(n, at)
	}
}

func (m *made) note(instance string, at time.Time) {
	if m.inserted == nil {
		m.inserted = map[string]time.Time{}
	}
	m.inserted[instance] = at
}

// forget has a group, or instances, taken for what the lists say of them.
func (m *made) forget(region, group string, instances []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.groups, region+"/"+group)
	for _, n := range instances {
		delete(m.inserted, n)
	}
}

func (m *made) put(key string, g madeGroup) {
	if m.groups == nil {
		m.groups = map[string]madeGroup{}
	}
	m.groups[key] = g
}

// complete adds to a snapshot what lists do not show yet, and forgets what they
// do, or should by now.
func (m *made) complete(snap *scene.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.groups, func(_ string, g madeGroup) bool { return age(snap.Now, g.at) > listsLag })
	m.completeInserted(snap)
	if len(m.groups) == 0 {
		return
	}
	shown := make(map[string]*mig.Group, len(snap.Groups))
	for i := range snap.Groups {
		shown[snap.Groups[i].Region+"/"+snap.Groups[i].Name] = &snap.Groups[i]
	}
	for _, key := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[key]
		g.requests = slices.DeleteFunc(slices.Clone(g.requests), func(r mig.Request) bool { return age(snap.Now, r.Created) > listsLag })
		there := shown[key]
		if there != nil { // what the list has shown is what the list says, also when it is gone
			g.spec, g.requests = mig.GroupSpec{}, g.missing(there.Requests)
		}
		m.groups[key] = g
		switch {
		case there != nil:
			there.Requests = append(there.Requests, g.requests...)
		case g.spec.Name != "" && snap.Unseen[g.spec.Region] == nil:
			size := 0
			for _, r := range g.requests {
				size += len(r.Instances)
			}
			snap.Groups = append(snap.Groups, mig.Group{
				Name: g.spec.Name, Region: g.spec.Region, Stamp: g.spec.Stamp, Policy: g.spec.Policy,
				Created: g.at, TargetSize: size, Creating: size, Requests: slices.Clone(g.requests),
			})
		}
	}
}

// completeInserted adds the instances without a group that the lists do not show. One that
// a list has shown may be left out by the next, and no group counts it: until its node is up
// it is taken to be there for as long as one that was made just then.
func (m *made) completeInserted(snap *scene.Snapshot) {
	listed := map[string]bool{}
	for _, in := range snap.Instances {
		_, known := m.inserted[in.Name]
		switch ours := in.Group == "" && in.Stamp != (mig.Stamp{}); {
		case in.Leaving():
			delete(m.inserted, in.Name)
		case ours || known:
			listed[in.Name] = true
			m.note(in.Name, time.Time{})
		}
	}
	for _, n := range snap.Nodes {
		if n.State.Power() == slurm.On {
			delete(m.inserted, n.Name)
		}
	}
	snap.Inserted = map[string]bool{}
	for name, at := range m.inserted {
		switch {
		case listed[name]:
		case at.IsZero():
			m.inserted[name], snap.Inserted[name] = snap.Now, true
		case age(snap.Now, at) > listsLag:
			delete(m.inserted, name)
		default:
			snap.Inserted[name] = true
		}
	}
}

// missing are the requests that were made and are not among those of a list.
func (g madeGroup) missing(listed []mig.Request) (missing []mig.Request) {
	for _, r := range g.requests {
		if !slices.ContainsFunc(listed, func(l mig.Request) bool { return l.Name == r.Name }) {
			missing = append(missing, r)
		}
	}
	return missing
}
