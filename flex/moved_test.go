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
	"slurmflex/test/must"
)

// configured returns the world's configuration with other text in it.
func (w *world) configured(old, new string) *config.Config {
	w.Helper()
	text := strings.ReplaceAll(alpha, old, new)
	require.NotEqual(w, alpha, text)
	return must.Get(config.Parse("alpha.yaml", []byte(text)))
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

func TestMovedNodesetLosesNoRunningJobInARestart(t *testing.T) {
	inWorld(t, func(w *world) {
		w.running(1, "train", "alpha-a3-[0-1]")
		before := w.owned()
		w.slurm.cfg = w.configured(us, europe)
		w.begin()
		w.passes(5, time.Minute)
		assert.Empty(w, w.downs())
		assert.Equal(w, before, w.owned())
	})
}

func TestRegionWithoutANodesetIsReadUntilItIsEmpty(t *testing.T) {
	inWorld(t, func(w *world) {
		w.waiting(2, "train", "alpha-a3-[2-3]")
		before := w.owned()
		w.Config = w.configured(us, europe)
		w.passes(20, time.Minute)
		assert.Equal(w, before, w.owned(), "it is still waiting")
		w.slurm.cancel(2)
		w.passes(3, time.Minute)
		assert.Empty(w, w.owned())
		assert.Empty(w, w.warnings())
		assert.Equal(w, []string{us}, w.observed().Left, "an earlier pass may still create something")
		w.passes(12, time.Minute)
		assert.Empty(w, w.observed().Left)
		from := len(w.cloud.Calls())
		w.mustPass()
		for _, c := range w.cloud.Calls()[from:] {
			assert.NotContains(w, c.Path, us)
		}
	})
}

func TestMovedNodesetIsLeftAloneWhileItsOldRegionIsUnread(t *testing.T) {
	inWorld(t, func(w *world) {
		w.running(1, "train", "alpha-a3-[0-1]")
		w.waiting(2, "train", "alpha-a3-[2-3]")
		w.mustPass()
		before, calls := w.owned(), len(w.mutations())
		w.Config = w.configured(us, europe)
		w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Object: us, Status: http.StatusForbidden})
		w.passes(5, time.Minute)
		assert.Equal(w, before, w.owned())
		assert.Len(w, w.mutations(), calls)
		assert.NotContains(w, strings.Join(w.warnings(), "\n"), "gone")

		require.NoError(w, w.cloud.DeleteVM("alpha-a3-1"))
		w.passes(3, time.Minute)
		w.cloud.ClearFaults()
		w.mustPass()
		assert.Empty(w, w.downs(), "one list may be wrong")
		w.mustPass()
		assert.Equal(w, names("alpha-a3-1"), w.downs())
	})
}
