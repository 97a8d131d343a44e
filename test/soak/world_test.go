package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scratch is a folder whose name is short enough for a socket in it.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "soak-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

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
	w, err := newWorld(scratch(t), buildCommand(t))
	require.NoError(t, err)
	defer w.shut()
	left, err := w.left(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "node alpha-base-0 is IDLE+CLOUD+POWERED_DOWN ()", left)

	orders, order := io.Pipe()
	samples, report := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := daemon(t.Context(), filepath.Join(w.place.dir, "config.yaml"), w.clock, orders, report)
		report.Close()
		ended <- err
	}()
	guests := letIn(t.Context(), w.place)
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = w.passUntil(limit, func() (bool, error) {
		left, err := w.left(limit)
		return left == "", err
	})
	guests.sendAway()
	require.NoError(t, err)

	go func() {
		_, _ = io.WriteString(order, "\n")
		order.Close()
	}()
	var s sample
	require.NoError(t, json.NewDecoder(samples).Decode(&s))
	assert.Positive(t, s.Rounds)
	assert.NoError(t, <-ended, "nobody wants another sample")
	assert.FileExists(t, filepath.Join(w.place.dir, "heap-1.pprof"))
	assert.FileExists(t, filepath.Join(w.place.dir, "goroutine-1.pprof"))
}

func TestASoakWithoutItsCommandSaysWhatToDo(t *testing.T) {
	_, err := newWorld(scratch(t), "/nowhere")
	assert.EqualError(t, err, "stat /nowhere/slurmcommand: no such file or directory; run make soak, or give its folder by --build")
}
