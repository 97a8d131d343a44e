package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// listsLag is how long a new thing may be missing from Compute's lists.
const listsLag = 2 * time.Minute

// made remembers what this process has created until a list shows it, so that lagging lists do not
// cause a second creation. If a list has shown a group, request or policy and then no longer does,
// another process has deleted it. A restart clears Made, which is harmless: most names follow from
// the job.
type made struct {
	mu       sync.Mutex
	groups   map[string]madeGroup  // by region/name
	policies map[string]mig.Policy // by region/name
	// inserted maps instances without a group to their creation time, or to the time of the first
	// list without the instance. It maps an instance to zero if the last list showed it.
	inserted map[string]time.Time
}

type madeGroup struct {
	at       time.Time
	spec     mig.GroupSpec // without a name if this process made only requests in the group
	requests []mig.Request
}

// NoteGroup records a group that was created.
func (m *made) NoteGroup(spec mig.GroupSpec, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(spec.Region+"/"+spec.Name, madeGroup{at: at, spec: spec})
}

// NotePolicy records a workload policy that was created.
func (m *made) NotePolicy(spec mig.PolicySpec, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.policies == nil {
		m.policies = map[string]mig.Policy{}
	}
	m.policies[spec.Region+"/"+spec.Name] = mig.Policy{
		Name: spec.Name, Region: spec.Region, Stamp: spec.Stamp, Distance: spec.Distance, Created: at,
	}
}

// ForgetPolicy removes a workload policy from the memory.
func (m *made) ForgetPolicy(region, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.policies, region+"/"+name)
}

// NoteRequest records a request that is being created or was created.
func (m *made) NoteRequest(region, group string, spec mig.RequestSpec, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[region+"/"+group]
	g.at = at
	g.requests = append(slices.Clone(g.requests), mig.Request{
		Name: spec.Name, State: mig.Creating, Instances: spec.Instances, Duration: spec.Duration, Created: at,
	})
	m.put(region+"/"+group, g)
}

// DropRequest removes a request that was not created.
func (m *made) DropRequest(region, group, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[region+"/"+group]
	g.requests = slices.DeleteFunc(slices.Clone(g.requests), func(r mig.Request) bool { return r.Name == name })
	m.put(region+"/"+group, g)
}

// NoteInserted records instances that are being created without a group.
func (m *made) NoteInserted(names []string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range names {
		m.note(n, at)
	}
}

// EndInsert records the outcome of a bulk insert. The instances count as created from its end,
// because Compute may work on a call for longer than its lists lag.
func (m *made) EndInsert(names []string, err error, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range names {
		if err == nil || mig.IsUnknown(err) {
			m.note(n, at)
		} else {
			delete(m.inserted, n)
		}
	}
}

func (m *made) note(instance string, at time.Time) {
	if m.inserted == nil {
		m.inserted = map[string]time.Time{}
	}
	m.inserted[instance] = at
}

// Forget removes a group and instances from the memory, so that the lists alone decide.
func (m *made) Forget(region, group string, instances []string) {
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

// complete adds to a snapshot what the lists do not show yet. It forgets what the lists show, and
// what has been missing from them for longer than listsLag.
func (m *made) complete(snap *scene.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.groups, func(_ string, g madeGroup) bool { return age(snap.Now, g.at) > listsLag })
	m.completeInserted(snap)
	m.completePolicies(snap)
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
		if there != nil { // from now on the list alone decides, even if the thing disappears
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

// completeInserted adds the instances without a group that the lists do not show. A list may omit
// an instance that an earlier list showed, and no group counts that instance. Until the instance's
// node is up, completeInserted therefore treats an omitted instance like one that was just created.
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

// completePolicies adds the workload policies that the lists do not show yet.
func (m *made) completePolicies(snap *scene.Snapshot) {
	for _, p := range snap.Policies {
		delete(m.policies, p.Region+"/"+p.Name)
	}
	for _, key := range slices.Sorted(maps.Keys(m.policies)) {
		p := m.policies[key]
		switch {
		case age(snap.Now, p.Created) > listsLag:
			delete(m.policies, key)
		case snap.UnseenPolicies[p.Region] == nil:
			snap.Policies = append(snap.Policies, p)
		}
	}
}

// missing returns the created requests that a list does not show.
func (g madeGroup) missing(listed []mig.Request) (missing []mig.Request) {
	for _, r := range g.requests {
		if !slices.ContainsFunc(listed, func(l mig.Request) bool { return l.Name == r.Name }) {
			missing = append(missing, r)
		}
	}
	return missing
}
