package trial

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
)

// seen holds a trial's observations. skipped steps have none.
type seen struct {
	spec       spec
	clock      *offset
	operations *[2]string         // names of the operations of one insertion that was sent twice
	results    map[string]*result // by step; also the last reading of group and members
}

// note records the result of a step.
func (s *seen) note(name string, l *snapshot, err error) {
	if s.results == nil {
		s.results = map[string]*result{}
	}
	s.results[name] = &result{l, err}
}

// snapshot returns the snapshot of a step; nil if the step took none.
func (s *seen) snapshot(name string) *snapshot {
	if r := s.results[name]; r.ok() {
		return r.snapshot
	}
	return nil
}

// offset brackets a reading of Compute's clock between two readings of this host's clock.
type offset struct{ before, there, after time.Time }

// snapshot shows the trial's group with its members, and the trial's machines, at one time.
type snapshot struct {
	at       time.Time
	group    mig.Group
	policies []mig.Policy // read together with lists, if the trial may have created a policy
	members  []mig.Member
	machines []mig.Instance
}

// find returns the item with a name.
func find[T any](items []T, name string, of func(T) string) (found T, ok bool) {
	i := slices.IndexFunc(items, func(item T) bool { return of(item) == name })
	if i < 0 {
		return found, false
	}
	return items[i], true
}

func (l snapshot) member(name string) (mig.Member, bool) {
	return find(l.members, name, func(m mig.Member) string { return m.Name })
}

func (l snapshot) machine(name string) (mig.Instance, bool) {
	return find(l.machines, name, func(in mig.Instance) string { return in.Name })
}

func (l snapshot) request(name string) (mig.Request, bool) {
	return find(l.group.Requests, name, func(r mig.Request) string { return r.Name })
}

// has reports whether the group has a machine of that name.
func (l snapshot) has(name string) bool {
	m, ok := l.member(name)
	return ok && m.Status != ""
}

// state describes the state of a request.
func (l snapshot) state(name string) string {
	if r, ok := l.request(name); ok {
		return string(r.State)
	}
	return "no record"
}

// memberText describes a member.
func (l snapshot) memberText(name string) string {
	m, ok := l.member(name)
	switch {
	case !ok:
		return "no member"
	case m.Status == "":
		return fmt.Sprintf("action %s, no machine", m.Action)
	}
	return fmt.Sprintf("action %s, machine %s", m.Action, m.Status)
}

func size(l snapshot) string { return fmt.Sprintf("target size %d", l.group.TargetSize) }
