package flex

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// inWide runs a test in a world with that many nodes in nodeset a3, and with additional keys in
// dws_flex.
func inWide(t *testing.T, nodes int, keys string, run func(*testing.T, *world)) {
	t.Helper()
	cfg, err := config.Parse("alpha.yaml", []byte(strings.NewReplacer("node_count_dynamic_max: 8", fmt.Sprint("node_count_dynamic_max: ", nodes),
		"{use_job_duration: true}", "{use_job_duration: true, "+keys+"}").Replace(alpha)))
	require.NoError(t, err)
	var wide *controller
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm = wide
		w.begin()
		run(t, w)
	}, func(o *fakegce.Options) {
		wide = newController(cfg)
		o.OnBoot = func(in fakegce.Instance) { wide.register(in.Name) }
	})
}

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
	needAtMost100Requests(t, func(j *slurm.Job) { j.ArrayID, j.ArrayTask = 100, fmt.Sprint(j.ID-100) })
}

func TestFiveThousandSingleJobsNeedAtMost100Requests(t *testing.T) {
	needAtMost100Requests(t, func(j *slurm.Job) { j.User = "ann" })
}

// needAtMost100Requests runs 5,000 jobs of one node each.
func needAtMost100Requests(t *testing.T, kind func(*slurm.Job)) {
	t.Helper()
	const tasks = 5000
	inWide(t, tasks, "share_requests: 50", func(t *testing.T, w *world) {
		for i := range tasks {
			id := uint32(100 + i)
			w.slurm.submit(id, "train", fmt.Sprintf("alpha-a3-%d", i))
			kind(w.slurm.jobs[id])
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

// Each job has its own group, and the region's quota is too small for all groups.
func TestThousandJobsRunWithAQuotaOf150Groups(t *testing.T) {
	const jobs, quota = 1000, 150
	inWide(t, jobs, "max_attempts: 5", func(t *testing.T, w *world) {
		require.NoError(t, w.cloud.SetQuota(us, "REGIONAL_INSTANCE_GROUP_MANAGERS", quota))
		for i := range jobs {
			w.slurm.submit(uint32(100+i), "train", fmt.Sprintf("alpha-a3-%d", i))
		}
		ran := map[uint32]bool{}
		for range 1200 {
			w.mustPass()
			groups, _ := w.live()
			require.LessOrEqual(t, groups, quota)
			time.Sleep(15 * time.Second)
			w.finish(ran)
			if len(ran) == jobs {
				return
			}
		}
		t.Fatalf("%d of %d jobs have run", len(ran), jobs)
	})
}

// finish ends the jobs on running nodes, and places requeued jobs on nodes again.
func (w *world) finish(ran map[uint32]bool) {
	for id, state := range w.slurm.queue() {
		node := fmt.Sprintf("alpha-a3-%d", id-100)
		n := w.slurm.nodes[node]
		switch {
		case state == slurm.JobPending && n.State.Has(slurm.PoweredDown):
			w.slurm.submit(id, "train", node)
		case state == slurm.JobConfiguring && !n.State.Has(slurm.PoweringUp):
			w.slurm.cancel(id)
			ran[id] = true
		}
	}
}
