package view

import (
	"fmt"
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/takedown"
)

// Takedown describes what slurmflex down did.
type Takedown struct {
	Envelope
	Cluster string        `json:"cluster"`
	NodeSet string        `json:"nodeset,omitempty"` // only this nodeset
	Actions []Action      `json:"actions"`           // in the order in which they ended
	Left    takedown.Left `json:"left"`
	Reasons []string      `json:"reasons"` // why something is left
	Undo    []string      `json:"undo"`    // commands that open partitions and nodes again
}

// TakedownOf describes a takedown by its actions and by what is left. The reasons include the
// errors of steps that failed to the end.
func TakedownOf(cluster, nodeSet string, actions []Action, left takedown.Plan) Takedown {
	d := Takedown{
		Envelope: EnvelopeOf("down"), Cluster: cluster, NodeSet: nodeSet, Actions: actions,
		Left: left.Left, Reasons: append([]string{}, left.Kept...), Undo: append([]string{}, left.Undo...),
	}
	undone := map[string]bool{}
	for _, a := range left.Due() {
		undone[action.About(a).Text] = true
	}
	for _, a := range actions {
		if a.Error != "" && undone[a.What] {
			d.Reasons = append(d.Reasons, fmt.Sprintf("%s: %s", a.What, a.Error))
		}
	}
	return d
}

// String formats what is left, why, and how to undo the changes in Slurm.
func (d Takedown) String() string {
	var text strings.Builder
	for _, command := range d.Undo {
		fmt.Fprintln(&text, "to undo:", command)
	}
	for _, why := range d.Reasons {
		fmt.Fprintln(&text, "left:", why)
	}
	fmt.Fprintf(&text, "down: left behind: %s\n", d.Left)
	return text.String()
}

// Blocked describes what slurmflex block did.
type Blocked struct {
	Envelope
	NodeSet string      `json:"nodeset"`
	Nodes   string      `json:"nodes"` // hostlist of the nodes with the record of the block
	Block   scene.Block `json:"blocked"`
}

func (b Blocked) String() string {
	requests := "its live requests stay"
	if b.Block.Cancels {
		requests = "its requests that wait for capacity are cancelled"
	}
	return fmt.Sprintf("nodeset %s is blocked%s: no machines are requested for it, and %s; to unblock it: slurmflex unblock %[1]s\n",
		b.NodeSet, until(b.Block.Until, b.Block.Until.Local().Format("15:04:05 on Jan 2, 2006")), requests)
}

// Unblock describes what slurmflex unblock did.
type Unblock struct {
	Envelope
	NodeSet string `json:"nodeset"`
	Nodes   string `json:"nodes"` // hostlist of the nodes with a cleared record
}

func (u Unblock) String() string {
	if u.Nodes == "" {
		return fmt.Sprintf("nodeset %s is not blocked and has no record of failed boots\n", u.NodeSet)
	}
	return fmt.Sprintf("nodeset %s unblocked (records of %s cleared)\n", u.NodeSet, u.Nodes)
}
