package fakegce

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// State is the world at one instant. Its lists are sorted by name, except requests and
// operations, which are sorted by age.
type State struct {
	Now        time.Time   `json:"now"`
	Groups     []Group     `json:"groups"`
	Instances  []Instance  `json:"instances"`
	Templates  []string    `json:"templates"` // paths
	Policies   []string    `json:"policies"`  // paths
	Operations []Operation `json:"operations"`
}

// Group is a managed instance group in a State.
type Group struct {
	Name        string    `json:"name"`
	Region      string    `json:"region"`
	Description string    `json:"description,omitempty"`
	Template    string    `json:"template"` // path
	TargetSize  int       `json:"targetSize"`
	Created     time.Time `json:"created"`
	Deleting    bool      `json:"deleting,omitempty"`
	Members     []Member  `json:"members"`
	Requests    []Request `json:"requests"`
}

// Member is a managed instance in a State.
type Member struct {
	Name    string `json:"name"`
	Action  string `json:"action"`
	Status  string `json:"status,omitempty"` // of its VM; empty without one
	Request string `json:"request"`
}

// Request is a resize request in a State.
type Request struct {
	Name      string        `json:"name"`
	State     string        `json:"state"`
	Instances []string      `json:"instances"`
	Duration  time.Duration `json:"duration"` // ns
	Created   time.Time     `json:"created"`
	Error     string        `json:"error,omitempty"`
}

// Instance is a VM, in the form used by State and by hooks.
type Instance struct {
	Name        string    `json:"name"`
	Zone        string    `json:"zone"`
	Region      string    `json:"region"`
	Group       string    `json:"group,omitempty"`   // that created it
	Request     string    `json:"request,omitempty"` // that created it
	Template    string    `json:"template,omitempty"`
	MachineType string    `json:"machineType"`
	Model       string    `json:"model"` // provisioning model
	Status      string    `json:"status"`
	Created     time.Time `json:"created"`
	Terminates  time.Time `json:"terminates,omitzero"` // end of its lease
	Maintained  time.Time `json:"maintained,omitzero"` // start of announced host maintenance

	Labels map[string]string `json:"labels,omitempty"`
}

// Operation is an operation in a State.
type Operation struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"` // code: message
}

// State returns a copy of the present world.
func (s *Server) State() State {
	st := State{
		Groups: []Group{}, Instances: []Instance{}, Templates: []string{}, Policies: []string{}, Operations: []Operation{},
	}
	s.do(func() {
		st.Now = s.now
		for _, g := range s.groups.all() {
			st.Groups = append(st.Groups, g.snapshot(s))
		}
		for _, v := range s.instances.all() {
			st.Instances = append(st.Instances, v.snapshot())
		}
		for _, t := range s.templates.all() {
			st.Templates = append(st.Templates, t.path)
		}
		for _, p := range s.policies.all() {
			st.Policies = append(st.Policies, p.path)
		}
		operations := s.operations.all()
		slices.SortStableFunc(operations, func(a, b *operation) int { return cmp.Compare(a.id, b.id) })
		for _, o := range operations {
			st.Operations = append(st.Operations, o.snapshot())
		}
	})
	return st
}

// Instance returns the named VM.
func (st State) Instance(name string) (Instance, bool) {
	i := slices.IndexFunc(st.Instances, func(v Instance) bool { return v.Name == name })
	if i < 0 {
		return Instance{}, false
	}
	return st.Instances[i], true
}

// Group returns the named group.
func (st State) Group(name string) (Group, bool) {
	i := slices.IndexFunc(st.Groups, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return Group{}, false
	}
	return st.Groups[i], true
}

func (g *group) snapshot(s *Server) Group {
	shown := Group{
		Name: g.name, Region: g.at.region, Description: g.api.Description,
		Template: g.template.path, TargetSize: int(g.api.TargetSize), Created: g.created, Deleting: g.deletion != nil,
		Members: []Member{}, Requests: []Request{},
	}
	for _, m := range g.sorted() {
		one := Member{Name: m.name, Action: m.shownAction(), Request: m.request.name}
		if m.vm != nil {
			one.Status = m.vm.api.Status
		}
		shown.Members = append(shown.Members, one)
	}
	requests := g.requests.all()
	slices.SortStableFunc(requests, func(a, b *request) int { return cmp.Compare(a.id, b.id) })
	for _, r := range requests {
		shown.Requests = append(shown.Requests, r.snapshot(s))
	}
	return shown
}

func (r *request) snapshot(s *Server) Request {
	shown := Request{
		Name: r.name, State: r.api.State, Instances: slices.Clone(r.names), Duration: s.runDuration(r),
		Created: r.created,
	}
	if e := r.api.Status.Error; e != nil {
		shown.Error = e.Errors[0].Code + ": " + e.Errors[0].Message
	}
	return shown
}

func (v *vm) snapshot() Instance {
	return Instance{
		Name: v.name, Zone: v.at.zone, Region: v.at.regionName(), Group: lastPart(v.origin), Request: v.request,
		Template: v.template, MachineType: v.machineType(), Model: v.api.Scheduling.ProvisioningModel, Status: v.api.Status, Created: v.created, Terminates: v.ends, Maintained: v.maintained,
		Labels: maps.Clone(v.api.Labels),
	}
}

func (o *operation) snapshot() Operation {
	shown := Operation{Name: o.name, Status: o.api.Status}
	if e := o.api.Error; e != nil {
		shown.Error = e.Errors[0].Code + ": " + e.Errors[0].Message
	}
	return shown
}
