package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
)

func TestTheDaemonRecordsTheWaitOfAJob(t *testing.T) {
	w := newWorld(t)
	w.waiting(t)
	d := w.daemon(t)
	var wait history.Entry
	require.Eventually(t, func() bool {
		_, err := history.Read(w.path("history"), "alpha", history.Wait, func(e *history.Entry) { wait = *e })
		return err == nil && wait.End != ""
	}, slack, 20*time.Millisecond)
	require.NoError(t, d.Process.Signal(os.Interrupt))
	d.exits(t, exitDone)
	assert.Equal(t, history.Granted, wait.End)
	assert.Equal(t, 2, wait.Count)
	assert.Equal(t, 16, wait.GPUs)
	assert.Equal(t, history.Who{Job: 812, User: "ada", Partition: "train"}, wait.Who)
}
