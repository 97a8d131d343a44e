package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// The limits of a line. A lease with more jobs is cut into several lines. Half of maxLine is left for
// the jobs that the next look adds.
const (
	maxUses = 1000
	maxSize = maxLine / 2
)

// openLease is a lease that has not ended. Ongoing uses have a zero To.
type openLease struct {
	Entry
	Made Time `json:"made"`         // with the zone and the name, identifies the machine
	Up   Time `json:"up,omitempty"` // when its node first became available to Slurm; 0: not yet
	// Joined is true if the machine's node has registered.
	Joined bool `json:"joined,omitempty"`
	Stops  Time `json:"stops,omitempty"` // latest end of the lease; 0 if unknown
	Part   int  `json:"part,omitempty"`  // how often it was cut

	// Presumed is the job that is about to run: all its nodes are up, but Slurm does not yet show
	// its start. It may have ended by the next look.
	Presumed uint32 `json:"presumed,omitempty"`

	// Losing is true if the machine's job is starting or has started in another nodeset, and no
	// other job has got the machine yet.
	Losing bool `json:"losing,omitempty"`

	absence
}

// lease identifies the lease, of which each line is a part.
func (o *openLease) lease() string { return scene.LeaseOf(o.Zone, o.Node, o.Made.Time()) }

// leases updates the open leases, and returns those that have ended.
func (m *memory) leases(l *look) (ended []Entry) {
	m.looks++
	open := make(map[string]*openLease, len(m.Leases))
	for _, o := range m.Leases {
		open[o.lease()] = o
	}
	for _, in := range Machines(l.scene) {
		if in.Unread != "" || in.Stopped() || l.machine(in.Name).Instance != in.Instance {
			continue // a stopped machine is no longer billed
		}
		o := open[scene.LeaseOf(in.Zone, in.Name, in.Created)]
		if o == nil {
			o = l.open(in)
			m.Leases = append(m.Leases, o)
		}
		o.absence = absence{shown: m.looks}
		o.follow(l, in)
		if len(o.Uses) >= maxUses || o.size() >= maxSize {
			ended = append(ended, o.cut(l.now))
		}
	}
	m.Leases = slices.DeleteFunc(m.Leases, func(o *openLease) bool {
		if term := o.term(); o.Gone == 0 && term != 0 && term < l.now && !l.reads(o.Region) {
			o.Gone = term
		}
		if o.shown == m.looks || l.isBlind(o.Region, o.Gone) || l.isUnread(o) {
			return false
		}
		over := o.isOver(l, o.Region)
		o.release(o.Gone, nil)
		if over && !o.Lost {
			ended = append(ended, o.until(o.over()))
		}
		return over
	})
	slices.SortFunc(ended, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.ID, b.ID)) })
	return ended
}

// isBlind reports whether the look cannot tell if something in the region still exists. gone is since
// when looks have not shown it; 0 if the last look at the region did.
func (l *look) isBlind(region string, gone Time) bool {
	return l.scene.Unseen(region) && (gone == 0 || l.reads(region))
}

// reads reports whether passes read the region, or try to.
func (l *look) reads(region string) bool { return slices.Contains(l.scene.Regions, region) }

// isUnread reports whether Compute lists the lease's machine with a record that cannot be read. The
// machine may still run.
func (l *look) isUnread(o *openLease) bool {
	return slices.ContainsFunc(l.scene.Named(o.Node).Machines, func(in scene.Machine) bool {
		return in.Unread != "" && in.Zone == o.Zone && (in.Created.IsZero() || At(in.Created) == o.Made)
	})
}

// open returns the lease of a new machine.
func (l *look) open(in scene.Machine) *openLease {
	o := &openLease{Made: At(in.Created)}
	o.Seconds = int64(in.Requested() / time.Second)
	stamp := in.Origin
	nodeset := stamp.NodeSet
	if set := l.scene.Config.FlexSetOf(in.Name); set != nil {
		nodeset = set.Name
	}
	l.place(&o.Entry, nodeset, in.Region, 1)
	o.Kind, o.Zone, o.Node, o.From = Lease, in.Zone, in.Name, o.Made
	o.FlexStart, o.Spot = in.Model == mig.FlexStart, in.Model == mig.Spot
	o.ID = o.lease()
	if job := l.madeFor(stamp, in.Name); job != 0 {
		o.Who = l.who(job, in.Name)
	}
	return o
}

// follow updates the lease.
func (o *openLease) follow(l *look, in scene.Machine) {
	o.Stops = At(in.Terminates)
	o.check(l, in)
	jobs, coming := l.atWork(o.Node)
	if o.Presumed != 0 && l.waits(o.Presumed) && !slices.ContainsFunc(jobs, func(j *slurm.Job) bool { return j.ID == o.Presumed }) {
		o.Uses = slices.DeleteFunc(o.Uses, func(u Use) bool { return u.To == 0 && u.Job == o.Presumed })
		o.Presumed = 0
	}
	o.release(l.now, func(job uint32) bool {
		return slices.ContainsFunc(jobs, func(j *slurm.Job) bool { return j.ID == job })
	})
	for _, j := range jobs {
		since := l.now
		if start := At(j.Start); start != 0 && j.State.AtWork() {
			since = min(max(start, o.From), l.now)
		}
		at := slices.IndexFunc(o.Uses, func(u Use) bool { return u.To == 0 && u.Job == j.ID })
		switch {
		case at < 0:
			o.Uses = append(o.Uses, Use{Who: l.who(j.ID), From: since})
			if stamp := in.Origin; stamp.ForJobs() && !scene.IsFor(stamp, j) {
				l.note(News{What: MachineReused, Entry: o.Entry})
			}
			if !j.State.AtWork() {
				o.Presumed = j.ID
			}
		case o.Presumed == j.ID && j.State.AtWork():
			if o.Up == o.Uses[at].From {
				o.Up = since
			}
			o.Uses[at].From, o.Presumed = since, 0
		}
	}
	if o.Up == 0 && (len(o.Uses) > 0 || l.isRegistered(o.Node) && !coming) {
		o.Up = l.now
	}
	if !o.Joined && l.isRegistered(o.Node) && !in.Leaving() {
		if o.Joined = true; o.Up == 0 || o.Up == l.now {
			l.note(News{What: NodeRegistered, Entry: o.Entry, Seconds: int64(max(l.now-o.From, 0))})
		}
	}
	o.race(l)
}

// check records the machine's host, and why the machine failed its health check.
func (o *openLease) check(l *look, in scene.Machine) {
	o.Host = cmp.Or(o.Host, in.Host)
	if in.Node != nil {
		o.Unhealthy = cmp.Or(o.Unhealthy, in.Node.Unhealthy)
	}
	if _, bad := l.scene.IsOnBadHost(in); bad {
		o.BadHost = true
	}
}

// race records whether the job of the machine has started in another nodeset before any job had the
// machine. RaceLost is set when another job gets the machine.
func (o *openLease) race(l *look) {
	if o.Job == 0 || len(o.Uses) > 0 && !o.Losing {
		return
	}
	switch {
	case o.isAnothers(l):
		if o.Losing {
			o.RaceLost = int64(max(l.now-o.From, 0))
		}
		o.Losing = false
	case o.RaceLost > 0:
	case o.isPassedOver(l.scene):
		o.Losing = true
	case l.scene.Jobs[o.Job] != nil:
		o.Losing = false
	}
}

// isPassedOver reports whether the job that the machine was created for has nodes, or uses a door that
// has opened, and none of these nodes is in the machine's nodeset.
func (o *openLease) isPassedOver(s *scene.Scene) bool {
	outside := func(nodes []string) bool {
		return len(nodes) > 0 && !s.AnyNode(nodes, func(m *scene.Node) bool { return m.Set.Name == o.NodeSet })
	}
	if j := s.Jobs[o.Job]; j != nil && j.State.HoldsNodes() {
		return outside(j.Nodes)
	}
	return slices.ContainsFunc(s.Doors, func(d *scene.Door) bool {
		return d.Job != nil && d.Job.ID == o.Job && d.Named && d.Opened && outside(d.Nodes)
	})
}

// isAnothers reports whether the machine serves, or will serve, a job that it was not created for.
func (o *openLease) isAnothers(l *look) bool {
	return slices.ContainsFunc(l.scene.Named(o.Node).Holders, func(j *slurm.Job) bool { return j.ID != o.Job })
}

// release ends the uses of the jobs that have left the machine.
func (o *openLease) release(now Time, stays func(job uint32) bool) {
	for i := range o.Uses {
		if u := &o.Uses[i]; u.To == 0 && (stays == nil || !stays(u.Job)) {
			u.To = now
		}
	}
}

// term returns the latest end of the lease; 0 if it is unknown.
func (o *openLease) term() Time {
	if o.Stops == 0 && o.Seconds != 0 {
		return o.Made + Time(o.Seconds)
	}
	return o.Stops
}

// over returns when a lease ended that is no longer shown.
func (o *openLease) over() Time {
	if o.Stops != 0 {
		return min(o.Stops, o.Gone)
	}
	return o.Gone
}

// size returns the length, in bytes, that the uses in the lease's line do not exceed. JSON escapes
// no printable character with more than one byte.
func (o *openLease) size() (bytes int) {
	const rest = 200 // its keys, number and times
	for i := range o.Uses {
		u := &o.Uses[i]
		bytes += rest + 2*(len(u.Name)+len(u.User)+len(u.Account)+len(u.Partition))
	}
	return bytes
}

// until returns the lease up to a time. What happened before the start counts from there: the start
// is by Compute's clock, which may be ahead of this host's.
func (o *openLease) until(at Time) Entry {
	e := o.Entry
	at = max(at, e.From)
	e.To, e.Uses = at, nil
	if o.Losing {
		e.RaceLost = e.Took()
	}
	e.RaceLost = min(e.RaceLost, e.Took())
	for _, u := range o.Uses {
		if u.To == 0 || u.To > at {
			u.To = at
		}
		if u.From = max(u.From, e.From); u.From < at {
			u.To = max(u.To, u.From)
			e.Uses = append(e.Uses, u)
		}
	}
	slices.SortStableFunc(e.Uses, func(a, b Use) int { return cmp.Compare(a.From, b.From) })
	up := at
	if o.Up != 0 {
		up = min(max(o.Up, e.From), at)
	}
	if len(e.Uses) > 0 {
		up = min(up, e.Uses[0].From)
	}
	e.Booting = int64(up - e.From)
	return e
}

// cut ends the line of an ongoing lease, and starts the next line.
func (o *openLease) cut(now Time) Entry {
	e := o.until(now)
	o.Part++
	o.ID = fmt.Sprintf("%s+%d", o.lease(), o.Part)
	o.From, o.Up, o.RaceLost, o.Unhealthy = e.To, e.To, 0, ""
	o.Uses = slices.DeleteFunc(o.Uses, func(u Use) bool { return u.To != 0 })
	for i := range o.Uses {
		o.Uses[i].From = e.To
	}
	return e
}
