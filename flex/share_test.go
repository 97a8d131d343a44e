package flex

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// live counts the cloud's groups and its waiting requests.
func (w *world) live() (groups, requests int) {
	st := w.cloud.State()
	for _, g := range st.Groups {
		for _, r := range g.Requests {
			if r.State == "CREATING" || r.State == "ACCEPTED" {
				requests++
			}
		}
	}
	return len(st.Groups), requests
}

func TestFiveThousandTasksNeedAtMost100Requests(t *testing.T) {
	const tasks = 5000
	inWorld(t, func(t *testing.T, w *world) {
		w.widen(tasks)
		w.slurm.cfg.NodeSets[0].Flex.ShareRequests = 50
		for i := range tasks {
			id := uint32(100 + i)
			w.slurm.submit(id, "train", fmt.Sprintf("alpha-a3-%d", i))
			w.slurm.jobs[id].ArrayID, w.slurm.jobs[id].ArrayTask = 100, fmt.Sprint(i)
		}
		w.soldOut()
		most := 0
		watch := func(passes int) {
			for range passes {
				w.mustPass()
				groups, requests := w.live()
				require.LessOrEqual(t, groups, 100)
				require.LessOrEqual(t, requests, 100)
				most = max(most, requests)
				time.Sleep(10 * time.Second)
			}
		}
		watch(4)
		assert.GreaterOrEqual(t, most, 90, "as many wait as may")
		w.cloud.SetCapacity("", "", -1)
		watch(8)
		assert.Len(t, w.cloud.State().Instances, tasks)
		groups, requests := w.live()
		assert.Equal(t, 5, groups)
		assert.Zero(t, requests)
	})
}
