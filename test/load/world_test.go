package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestADayHasTheSameScriptWheneverItIsMade(t *testing.T) {
	times := func(number int) (all []time.Duration) {
		for _, e := range newScript(number) {
			all = append(all, e.at)
		}
		return all
	}
	assert.Equal(t, times(7), times(7))
	assert.NotEqual(t, times(7), times(8))
	assert.IsNonDecreasing(t, times(7))
	assert.Less(t, times(7)[len(times(7))-1], latest)
}

func TestAWorldIsAtRestWhenTheDaemonHasItsStaticNodesUp(t *testing.T) {
	l, err := newLife(t.TempDir())
	require.NoError(t, err)
	defer l.shut()
	left, err := l.left(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "node alpha-base-0 is IDLE+CLOUD+POWERED_DOWN ()", left)

	profiles, err := freeAddress()
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- showAndRun(ctx, l.path("config.yaml"), l.clock, profiles) }()
	guests := letIn(ctx, &l.world)
	err = l.passUntil(ctx, func() (bool, error) {
		left, err := l.left(ctx)
		return left == "", err
	})
	guests.sendAway()
	require.NoError(t, err)

	s, err := l.takeSample(ctx, os.Getpid(), profiles, 1)
	require.NoError(t, err)
	for _, held := range []float64{s.heap, s.memory, s.goroutines, s.files, s.passes} {
		assert.Positive(t, held, "%v", s)
	}
	assert.FileExists(t, l.path("heap-1.pprof"))
	assert.FileExists(t, l.path("goroutine-1.pprof"))
	stop()
	assert.NoError(t, <-ended)
}
