package trial

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
)

// seen is what a trial has seen. What it has not tried is not there.
type seen struct {
	spec       Spec
	clock      *offset
	operations *[2]string         // of one insertion sent twice
	results    map[string]*result // by the names of steps; also of the last reading of group and members
}

// note keeps the result of a step.
func (s *seen) note(name string, l *look, err error) {
	if s.results == nil {
		s.results = map[string]*result{}
	}
	s.results[name] = &result{l, err}
}

// forget drops the result of a step that turned out to have tried nothing.
func (s *seen) forget(name string) { delete(s.results, name) }

// look is what a step has seen; nil if it has seen nothing.
func (s *seen) look(name string) *look {
	if r := s.results[name]; r.ok() {
		return r.look
	}
	return nil
}

// offset is Compute's clock between two readings of ours.
type offset struct{ before, there, after time.Time }

// look is the trial's group with its members and the trial's machines, at one time.
type look struct {
	at       time.Time
	group    mig.Group
	policies []mig.Policy // read only when lists are, and the trial may have one
	members  []mig.Member
	machines []mig.Instance
}

func (l look) member(name string) (mig.Member, bool) {
	i := slices.IndexFunc(l.members, func(m mig.Member) bool { return m.Name == name })
	if i < 0 {
		return mig.Member{}, false
	}
	return l.members[i], true
}

func (l look) machine(name string) (mig.Instance, bool) {
	i := slices.IndexFunc(l.machines, func(in mig.Instance) bool { return in.Name == name })
	if i < 0 {
		return mig.Instance{}, false
	}
	return l.machines[i], true
}

func (l look) request(name string) (mig.Request, bool) {
	i := slices.IndexFunc(l.group.Requests, func(r mig.Request) bool { return r.Name == name })
	if i < 0 {
		return mig.Request{}, false
	}
	return l.group.Requests[i], true
}

// has reports whether the group has a machine of that name.
func (l look) has(name string) bool {
	m, ok := l.member(name)
	return ok && m.Status != ""
}

// state is the state of a request in words.
func (l look) state(name string) string {
	if r, ok := l.request(name); ok {
		return string(r.State)
	}
	return "no record"
}

// memberText is a member in words.
func (l look) memberText(name string) string {
	m, ok := l.member(name)
	switch {
	case !ok:
		return "no member"
	case m.Status == "":
		return fmt.Sprintf("action %s, no machine", m.Action)
	}
	return fmt.Sprintf("action %s, machine %s", m.Action, m.Status)
}

func size(l look) string { return fmt.Sprintf("target size %d", l.group.TargetSize) }
