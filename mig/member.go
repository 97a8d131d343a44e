package mig

// Member is a managed instance: what a group says of one of its instances, which
// has a VM or not.
type Member struct {
	Name   string
	Status string // of its VM, in the API's words; empty if it has none
	Action string // that the group is taking: NONE, CREATING, DELETING, …
}

// Lost reports whether the member's VM is gone and the group does not make
// another. Compute keeps such a member, and takes no other instance of its name.
func (m Member) Lost() bool { return m.Status == "" && m.Action == "NONE" }
