package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
)

// openWait is a wait that has not ended, or an ended one with requests that are still on record.
type openWait struct {
	Entry
	Group    string   `json:"group"`
	Requests []string `json:"requests"`          // their names, oldest first
	Failing  bool     `json:"failing,omitempty"` // the last of them has failed
	Over     bool     `json:"over,omitempty"`    // its line is written, or will never be

	absence // of its requests
}

// waits updates the open waits, and returns those that have ended.
func (m *memory) waits(l *look) (ended []Entry) {
	type request struct{ region, group, name string }
	open := map[request]*openWait{}
	for _, o := range m.Waits {
		for _, name := range o.Requests {
			open[request{o.Region, o.Group, name}] = o
		}
	}
	for _, g := range l.scene.Groups {
		if l.scene.Unseen(g.Region) || g.Stamp.Newer() {
			continue
		}
		for _, run := range runsOf(g) {
			var o *openWait
			for _, r := range run {
				o = cmp.Or(o, open[request{g.Region, g.Name, r.Name}])
			}
			if o == nil {
				o = l.begin(g, run)
				m.Waits = append(m.Waits, o)
			}
			o.absence = absence{shown: m.looks}
			if o.Over {
				continue
			}
			o.follow(l, run)
			if end, at := l.endOf(o, g, run, m.Looked[g.Region] != 0); end != "" {
				o.Over = true
				if at != 0 {
					ended = append(ended, o.end(end, at, l, run))
				}
				if at != 0 && end == Granted {
					l.note(News{What: MachinesCreated, Entry: ended[len(ended)-1]})
				}
			}
		}
	}
	return append(ended, m.goneWaits(l)...)
}

// goneWaits ends the waits with requests that no longer exist.
func (m *memory) goneWaits(l *look) (ended []Entry) {
	m.Waits = slices.DeleteFunc(m.Waits, func(o *openWait) bool {
		g := l.scene.Group(mig.GroupID{Region: o.Region, Name: o.Group}).Owned
		switch {
		case o.shown == m.looks || l.isBlind(o.Region, o.Gone) || g != nil && g.Unread != "":
			return false
		case o.Over:
			return true
		case !o.isOver(l, o.Region):
			return false
		case !o.Lost:
			ended = append(ended, o.end(Withdrawn, o.Gone, l, nil))
		}
		return true
	})
	slices.SortFunc(ended, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return ended
}

// begin returns the wait that starts with a run of requests.
func (l *look) begin(g *mig.Group, run []mig.Request) *openWait {
	o := &openWait{Group: g.Name}
	l.place(&o.Entry, g.Stamp.NodeSet, g.Region, 1)
	o.Kind, o.From = Wait, At(run[0].Created)
	o.ID = fmt.Sprintf("%s/%s/%s@%d", g.Region, g.Name, run[0].Name, o.From)
	if job := l.madeFor(g.Stamp, run[0].Instances...); job != 0 {
		o.Who = l.who(job, run[0].Instances...)
	}
	return o
}

// follow updates the wait from its requests.
func (o *openWait) follow(l *look, run []mig.Request) {
	before := o.Requests
	for _, r := range run {
		if at := slices.Index(before, r.Name); r.State == mig.Failed && (at < 0 || at == len(before)-1 && !o.Failing) {
			l.note(News{What: RequestFailed, Entry: o.Entry, Cause: r.Cause})
		}
		if !slices.Contains(o.Requests, r.Name) {
			o.Requests, o.Attempts = append(o.Requests, r.Name), o.Attempts+1
		}
		o.Cause = cmp.Or(r.Cause, o.Cause)
	}
	last := run[len(run)-1]
	o.Failing = last.State == mig.Failed
	each := o.GPUs / o.Count
	o.Count, o.Seconds = max(last.Size(), 1), int64(last.Duration/time.Second)
	o.GPUs = each * o.Count
}

// endOf returns how and when the wait ended; empty if it is ongoing. For a wait that had ended
// before the first look, the time is known only if its machines exist.
func (l *look) endOf(o *openWait, g *mig.Group, run []mig.Request, known bool) (end ending, at Time) {
	last := run[len(run)-1]
	now := l.now
	if !known {
		now = 0
	}
	if made := l.made(g, last); made != 0 {
		return Granted, max(made, o.From)
	}
	switch {
	case last.State == mig.Succeeded:
		return Granted, now
	case last.State == mig.Cancelled, last.State == mig.Failed && (last.Cause.NeedsAdmin() || l.left(o.Job)):
		return Withdrawn, now
	}
	return "", 0
}

// made returns the creation time of the first machine that the request has created; 0 if no machine
// is shown.
func (l *look) made(g *mig.Group, r mig.Request) (first Time) {
	if !brings(r) {
		return 0
	}
	for _, name := range r.Instances {
		in := l.machine(name)
		if in.Instance == nil || in.GroupID() != g.ID() || in.Created.IsZero() || in.Created.Before(r.Created) {
			continue
		}
		if slices.ContainsFunc(g.Requests, func(later mig.Request) bool {
			return brings(later) && later.Created.After(r.Created) && !later.Created.After(in.Created) && later.Names(name)
		}) {
			continue // it belongs to the later one
		}
		if at := At(in.Created); first == 0 || at < first {
			first = at
		}
	}
	return first
}

// brings reports whether the request has created machines, or still may.
func brings(r mig.Request) bool { return r.State == mig.Succeeded || r.State.Live() }

// left reports whether the job has left the queue.
func (l *look) left(job uint32) bool {
	return job != 0 && l.scene.Jobs[job] == nil && len(l.scene.Seen.Unread) == 0
}

// end returns the wait's line.
func (o *openWait) end(end ending, at Time, l *look, run []mig.Request) Entry {
	e := o.Entry
	e.End, e.To = end, max(at, o.From)
	if end == Granted && len(run) > 0 {
		for _, name := range run[len(run)-1].Instances {
			if in := l.machine(name); in.Instance != nil {
				e.Zone = in.Zone
			}
		}
	}
	return e
}

// runsOf splits the requests of a group, oldest first, into runs that belong to one wait. After a
// temporary failure, the next attempt continues the wait. In a group that jobs share, each
// request is a wait of its own.
func runsOf(g *mig.Group) (runs [][]mig.Request) {
	begin, requests := 0, g.Requests
	for i, r := range requests {
		if r.State != mig.Failed || r.Cause.NeedsAdmin() || g.Stamp.Shared() {
			runs = append(runs, requests[begin:i+1])
			begin = i + 1
		}
	}
	if begin < len(requests) {
		runs = append(runs, requests[begin:])
	}
	return runs
}
