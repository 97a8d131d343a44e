package flex

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
)

func TestTheBreakerOfANodeset(t *testing.T) {
	cfg := alphaConfig(t) // boot_failures: 5, the default
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	failures := func(n int) []plan.Boot {
		var boots []plan.Boot
		for i := range n {
			boots = append(boots, plan.Boot{Set: "a3", Node: fmt.Sprintf("alpha-a3-%d", i), Created: noon})
		}
		return boots
	}
	open := map[string]int{"a3": 5}
	for name, c := range map[string]struct {
		story func(*breaker)
		at    time.Time
		want  map[string]int
	}{
		"is closed before as many failures in a row": {
			story: func(b *breaker) { b.note(failures(4), noon) },
		},
		"opens with the last of them": {
			story: func(b *breaker) { b.note(failures(5), noon) }, want: open,
		},
		"counts each instance once": {
			story: func(b *breaker) { b.note(failures(4), noon); b.note(failures(4), noon) },
		},
		"is closed by an instance that came up and is younger": {
			story: func(b *breaker) {
				b.note(failures(5), noon)
				b.note([]plan.Boot{{Set: "a3", Node: "alpha-a3-7", Created: noon.Add(time.Minute), Up: true}}, noon)
			},
		},
		"not by one that was up before": {
			story: func(b *breaker) {
				b.note(failures(5), noon)
				b.note([]plan.Boot{{Set: "a3", Node: "alpha-a3-7", Created: noon.Add(-time.Minute), Up: true}}, noon)
			}, want: open,
		},
		"nor by another nodeset's": {
			story: func(b *breaker) {
				b.note(failures(5), noon)
				b.note([]plan.Boot{{Set: "one", Node: "alpha-one-1", Created: noon.Add(time.Minute), Up: true}}, noon)
			}, want: open,
		},
		"is closed by an admin": {
			story: func(b *breaker) { b.note(failures(5), noon); b.clear("a3") },
		},
		"is closed after an hour": {
			story: func(b *breaker) { b.note(failures(5), noon) }, at: noon.Add(time.Hour),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b breaker
			c.story(&b)
			if c.at.IsZero() {
				c.at = noon.Add(time.Minute)
			}
			if c.want == nil {
				c.want = map[string]int{}
			}
			assert.Equal(t, c.want, b.blocked(cfg, c.at))
		})
	}
}

func TestAfterBootsThatFailNothingMoreIsAskedForUntilAnAdminLiftsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		set := w.slurm.cfg.NodeSets[0]
		set.Flex.BootTimeout, set.Flex.BootFailures = time.Minute, 1
		w.slurm.deaf = true // no slurmd registers
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.settle()
		time.Sleep(2 * time.Minute)
		w.settle()
		assert.Empty(t, w.owned(), "it did not come up, and is deleted")

		w.slurm.submit(2, "train", "alpha-a3-1")
		w.settle()
		assert.Empty(t, w.owned(), "nothing more is asked for")
		assert.Contains(t, w.slurm.comment[2], "slurmflex unblock a3")

		w.breaker.clear("a3")
		w.settle()
		assert.Contains(t, w.owned(), "group alpha-a3-job-2 in us-central1 of size 1")
	})
}
