package remote

import (
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

func TestAskReadsAndTellChangesTheFake(t *testing.T) {
	server := httptest.NewServer(fakegce.New(fakegce.Options{Clock: fakegce.NewWallClock()}))
	defer server.Close()
	f := &Fake{Endpoint: server.URL}
	defer f.Stop() // does not end a process that it did not start
	require.NoError(t, f.Tell(t.Context(), "capacity", map[string]any{"zone": "us-central1-a", "machineType": "a3-highgpu-8g", "count": 3}))
	var counts map[string]int
	require.NoError(t, f.Ask(t.Context(), "counts", &counts))
	assert.Empty(t, counts)
	assert.ErrorContains(t, f.Tell(t.Context(), "capacity", map[string]any{}), `POST /fake/capacity: 400 Bad Request: `)
}

func TestStartRunsAProgramAndStopEndsIt(t *testing.T) {
	says := func(text string) string {
		program := filepath.Join(t.TempDir(), "fake")
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
		return program
	}
	f, err := Start(says(`echo "listening on http://127.0.0.1:7 for project $4"; exec sleep 600`), io.Discard, "--project", "demo")
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:7", f.Endpoint)
	begun := time.Now()
	f.Stop()
	assert.Less(t, time.Since(begun), time.Minute)

	_, err = Start(says("echo no; exec sleep 600"), io.Discard)
	require.ErrorContains(t, err, `printed "no\n" instead of its address`)
	_, err = Start(says("exit 2"), io.Discard)
	require.ErrorContains(t, err, `printed "" instead of its address`)
	_, err = Start(filepath.Join(t.TempDir(), "none"), io.Discard)
	require.ErrorContains(t, err, "no such file or directory; run make build")
}
