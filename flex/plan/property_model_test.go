package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// A model is a world that goes on: it does what plans say, and what Slurm and
// the cloud do by themselves. Time goes by in steps of two minutes.
type model struct {
	*world
	fails  int            // requests that still find no capacity
	fading map[string]int // steps that a node has been powering down
}

// Steps of two minutes in which a world may come to rest, for what has failed
// counts for an hour, and in which it then rests: longer than the longest wait
// before another attempt. No lease that begins in them ends in them.
const (
	restless = 90
	quiet    = 20
)

// keepsArmed reports whether an action only has Slurm count ResumeTimeout again for
// nodes that wait on, or extends a reservation: both go on for as long as the nodes do.
func keepsArmed(a plan.Action) bool {
	if r, ok := a.(plan.SetReservation); ok && !r.End.IsZero() {
		return true
	}
	set, ok := a.(plan.SetNodes)
	return ok && set.State == "power_up" && set.Comment != nil && strings.HasPrefix(*set.Comment, "slurmflex: waits in ")
}

// goOnUntil lets the world go on, of which after some steps all is seen, and says
// what is still done when it should be at rest.
func (m *model) goOnUntil(seen int) (unrest string) {
	var last []string
	for step := range restless + quiet {
		if step == seen {
			m.Unseen = nil
		}
		p := plan.Compute(m.cfg, m.snapshot())
		if len(p.Actions) > 0 {
			last = append(last, fmt.Sprint(p.Actions))
		}
		if step >= restless && slices.ContainsFunc(p.Actions, func(a plan.Action) bool { return !keepsArmed(a) }) {
			return "no rest, but at last\n" + strings.Join(last[max(0, len(last)-4):], "\n")
		}
		m.do(p)
		m.goOn()
	}
	return ""
}

// do carries a plan out. As in a pass, what is refused holds up what needs it and
// nothing else.
func (m *model) do(p plan.Plan) {
	left := map[string][]plan.Action{}
	for _, a := range p.Actions {
		queue := a.Queue()
		if slices.ContainsFunc(left[queue], func(undone plan.Action) bool { return plan.Needs(a, undone) }) || !m.act(a) {
			left[queue] = append(left[queue], a)
		}
	}
}

func (m *model) act(a plan.Action) (done bool) {
	switch a := a.(type) {
	case plan.CreateGroup:
		key := a.Spec.Region + "/" + a.Spec.Name
		if _, taken := m.groups[key]; taken {
			delete(m.groups, key) // a stranger's, and an admin does the fix that was named
			m.Refused[a.Spec.Name] = plan.Refusal{Cause: mig.CauseExists, At: m.Now, Times: 1}
			return false
		}
		m.groups[key] = mig.Group{Name: a.Spec.Name, Region: a.Spec.Region, Stamp: a.Spec.Stamp, Created: m.Now}
	case plan.CreateRequest:
		delete(m.Refused, a.Group.Name)
		m.change(a.Group.Region, a.Group.Name, func(g *mig.Group) {
			g.Requests = append(slices.Clone(g.Requests), mig.Request{
				Name: a.Spec.Name, State: mig.Creating, Instances: a.Spec.Instances, Duration: a.Spec.Duration, Created: m.Now,
			})
		})
	case plan.CancelRequest:
		m.changeRequest(a.Group.Region, a.Group.Name, a.Request, func(r *mig.Request) { r.State = mig.Cancelled })
	case plan.DeleteRequest:
		m.change(a.Group.Region, a.Group.Name, func(g *mig.Group) {
			g.Requests = slices.DeleteFunc(slices.Clone(g.Requests), func(r mig.Request) bool { return r.Name == a.Request })
		})
	case plan.DeleteGroup:
		delete(m.groups, a.Group.String())
	case plan.DeleteInstances:
		m.stop(a.Instances)
	case plan.DeleteVMs:
		m.stop(a.Instances)
	case plan.BulkInsert:
		delete(m.Refused, a.Group.Name)
		if set := a.Spec.Stamp.NodeSet; a.Spec.Model != mig.FlexStart {
			m.Stockouts[set] = plan.Stockout{At: m.Now}
			if m.fails > 0 {
				m.fails--
				m.Stockouts[set] = plan.Stockout{At: m.Now, Times: 1}
				m.Refused[a.Group.Name] = plan.Refusal{Cause: mig.CauseCapacity, At: m.Now, Times: 1}
				return false
			}
		}
		for _, name := range a.Spec.Instances {
			m.boot(mig.Instance{Name: name, Region: a.Spec.Region, Stamp: a.Spec.Stamp, Model: a.Spec.Model}, a.Spec.Duration)
		}
	case plan.CreatePolicy:
		m.Policies = append(m.Policies, mig.Policy{Name: a.Spec.Name, Region: a.Spec.Region, Stamp: a.Spec.Stamp, Created: m.Now})
	case plan.DeletePolicy:
		m.Policies = slices.DeleteFunc(m.Policies, func(p mig.Policy) bool { return p.Region == a.Group.Region && p.Name == a.Group.Name })
	case plan.CreateReservation:
		m.Reservations = append(m.Reservations, slurm.Reservation{Name: a.Name, Nodes: a.Nodes, Start: a.Start, End: a.Start.Add(a.Lasts)})
	case plan.SetReservation:
		r := &m.Reservations[m.reservation(a.Name)]
		r.Nodes = a.Nodes
		if !a.End.IsZero() {
			r.End = a.End
		}
	case plan.DeleteReservation:
		if j, queued := m.jobs[a.Job]; queued {
			j.Reservation = ""
			m.jobs[a.Job] = j
		}
		m.Reservations = slices.Delete(m.Reservations, m.reservation(a.Name), m.reservation(a.Name)+1)
	case plan.CommentJob:
		m.Told[a.Job] = a.Text
	case plan.WarnJob:
		m.Told[a.Job] = memo.Warning(m.Now, a.Because())
	case plan.SignalJob:
		m.Told[a.Job] = a.Text
	case plan.RequeueJob:
		whole := m.jobs[a.Job].HetID
		for id, j := range m.jobs {
			if (id == a.Job || whole != 0 && j.HetID == whole) && m.Requeues[a.Job] {
				j.State, j.Nodes = slurm.JobPending, nil
				m.jobs[id] = j
			}
		}
	case plan.ChangePartitions:
		m.Chains[a.Job] = a.Chain
		if j := m.jobs[a.Job]; len(a.To) > 0 && j.State == slurm.JobPending {
			j.Partition = strings.Join(a.To, ",")
			m.jobs[a.Job] = j
		}
	case plan.MoveJob:
		m.move(a)
	case plan.SalvageJob:
		m.salvage(a)
	case plan.ReturnNodes:
		m.returnNodes(a)
	case plan.SetNodes:
		for _, name := range a.Nodes {
			m.setNode(name, a)
		}
	}
	return true
}

func (m *model) reservation(name string) int {
	return slices.IndexFunc(m.Reservations, func(r slurm.Reservation) bool { return r.Name == name })
}

// change changes a group that is there.
func (m *model) change(region, name string, change func(*mig.Group)) {
	if g, ok := m.groups[region+"/"+name]; ok {
		change(&g)
		m.groups[region+"/"+name] = g
	}
}

func (m *model) changeRequest(region, group, name string, change func(*mig.Request)) {
	m.change(region, group, func(g *mig.Group) {
		g.Requests = slices.Clone(g.Requests)
		for i := range g.Requests {
			if r := &g.Requests[i]; r.Name == name && r.State == mig.Accepted {
				change(r)
			}
		}
	})
}

// stop begins the deletion of instances.
func (m *model) stop(instances []mig.Instance) {
	for _, in := range instances {
		in.Status = "STOPPING"
		m.instances[in.Zone+"/"+in.Name] = in
	}
}

// boot makes an instance, unless its name is taken in the zone.
func (m *model) boot(in mig.Instance, lease time.Duration) {
	in.Zone, in.Status, in.Model = in.Region+"-a", "PROVISIONING", cmp.Or(in.Model, mig.FlexStart)
	in.Created = m.Now
	if in.Model == mig.FlexStart {
		in.Terminates = m.Now.Add(max(lease, mig.MinDuration))
	}
	if _, taken := m.instances[in.Zone+"/"+in.Name]; !taken {
		m.instances[in.Zone+"/"+in.Name] = in
	}
}

// returnNodes powers nodes down, and their jobs wait in the queue for other ones or
// are gone.
func (m *model) returnNodes(a plan.ReturnNodes) {
	for _, id := range append([]uint32{a.Job}, a.Others...) {
		m.Told[id] = memo.OwnComment + a.Reason
	}
	if a.Leaving != nil {
		m.Chains[a.Job] = *a.Leaving
	}
	for _, name := range a.Nodes {
		change := plan.SetNodes{State: "power_down_force", Reason: a.Reason}
		if extra := a.Extra[name]; extra != "" {
			change.Extra = &extra
		}
		m.setNode(name, change)
	}
	if a.Then == plan.Cancel {
		delete(m.jobs, a.Job)
	}
}

// move has a job move to nodes that are reserved for it.
func (m *model) move(a plan.MoveJob) {
	if a.Reserves {
		m.Reservations = append(m.Reservations, slurm.Reservation{
			Name: a.Reservation, Nodes: slices.Concat(a.To, a.Held), Start: m.Now, End: m.Now.Add(slurm.MoveLimit), Users: []string{a.User},
		})
	}
	for _, name := range a.From {
		m.setNode(name, plan.SetNodes{State: "power_down_force"})
	}
	j := m.jobs[a.Job]
	j.State, j.Nodes, j.Start = slurm.JobConfiguring, slices.Concat(a.To, a.Held), m.Now
	if len(a.From) > 0 {
		j.Reservation = a.Reservation
	}
	m.jobs[a.Job] = j
}

// salvage has a job leave nodes whose machines are gone, or start again on those that are
// reserved for it.
func (m *model) salvage(a plan.SalvageJob) {
	if a.Reserves {
		m.Reservations = append(m.Reservations, slurm.Reservation{
			Name: a.Reservation, Nodes: a.Nodes, Start: m.Now, End: m.Now.Add(a.Lasts), Users: []string{a.User},
		})
	}
	for _, name := range a.Lost {
		m.requeue(name)
		n := m.nodes[name]
		n.State.Base = slurm.Down
		m.nodes[name] = n
	}
	j := m.jobs[a.Job]
	j.Reservation = a.Reservation
	if len(a.Lost) == 0 && len(a.Nodes) >= j.NodeCount {
		j.State, j.Nodes, j.Start = slurm.JobConfiguring, a.Nodes, m.Now
	}
	m.jobs[a.Job] = j
}

// setNode does what scontrol update does to a node.
func (m *model) setNode(name string, a plan.SetNodes) {
	n := m.nodes[name]
	if a.Comment != nil {
		n.Comment = *a.Comment
	}
	if a.Extra != nil {
		n.Extra = *a.Extra
	}
	if a.Reason != "" {
		n.Reason = a.Reason
	}
	s := &n.State
	switch a.State {
	case "power_down_force":
		m.requeue(name)
		m.powerDown(&n)
	case "power_down":
		s.Flags |= slurm.PowerDown
	case "power_up":
		if s.Has(slurm.PoweredDown) {
			s.Flags = s.Flags&^slurm.PoweredDown | slurm.PoweringUp | slurm.NotResponding
		}
	case "down":
		m.requeue(name)
		s.Base, s.Flags = slurm.Down, s.Flags&^slurm.Completing
	case "resume":
		if s.Has(slurm.PoweringDown) {
			s.Flags = s.Flags&^slurm.PoweringDown | slurm.PoweredDown
		}
		s.Base = slurm.Idle
	}
	m.nodes[name] = n
}

const powerFlags = slurm.PowerDown | slurm.PowerUp | slurm.PoweredDown | slurm.PoweringUp | slurm.PoweringDown

// powerDown begins to power a node down, which makes it idle.
func (m *model) powerDown(n *slurm.Node) {
	n.State.Flags = n.State.Flags&^(powerFlags|slurm.NotResponding|slurm.Completing) | slurm.PoweringDown
	n.State.Base, n.LastBusyTime = slurm.Idle, time.Time{}
}

// requeue takes the jobs off a node.
func (m *model) requeue(node string) {
	for id, j := range m.jobs {
		if !holdsNodes(j.State) || !slices.Contains(j.Nodes, node) {
			continue
		}
		j.State, j.Nodes = slurm.JobPending, nil
		m.jobs[id] = j
		if !m.Requeues[id] {
			delete(m.jobs, id)
		}
	}
}

// goOn is what two minutes bring.
func (m *model) goOn() {
	before := m.lost()
	m.Now = m.Now.Add(2 * time.Minute)
	for _, key := range slices.Sorted(maps.Keys(m.instances)) {
		m.instanceGoesOn(key)
	}
	for _, key := range slices.Sorted(maps.Keys(m.groups)) {
		m.groupGoesOn(key)
	}
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		m.jobGoesOn(id)
	}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		m.nodeGoesOn(name)
	}
	m.Reservations = slices.DeleteFunc(m.Reservations, func(r slurm.Reservation) bool {
		id, moved := memo.ParseMove(cluster, r.Name)
		if of, held := memo.ParseSalvage(cluster, r.Name); held {
			id, moved = of, true
		}
		_, rests := memo.ParseRest(cluster, r.Name)
		over := (moved || rests) && !r.End.After(m.Now)
		if j, queued := m.jobs[id]; over && queued {
			j.Reservation = ""
			m.jobs[id] = j
		}
		return over
	})
	maps.DeleteFunc(m.Refused, func(_ string, r plan.Refusal) bool { return m.Now.Sub(r.At) > time.Hour })
	m.Missed = m.lost()
	maps.DeleteFunc(m.Missed, func(name string, _ bool) bool { return !before[name] })
}

// lost are the nodes that are up and have no machine that runs.
func (m *model) lost() map[string]bool {
	lost := map[string]bool{}
	for name, n := range m.nodes {
		if n.State.Power() == slurm.On && !slices.ContainsFunc(m.machines(name), func(in mig.Instance) bool { return !in.Broken() }) {
			lost[name] = true
		}
	}
	return lost
}

// instanceGoesOn: what is on its way up runs, what leaves is gone, also from its
// group's count; what has stopped stays.
func (m *model) instanceGoesOn(key string) {
	in := m.instances[key]
	switch {
	case in.Leaving() && !in.Stopped(), !in.Terminates.IsZero() && !in.Terminates.After(m.Now):
		delete(m.instances, key)
		m.change(in.Region, in.Group, func(g *mig.Group) { g.TargetSize = max(0, g.TargetSize-1) })
	case in.Status == "REPAIRING":
		in.Status = "TERMINATED"
		m.instances[key] = in
	case !in.Leaving():
		in.Status = "RUNNING"
		m.instances[key] = in
	}
}

// groupGoesOn: requests are accepted, then they fail or succeed.
func (m *model) groupGoesOn(key string) {
	g := m.groups[key]
	g.Requests, g.Creating = slices.Clone(g.Requests), 0
	for i := range g.Requests {
		r := &g.Requests[i]
		switch {
		case r.State == mig.Accepted && m.fails > 0:
			m.fails--
			r.State, r.Cause, r.Message = mig.Failed, mig.CauseCapacity, "STOCKOUT: none"
		case r.State == mig.Accepted && slices.ContainsFunc(r.Instances, m.taken):
			r.State, r.Cause, r.Message = mig.Failed, mig.CauseConflict, "alreadyExists"
		case r.State == mig.Accepted:
			r.State, g.TargetSize = mig.Succeeded, g.TargetSize+len(r.Instances)
			for _, name := range r.Instances {
				m.boot(mig.Instance{Name: name, Region: g.Region, Group: g.Name}, r.Duration)
			}
		case r.State.Live():
			r.State = mig.Accepted
		}
	}
	m.groups[key] = g
}

// taken reports whether there is an instance of that name.
func (m *model) taken(name string) bool { return len(m.machines(name)) > 0 }

func (m *model) machines(name string) (all []mig.Instance) {
	for key, in := range m.instances {
		if strings.HasSuffix(key, "/"+name) {
			all = append(all, in)
		}
	}
	return all
}

// jobGoesOn: a job whose nodes are up runs, one that completes leaves them.
func (m *model) jobGoesOn(id uint32) {
	j := m.jobs[id]
	switch j.State {
	case slurm.JobConfiguring, slurm.JobPowerUpNode:
		if !slices.ContainsFunc(j.Nodes, func(n string) bool { return m.nodes[n].State.Flags&(powerFlags&^slurm.PowerDown) != 0 }) {
			j.State, j.Start = slurm.JobRunning, m.Now
		}
		m.jobs[id] = j
	case slurm.JobCompleting:
		delete(m.jobs, id)
	}
}

// nodeGoesOn: a node is what its jobs and its machine make of it.
func (m *model) nodeGoesOn(name string) {
	n := m.nodes[name]
	s := &n.State
	held := slices.ContainsFunc(inOrder(m.jobs), func(j slurm.Job) bool {
		return holdsNodes(j.State) && slices.Contains(j.Nodes, name)
	})
	running := slices.ContainsFunc(m.machines(name), func(in mig.Instance) bool { return in.Status == "RUNNING" })
	s.Flags &^= slurm.Completing
	switch {
	case s.Has(slurm.PoweringDown):
		m.fading[name]++
		if m.fading[name] > 3 { // SuspendTimeout
			m.fading[name] = 0
			s.Flags = s.Flags&^slurm.PoweringDown | slurm.PoweredDown
		}
	case s.Has(slurm.PoweredDown) && (held || s.Has(slurm.PowerUp)):
		s.Flags = s.Flags&^(slurm.PoweredDown|slurm.PowerUp) | slurm.PoweringUp | slurm.NotResponding
	case s.Has(slurm.PoweredDown):
	case s.Flags&(slurm.PoweringUp|slurm.PowerUp) != 0 && running:
		s.Flags &^= slurm.PoweringUp | slurm.PowerUp | slurm.NotResponding
	case s.Flags&(slurm.PoweringUp|slurm.PowerUp) != 0:
		s.Flags = s.Flags&^slurm.PowerUp | slurm.PoweringUp
	case !running && s.Has(slurm.NotResponding): // for longer than SlurmdTimeout
		m.requeue(name)
		held, s.Base = false, slurm.Down
	case !running:
		s.Flags |= slurm.NotResponding
	case s.Has(slurm.PowerDown) && !held:
		m.powerDown(&n)
	default:
		s.Flags &^= slurm.NotResponding
	}
	switch {
	case held && (s.Base == slurm.Idle || s.Base == slurm.Mixed):
		s.Base = slurm.Allocated
	case !held && (s.Base == slurm.Allocated || s.Base == slurm.Mixed):
		s.Base, n.LastBusyTime = slurm.Idle, m.Now
	}
	m.nodes[name] = n
}
