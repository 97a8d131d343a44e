package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/must"
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
	l := newLife(t.TempDir())
	defer l.shut()
	assert.Equal(t, "node alpha-base-0 is IDLE+CLOUD+POWERED_DOWN ()", l.left(t.Context()))

	profiles := freeAddress()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- must.Try(func() { showAndRun(ctx, l.path("config.yaml"), l.clock, profiles) }) }()
	guests := letIn(ctx, &l.world)
	l.passUntil(ctx, func() bool { return l.left(ctx) == "" })
	guests.sendAway()

	s := l.takeSample(ctx, os.Getpid(), profiles, 1)
	for _, held := range []float64{s.heap, s.memory, s.goroutines, s.files, s.passes} {
		assert.Positive(t, held, "%v", s)
	}
	assert.FileExists(t, l.path("heap-1.pprof"))
	assert.FileExists(t, l.path("goroutine-1.pprof"))
	stop()
	assert.NoError(t, <-ended)
}
