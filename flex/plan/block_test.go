package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

func TestAdminBlocksANodeset(t *testing.T) {
	block := memo.Block{At: noon.Add(-time.Hour), Until: noon.Add(time.Hour), Why: "driver update"}
	old := memo.Block{At: noon.Add(-2 * time.Hour)}
	ended := memo.Block{At: noon.Add(-time.Hour), Until: noon}
	const says = `set AdminComment of job 7: "flex-start: nodeset a3 is blocked by an admin`
	in := situations(t, with("boot_timeout: 600"))
	of := func(list string, b memo.Block) part { return and(nodes(list, poweredDown), extra(list, b.String())) }
	in("requests nothing", seen(awaits(7, "alpha-a3-0"), of("alpha-a3-1", block)), says+` until 2026-11-21T13:00:00Z: driver update"`)
	in("of several blocks, the last counts", seen(awaits(7, "alpha-a3-0"), of("alpha-a3-1", old), of("alpha-a3-2", block)), says+` until 2026-11-21T13:00:00Z: driver update"`)
	in("a block that has ended is forgotten", seen(awaits(7, "alpha-a3-0"), of("alpha-a3-[1-2]", ended)), append(asksForSeven, `set nodes alpha-a3-[1-2] extra ""`)...)

	live := func(b memo.Block, more ...part) scene.Snapshot {
		return seen(awaits(7, "alpha-a3-0"), groupOf(7, accepted("alpha-a3-0")), of("alpha-a3-1", b), and(more...))
	}
	in("live requests stay", live(block))
	block.Cancels = true
	in("or are cancelled", live(block), "cancel request alpha-a3-job-7/a1")
	in("but not while they create machines", live(block, ending("alpha-a3-0", "alpha-a3-job-7", time.Minute, time.Hour)), "reserve alpha-a3-0 from 2026-11-21T13:00:00Z for 10 min")
	in("nor before Google has accepted them", seen(awaits(7, "alpha-a3-0"), groupOf(7, request("a1", mig.Creating, "alpha-a3-0", 15*time.Minute)), of("alpha-a3-1", block)))
}

func TestBlockByAnAdminIsAProblem(t *testing.T) {
	p := alphaPlan(nodes("alpha-a3-[0-2]", poweredDown), extra("alpha-a3-[0-2]", memo.Block{At: noon, Why: "driver update"}.String()))
	assert.Equal(t, []string{"nodeset a3 is blocked by an admin: driver update; to unblock it: slurmflex unblock a3"}, p.Problems.Texts())
}
