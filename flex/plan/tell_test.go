package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// tells(p) returns the AdminComments that plan p writes.
func tells(p Plan) map[uint32]string {
	texts := map[uint32]string{}
	for _, a := range p.Actions {
		if a, ok := a.(action.CommentJob); ok {
			texts[a.Job] = a.Text
		}
	}
	return texts
}

// C2: every job that waits for a shared node gets an AdminComment, with its own wait and time
// limit.
func TestEveryJobOnASharedNodeReadsWhatItWaitsFor(t *testing.T) {
	given := func(more ...part) scene.Snapshot {
		return seen(nodes("alpha-a3-0", risingMixed),
			job(7, "shared", "15:00", configured, "alpha-a3-0"), started(7, 20*time.Minute),
			job(8, "shared", "40:00", configured, "alpha-a3-0"), started(8, 5*time.Minute), and(more...))
	}
	t.Run("a request in the queue", func(t *testing.T) {
		in := groupOf(7, request("a1", mig.Accepted, "alpha-a3-0", 40*time.Minute))
		assert.Equal(t, map[uint32]string{
			7: "flex-start: waiting since 2026-11-21T11:40:00Z for 1 × a3-machine for 00:40:00",
			8: "flex-start: waiting since 2026-11-21T11:55:00Z for 1 × a3-machine for 00:40:00",
		}, tells(planOf(alphaConfig, given(in, asked(20*time.Minute)))))
	})
	t.Run("so many in one pass, first those that know nothing", func(t *testing.T) {
		s := seen(nodes("alpha-a3-0", risingMixed), refused("alpha-a3-job-1", mig.CauseQuota, time.Second, 1))
		s.Told = map[uint32]string{}
		for id := range uint32(tellsAtOnce + 20) {
			s.Jobs = append(s.Jobs, slurm.Job{ID: id + 1, ArrayID: id + 1, Partition: "shared", State: configured, Nodes: names("alpha-a3-0"), Limit: slurm.ParseLimit("15:00")})
			if id < 10 {
				s.Told[id+1] = memo.OwnComment + "waiting since 2026-11-21T11:50:00Z for 1 × a3-machine for 00:15:00"
			}
		}
		p := planOf(alphaConfig, s)
		texts := tells(p)
		assert.Len(t, texts, tellsAtOnce)
		for id := range uint32(10) {
			assert.NotContains(t, texts, id+1, "they know something, if not the newest")
		}
		assert.True(t, p.Soon, "the others are notified in the next pass")
	})
}

// C3: an AdminComment about nodes that are up is replaced when the job loses them.
func TestAdminCommentChangesWhenAJobLosesItsNodes(t *testing.T) {
	const there = "flex-start: its nodes are there, until 2026-11-21T13:00:00Z"
	given := func(state slurm.JobState, node string, more ...part) scene.Snapshot {
		return seen(nodes("alpha-a3-0", node), job(7, "train", "1:00:00", state, "alpha-a3-0"), started(7, time.Hour),
			leasedTo(7, "alpha-a3-0", time.Hour, time.Hour), and(more...))
	}
	t.Run("in the pass that returns them after a failed boot", func(t *testing.T) {
		p := planOf(alphaConfig, given(configured, poweringUp, told(7, "flex-start: waiting 5m for 1 × a3")))
		assert.Contains(t, actions(p)[0], "return alpha-a3-0 to Slurm and requeue job 7")
		assert.Empty(t, tells(p), "the return itself contains the reason")
	})
	const why = "flex-start: requeued at 2026-11-21T11:59:00Z: the machine did not join Slurm within boot_timeout 00:30:00"
	t.Run("while it leaves them", func(t *testing.T) {
		for _, state := range []slurm.JobState{slurm.JobCompleting, configured} {
			assert.Empty(t, tells(planOf(alphaConfig, given(state, poweringDown, told(7, why)))), state)
		}
	})
	pending := func(text string) map[uint32]string {
		return tells(alphaPlan(nodes("alpha-a3-0", poweredDown), job(7, "train", "1:00:00", slurm.JobPending, ""), told(7, text)))
	}
	t.Run("back in the queue", func(t *testing.T) {
		back := map[uint32]string{7: memo.OwnComment + memo.Unplaced}
		assert.Empty(t, pending(why), "why it is there again")
		assert.Empty(t, pending(memo.OwnComment+memo.Unplaced), "once")
		assert.Empty(t, pending("see Operations"))
		assert.Equal(t, back, pending(there))
		assert.Equal(t, back, pending("flex-start: its nodes end at 2026-11-21T13:00:00Z, before its time limit"))
		assert.Equal(t, back, pending("flex-start: waiting 2h10m for 1 × a3-machine for 01:00:00"), "that request is cancelled")
		for _, text := range []string{memo.Failed(2, "(capacity)"), "nodeset a3 is blocked because 3 machines in a row failed to boot; ask an admin"} {
			assert.Equal(t, back, pending(memo.OwnComment+text), "it may no longer be true")
		}
		assert.Empty(t, pending(memo.OwnComment+memo.TakenDown+"; it waits pending"))
	})
}
