package slurm

// NodeChange describes an update of nodes. Zero fields are left unchanged.
type NodeChange struct {
	// State is a word for scontrol update, such as "power_down_force", "power_up", "resume" or
	// "down".
	State string
	// Reason must be set together with a State, because some versions do not store it alone.
	Reason string
	// Comment may point to "", which clears the node's comment.
	Comment *string
	// Extra may point to "", which clears the node's Extra.
	Extra *string
}
