package trial

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
)

// seen is what a trial has seen. What is nil was not tried.
type seen struct {
	spec  Spec
	clock *offset

	// Reads that change nothing.
	template, region, zone, machineType, groups, instances, policies, advice *outcome
	partial                                                                  *outcome // listing instances with returnPartialSuccess

	// The group.
	created, createdAgain, groupRead, membersRead *outcome
	operations                                    *[2]string // of one insertion sent twice
	empty                                         *look
	absent                                        *outcome // reading a group that does not exist

	// The workload policy.
	policyCreated, policyDeleted *outcome

	// The request that is cancelled.
	asked, cancelled, cancelledAgain, forgotten *outcome
	waiting, afterCancel, afterForget           *look

	// The request that is too short.
	short      *outcome
	afterShort *look

	// The request whose machine is deleted.
	requested, requestedAgain, deletedActive *outcome
	afterDeleteActive                        *look
	granted                                  *look
	running                                  *look
	cancelledLate, deletedMachine            *outcome
	afterMachine                             *look

	// The request whose machine is deleted without its group.
	requestedName, deletedVM *outcome
	afterLoss                *look

	// The end.
	deletedGroup, readAfter *outcome
	left                    *look
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
