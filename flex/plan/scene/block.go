package scene

import (
	"fmt"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
)

// Block says why and until when slurmflex requests no machines for a nodeset.
type Block struct {
	NodeSet string
	Failed  int       // consecutive failed boots; 0: an admin has blocked the nodeset
	Until   time.Time // when the block ends; zero: when an admin lifts it
	Cancels bool      // requests that wait for capacity are cancelled
	Why     string    // the admin's text
}

func (b Block) String() string {
	if b.Failed > 0 {
		return fmt.Sprintf("nodeset %s is blocked because %d machines in a row failed to boot", b.NodeSet, b.Failed)
	}
	text := fmt.Sprintf("nodeset %s is blocked by an admin", b.NodeSet)
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
func (s builder) watchBlock(m *Node, boots *Boots) {
	b, ok := memo.ParseBlock(m.Extra)
	if !ok {
		return
	}
	if r := noted(s.sets, m.Set.Name); !b.Until.IsZero() && !b.Until.After(s.Seen.Now) {
		boots.Recovered = append(boots.Recovered, m.Name)
	} else if r.block == nil || b.At.After(r.block.At) {
		r.block = &b
	}
}

// Blocked returns why slurmflex requests no machines for the nodeset; nil if it does. An admin's
// block comes before failed boots.
func (s *Scene) Blocked(set *config.NodeSet) *Block {
	r := known(s.sets, set.Name)
	switch {
	case r.block != nil:
		return &Block{NodeSet: set.Name, Until: r.block.Until, Cancels: r.block.Cancels, Why: r.block.Why}
	case r.boots == nil || set.Flex.BootFailures == 0 || r.boots.inRow < set.Flex.BootFailures:
		return nil
	}
	return &Block{NodeSet: set.Name, Failed: r.boots.inRow, Until: r.boots.until}
}
