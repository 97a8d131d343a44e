// Package plan decides what a round does. Compute is one pure function of the
// configuration and of what was seen: no I/O, no clock, no memory, and an
// answer for every combination of states. Who wants a node is what Slurm's
// queue says now; what we own is what carries our stamp.
package plan

import (
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Snapshot is what one round saw.
type Snapshot struct {
	Now       time.Time
	Nodes     []slurm.Node
	Jobs      []slurm.Job // read after Nodes, so a job that has just begun is in it
	Groups    []mig.Group // ours only: our stamp, our cluster
	Instances []mig.Instance

	// Unseen holds the regions that could not be read, with the reason. Their
	// groups and instances are not in the snapshot, and nothing in them is
	// created, cancelled or deleted.
	Unseen map[string]error

	// Refused holds, by group name, why the cloud refused to make a group or a
	// request. A refusal leaves no record in the cloud, so the round's owner
	// remembers it.
	Refused map[string]Refusal
}

// Refusal is a call to create something that the cloud turned down.
type Refusal struct {
	Cause   mig.Cause
	Message string
	At      time.Time // of the last refusal
	Times   int       // in a row
}
