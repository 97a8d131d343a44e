package mig

// Member is a managed instance: a group's record of one of its instances, which may or may not have
// a VM.
type Member struct {
	Name   string
	Zone   string // short name of its VM's zone; empty if unknown
	Status string // the API's status of its VM; empty if it has no VM
	Action string // the group's current action on it: NONE, CREATING, DELETING, …
}

// Lost reports whether the member's VM is gone and the group does not create another. Compute keeps
// such a member and accepts no new instance of its name.
func (m Member) Lost() bool { return m.Status == "" && m.Action == "NONE" }
