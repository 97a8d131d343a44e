package memo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAChainIsReadBackFromTheEndOfAnAdminComment(t *testing.T) {
	list := []string{"train", "train-eu", "spot"}
	moved := Move{From: "train", To: []string{"train-eu", "spot"}, Waited: 2 * time.Hour, At: noon}
	leaving := Move{From: "train-eu", To: []string{"spot"}, Waited: 90 * time.Minute}
	for _, c := range []Chain{{List: list}, {List: list, Moved: moved}, {List: list, Leaving: leaving}, {List: list, Moved: moved, Leaving: leaving}} {
		for _, text := range []string{"", OwnComment + "waiting 5m for 2 × a3", OwnComment + "told [x]"} {
			again, chain := SplitChain(WithChain(text, c))
			assert.Equal(t, text, again)
			assert.Equal(t, c, chain)
		}
		assert.LessOrEqual(t, len(WithChain(OwnComment+strings.Repeat("ä", 400), c)), 500)
	}
	assert.Equal(t, "flex-start: x [partitions train,train-eu,spot; moved to train-eu,spot after 2h in train at 2026-11-21T12:00:00Z; leaving train-eu after 1h30m for spot]",
		WithChain(OwnComment+"x", Chain{list, moved, leaving}))
	assert.Equal(t, OwnComment+"x", WithChain(OwnComment+"x", Chain{}))
}

func TestWhatIsNoChainOfOursIsNone(t *testing.T) {
	for _, comment := range []string{
		"", "[partitions a,b]", "somebody: [partitions a,b]", "flex-start: [partitions a,b] ", "flex-start: [partitions a,a]",
		"flex-start: [partitions a b]", "flex-start: [partitions a,b; moved to c after 2h in a at 2026-11-21T12:00:00Z]",
		"flex-start: [partitions a,b; leaving a after 2h0m0s for b]", "flex-start: [partitions a,b\n]", "flex-start: [partitions a,-b]",
		"flex-start: [partitions " + strings.Repeat("a", 101) + "]",
	} {
		text, c := SplitChain(comment)
		assert.Equal(t, comment, text)
		assert.Empty(t, c.List, comment)
	}
}
