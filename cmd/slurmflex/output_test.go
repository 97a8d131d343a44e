package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// unread connects a process's whole output to one pipe and returns the pipe's reader.
func (r *process) unread() *os.File {
	r.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(r, err)
	r.Cleanup(func() { reader.Close(); writer.Close() })
	r.Stdout, r.Stderr = writer, writer
	return reader
}

func TestPassWithClosedOutputCompletes(t *testing.T) {
	w := left(t)
	gc := w.flex("gc")
	require.NoError(t, gc.unread().Close())
	gc.exits(exitFailed) // its output is lost
	assert.Empty(t, w.machines())
}

func TestReadOnlyCommandWithClosedOutputEndsQuietly(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"status"}, {"gc", "--dry-run"}} {
		r := w.flex(args...)
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, reader.Close())
		r.Stdout = writer
		require.Error(t, r.Run())
		require.NoError(t, writer.Close())
		assert.Equal(t, unix.SIGPIPE, r.ProcessState.Sys().(syscall.WaitStatus).Signal(), "%s", args)
		assert.Empty(t, r.stderr.String(), "%s", args)
	}
}
