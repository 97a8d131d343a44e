package gce

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallsComeAtTheRateAfterABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, begun := newLimiter(2, 3), time.Now()
		var at []time.Duration
		for range 6 {
			require.NoError(t, l.wait(t.Context(), toLook))
			at = append(at, time.Since(begun))
		}
		assert.Equal(t, []time.Duration{0, 0, 0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond}, at)
		time.Sleep(time.Hour)
		begun = time.Now()
		for range 3 {
			require.NoError(t, l.wait(t.Context(), toLook))
		}
		assert.Zero(t, time.Since(begun), "a pause saves up one burst")
		require.NoError(t, l.wait(t.Context(), toLook))
		assert.Equal(t, 500*time.Millisecond, time.Since(begun))
	})
}

func TestOfTheCallsThatWaitTheUrgentComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 1)
		require.NoError(t, l.wait(t.Context(), toLook))
		order := make(chan string, 5)
		come := func(method string) {
			go func() {
				if assert.NoError(t, l.wait(t.Context(), urgencyOf(method))) {
					order <- method
				}
			}()
			synctest.Wait()
		}
		come("instances.aggregatedList")
		come("regionInstanceGroupManagers.insert")
		come("regionInstanceGroupManagerResizeRequests.cancel")
		come("regionInstanceGroupManagers.deleteInstances")
		come("regionInstances.bulkInsert")
		for _, method := range []string{
			"regionInstanceGroupManagerResizeRequests.cancel", "regionInstanceGroupManagers.deleteInstances",
			"regionInstanceGroupManagers.insert", "regionInstances.bulkInsert", "instances.aggregatedList",
		} {
			assert.Equal(t, method, <-order)
		}
	})
}

func TestACallThatIsGivenUpTakesNobodysTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, begun := newLimiter(1, 1), time.Now()
		require.NoError(t, l.wait(t.Context(), toLook))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { assert.ErrorIs(t, l.wait(ctx, toEnd), context.Canceled) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.NoError(t, l.wait(t.Context(), toLook))
		assert.Equal(t, time.Second, time.Since(begun))
		assert.ErrorIs(t, l.wait(ctx, toEnd), context.Canceled)
		time.Sleep(time.Second)
		require.NoError(t, l.wait(t.Context(), toLook))
		assert.Equal(t, 2*time.Second, time.Since(begun))
	})
}
