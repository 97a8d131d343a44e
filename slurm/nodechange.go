package slurm

// NodeChange says what to change about nodes; what is zero stays as it is.
type NodeChange struct {
	// State is a word of scontrol update, such as "power_down_force",
	// "power_up", "resume" or "down".
	State string
	// Reason goes with a State: alone, some versions do not store it.
	Reason string
	// Comment may point to "", which clears the node's comment.
	Comment *string
	// Extra may point to "", which clears the node's Extra.
	Extra *string
}
