package plan

import (
	"fmt"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Action is one thing to do, and why. Kinds lists all there are.
type Action interface {
	fmt.Stringer // what is done, in one line

	// Because is the reason, for the log and for `slurmflex plan`.
	Because() string

	// Queue names what the action works on. Actions of one queue are done in
	// the plan's order and stop at the first that fails, unless it is a
	// SetNodes; queues do not wait for each other.
	Queue() string

	// About says what kind of action it is, and on what.
	About() Subject
}

// Why is the reason for an action.
type Why string

// Because returns the reason.
func (w Why) Because() string { return string(w) }

// CreateGroup makes a managed instance group of size 0.
type CreateGroup struct {
	Spec mig.GroupSpec
	Why
}

// CreateRequest makes a resize request in a group.
type CreateRequest struct {
	Region, Group string
	Job           uint32 // that the group is made for; 0: none
	Spec          mig.RequestSpec
	Why
}

// CancelRequest cancels a live resize request.
type CancelRequest struct {
	Region, Group, Request string
	Job                    uint32 // that the group was made for; 0: none
	Why
}

// DeleteInstances deletes instances through the group that made them.
type DeleteInstances struct {
	Region, Group string
	Job           uint32 // that the group was made for; 0: none
	Instances     []mig.Instance
	Why
}

// DeleteGroup deletes an empty group.
type DeleteGroup struct {
	Region, Group string
	Job           uint32 // that it was made for; 0: none
	Why
}

// DeleteRequest deletes the record of a finished request.
type DeleteRequest struct {
	Region, Group, Request string
	Job                    uint32 // that the group was made for; 0: none
	Why
}

// SetNodes gives nodes in Slurm a new power state, or other texts.
type SetNodes struct {
	Nodes   []string
	State   string  // scontrol's word: power_down, power_down_force, …; empty: as it is
	Reason  string  // written to the nodes; empty: none
	Comment *string // written to the nodes; nil: none
	Extra   *string // likewise
	Why
}

func (a CreateGroup) String() string {
	return fmt.Sprintf("create group %s in %s", a.Spec.Name, a.Spec.Region)
}

func (a CreateRequest) String() string {
	return fmt.Sprintf("request %s in %s/%s for %s", counted(a.Spec.Instances), a.Group, a.Spec.Name, clock(a.Spec.Duration))
}

func (a CancelRequest) String() string {
	return fmt.Sprintf("cancel request %s/%s", a.Group, a.Request)
}

func (a DeleteInstances) String() string {
	return fmt.Sprintf("delete instances %s of %s", slurm.Fold(mig.Names(a.Instances)), a.Group)
}

func (a DeleteGroup) String() string { return "delete group " + a.Group }

func (a DeleteRequest) String() string {
	return fmt.Sprintf("delete record of request %s/%s", a.Group, a.Request)
}

func (a SetNodes) String() string {
	text := "set nodes " + slurm.Fold(a.Nodes)
	if a.State != "" {
		text += " " + a.State
	}
	if a.Comment != nil {
		text += fmt.Sprintf(" comment %q", *a.Comment)
	}
	if a.Extra != nil {
		text += fmt.Sprintf(" extra %q", *a.Extra)
	}
	return text
}

// Queue is the group, so that a request follows its group.
func (a CreateGroup) Queue() string     { return a.Spec.Region + "/" + a.Spec.Name }
func (a CreateRequest) Queue() string   { return a.Region + "/" + a.Group }
func (a CancelRequest) Queue() string   { return a.Region + "/" + a.Group }
func (a DeleteInstances) Queue() string { return a.Region + "/" + a.Group }
func (a DeleteRequest) Queue() string   { return a.Region + "/" + a.Group }
func (a DeleteGroup) Queue() string     { return a.Region + "/" + a.Group }

// Queue is one for all nodes: slurmctld takes one update at a time anyway, and
// one that comes late from an earlier plan must not undo a newer one. One that
// fails stops no other: a plan changes no node twice.
func (a SetNodes) Queue() string { return "slurm" }

// counted says how many nodes these are, and which: 2 nodes (alpha-a3-[0-1]).
func counted(nodes []string) string {
	noun := "nodes"
	if len(nodes) == 1 {
		noun = "node"
	}
	return fmt.Sprintf("%d %s (%s)", len(nodes), noun, slurm.Fold(nodes))
}

// clock writes a duration as Slurm writes time limits: 2:00:00, 7-00:00:00.
func clock(d time.Duration) string {
	return slurm.Limit{Kind: slurm.LimitSet, Duration: d}.String()
}
