package scene

import (
	"fmt"
	"time"

	"slurmflex/flex/plan/memo"
)

// Block means that nothing is requested because too many machines in a row failed to boot, or because
// an admin has blocked the nodeset.
type Block struct {
	Failed  int       `json:"failed_boots"`     // 0: by an admin
	Until   time.Time `json:"until,omitzero"`   // zero: until an admin lifts it
	Why     string    `json:"why,omitempty"`    // the admin's text
	Cancels bool      `json:"cancels_requests"` // those that wait for capacity
}

// Text describes the block of a nodeset.
func (b Block) Text(nodeset string) string {
	if b.Failed > 0 {
		return fmt.Sprintf("nodeset %s is blocked because %d machines in a row failed to boot", nodeset, b.Failed)
	}
	text := fmt.Sprintf("nodeset %s is blocked by an admin", nodeset)
	if !b.Until.IsZero() {
		text += " until " + b.Until.UTC().Format(time.RFC3339)
	}
	if b.Why != "" {
		text += ": " + b.Why
	}
	return text
}

// watchBlock records an admin's block of the node's nodeset; of several, the last. Its record is
// outdated once the block has ended.
func (s builder) watchBlock(m *Node, of *NodeSet) {
	b, ok := memo.ParseBlock(m.Extra)
	switch {
	case !ok:
	case !b.Until.IsZero() && !b.Until.After(s.Seen.Now):
		of.Recovered = append(of.Recovered, m.Name)
	case of.Block == nil || b.At.After(of.blocked):
		of.Block, of.blocked = &Block{Until: b.Until, Cancels: b.Cancels, Why: b.Why}, b.At
	}
}
