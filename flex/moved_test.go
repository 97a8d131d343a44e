package flex

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/test/fakegce"
)

// configured returns the world's configuration with other text in it.
func configured(t *testing.T, old, new string) *config.Config {
	t.Helper()
	text := strings.ReplaceAll(alpha, old, new)
	require.NotEqual(t, alpha, text)
	cfg, err := config.Parse("alpha.yaml", []byte(text))
	require.NoError(t, err)
	return cfg
}

// warnings returns the texts of the log from warnings on.
func (w *world) warnings() (texts []string) {
	for _, e := range w.log.All() {
		if e.Level > 0 {
			texts = append(texts, e.Message)
		}
	}
	return texts
}

func TestMovedNodesetLosesNoRunningJob(t *testing.T) {
	eachInWorld(t, map[string]func(*world){
		"reload":  func(*world) {},
		"restart": func(w *world) { w.begin() },
	}, func(t *testing.T, w *world, change func(*world)) {
		w.running(1, "train", "alpha-a3-[0-1]")
		w.mustPass()
		before := w.owned()
		w.slurm.cfg = configured(t, us, europe)
		w.Config = w.slurm.cfg
		change(w)
		w.passes(5, time.Minute)
		assert.Empty(t, w.downs())
		assert.Equal(t, before, w.owned())
	})
}

func TestMovedNodesetKeepsItsMachinesAndRequestsUntilTheJobEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.waiting(2, "train", "alpha-a3-[2-3]")
		before := w.owned()
		w.Config = configured(t, us, europe)
		w.passes(20, time.Minute)
		assert.Equal(t, before, w.owned(), "it is still waiting")
		w.slurm.cancel(2)
		w.passes(3, time.Minute)
		assert.Empty(t, w.owned())
		assert.Empty(t, w.warnings())
	})
}

func TestEmptyRegionWithoutANodesetIsNoLongerRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.waiting(2, "train", "alpha-a3-[2-3]")
		w.Config = configured(t, us, europe)
		w.slurm.cancel(2)
		w.passes(3, time.Minute)
		assert.Equal(t, []string{us}, w.observed().Left, "an earlier pass may still create something")
		w.passes(12, time.Minute)
		assert.Empty(t, w.observed().Left)
		from := len(w.cloud.Calls())
		w.mustPass()
		for _, c := range w.cloud.Calls()[from:] {
			assert.NotContains(t, c.Path, us)
		}
	})
}

func TestMachinesOfADisabledNodesetAreNamedAfterAReload(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "train", "alpha-a3-[0-1]")
		w.Config = configured(t, "dws_flex: {use_job_duration: true}}\n", "dws_flex: {enabled: false}}\n")
		w.slurm.cancel(1)
		w.passes(20, time.Minute)
		assert.Equal(t, []string{"machines of alpha-a3-[0-1] run or are requested for no job, and nodeset a3 has neither dws_flex nor capacity any more: " +
			"delete the machines and requests, or give the nodeset its keys back"}, w.warnings())
	})
}

func TestMovedNodesetIsLeftAloneWhileItsOldRegionIsUnread(t *testing.T) {
	eachInWorld(t, map[string]func(*world){
		"a job runs":  func(w *world) { w.running(1, "train", "alpha-a3-[0-1]") },
		"a job waits": func(w *world) { w.waiting(1, "train", "alpha-a3-[0-1]") },
	}, func(t *testing.T, w *world, use func(*world)) {
		use(w)
		w.mustPass()
		before, calls := w.owned(), len(w.mutations())
		w.Config = configured(t, us, europe)
		w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Object: us, Status: http.StatusForbidden})
		w.passes(5, time.Minute)
		assert.Empty(t, w.downs())
		assert.Equal(t, before, w.owned())
		assert.Len(t, w.mutations(), calls)
		for _, text := range w.warnings() {
			assert.NotContains(t, text, "gone")
		}
	})
}

func TestLossAfterAMoveCountsFromTheNextLookAtTheOldRegion(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "train", "alpha-a3-[0-1]")
		w.mustPass()
		w.Config = configured(t, us, europe)
		w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Object: us, Status: http.StatusForbidden})
		require.NoError(t, w.cloud.DeleteVM("alpha-a3-1"))
		w.passes(3, time.Minute)
		w.cloud.ClearFaults()
		w.mustPass()
		assert.Empty(t, w.downs(), "one list may be wrong")
		w.mustPass()
		assert.Equal(t, []string{"alpha-a3-1"}, w.downs())
	})
}

func TestMistypedRegionIsForgottenAfterItsCorrection(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		right := w.Config
		w.Config = configured(t, us, "us-centrall1")
		w.passes(3, time.Minute)
		w.Config = right
		w.passes(60, time.Minute)
		seen := w.observed()
		assert.Empty(t, seen.Left)
		assert.Empty(t, seen.Unseen, "an hour later")
	})
}
